from kaa.tui.components.loader import Loader
from tests.support.painted import assert_well_formed, make_context, visible


def test_turns_when_told() -> None:
    loader = Loader(make_context(ascii_only=True), "working")

    shown = []
    for _ in range(5):
        shown += visible(loader.render(20))
        loader.tick()

    assert shown == ["| working", "/ working", "- working", "\\ working", "| working"]


def test_does_not_turn_by_itself() -> None:
    loader = Loader(make_context(), "working")

    assert loader.render(20) is loader.render(20)


def test_keeps_to_the_width() -> None:
    loader = Loader(make_context(), "working\nhard")

    assert visible(loader.render(11)) == ["⠋ working…"]
    for width in range(4):
        assert_well_formed(loader.render(width), max(1, width))
