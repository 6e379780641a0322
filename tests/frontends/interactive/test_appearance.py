import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kaa.frontends.interactive import appearance
from kaa.frontends.interactive.appearance import Appearance
from kaa.tui.events import TerminalReply
from tests.frontends.interactive.offscreen import Seated, seated

DARK, LIGHT = TerminalReply("background", (0, 0, 0)), TerminalReply("background", (255, 255, 255))

Open = Callable[..., "World"]


class World:
    """The look of a main_view."""

    def __init__(self, seat: Seated) -> None:
        self.main_view = seat.main_view
        self.terminal = seat.terminal
        self.repaints: list[bool] = []
        seat.main_view.app.repaint_all = lambda: self.repaints.append(True)  # type: ignore[method-assign]  # counted instead
        self.look = Appearance(seat.main_view)

    @property
    def theme(self) -> str:
        """The one in force."""
        return self.main_view.context.palette.theme.name

    def learn(self, reply: TerminalReply) -> None:
        """The terminal answers."""
        self.terminal.learn(reply)


@pytest.fixture
def open_desk(tmp_path: Path) -> Iterator[Open]:
    """Makes one with these settings."""
    with ExitStack() as stack:

        def make(**settings: object) -> World:
            (tmp_path / "settings.json").write_text(json.dumps(settings))
            return World(stack.enter_context(seated(tmp_path, COLORTERM="truecolor")))

        yield make


def _own_theme(folder: Path, name: str, **colors: str) -> Path:
    """A theme of the user's: kaa's dark one with other colours."""
    from kaa.frontends.interactive import themes

    theme = json.loads((Path(themes.__file__).parent / "dark.json").read_text())
    theme["name"] = name
    theme["colors"] |= colors
    (folder / "themes").mkdir(exist_ok=True)
    file = folder / "themes" / f"{name}.json"
    file.write_text(json.dumps(theme))
    return file


def test_what_the_terminal_told_before_counts(open_desk: Open) -> None:
    world = open_desk()
    assert world.theme == "dark"

    world.learn(LIGHT)
    world.look.begin()

    assert world.theme == "light"


def test_a_terminal_that_changes_its_mind_is_followed(open_desk: Open) -> None:
    world = open_desk()
    world.look.begin()

    for reply, theme in ((LIGHT, "light"), (TerminalReply("dark"), "dark"), (TerminalReply("light"), "light")):
        world.learn(reply)
        world.look.terminal_told()
        assert world.theme == theme
    assert len(world.repaints) == 3


def test_what_was_assumed_paints_nothing_anew(open_desk: Open) -> None:
    world = open_desk()
    world.look.begin()
    version = world.main_view.context.palette.version

    world.learn(DARK)
    world.look.terminal_told()

    assert world.repaints == []
    assert world.main_view.context.palette.version == version


def test_a_chosen_theme_stays_whatever_the_terminal_is(open_desk: Open) -> None:
    world = open_desk(theme="dark")
    world.look.begin()

    world.learn(LIGHT)
    world.look.terminal_told()

    assert world.theme == "dark"


def test_trying_themes_repaints_nothing_that_left_the_screen(open_desk: Open) -> None:
    world = open_desk()

    world.look.preview("light")
    assert world.theme == "light"
    world.look.preview(None)
    assert world.theme == "dark"

    assert world.repaints == []


def test_choosing_one_repaints_all(open_desk: Open) -> None:
    world = open_desk()

    world.look.preview("light")
    world.look.choose("light")

    assert world.theme == "light"
    assert world.repaints == [True]


def test_an_unknown_theme_is_told_and_another_shown(open_desk: Open) -> None:
    world = open_desk()

    world.look.choose("nonsense")

    assert world.theme == "dark"
    assert "there is no theme 'nonsense'" in world.main_view.status.text


def test_a_theme_can_be_edited_and_seen(open_desk: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appearance, "_WATCH_SECONDS", 0.01)
    file = _own_theme(tmp_path, "mine", accent="#111111")
    world = open_desk(theme="mine")
    world.look.begin()
    before = world.main_view.context.palette["accent"]

    _own_theme(tmp_path, "mine", accent="#eeeeee")
    _let_time_pass(world)
    assert world.main_view.context.palette["accent"] != before
    edited = world.main_view.context.palette["accent"]
    file.write_text("{broken")
    _let_time_pass(world)

    assert world.main_view.context.palette["accent"] == edited
    assert "The theme stays as it was" in world.main_view.status.text


def _let_time_pass(world: World) -> None:
    """Run what waits for its time; there is only the look at the file."""
    reactor = world.main_view.app.reactor
    reactor.call_later(0.05, reactor.stop)
    reactor.run()
