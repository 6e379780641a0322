from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.frontends.interactive.shortcuts import DoublePress, Shortcuts
from kaa.tui.events import Event, Focus, Key, Paste, TerminalReply
from tests.frontends.interactive.offscreen import Seated, seated

ACTIONS = ("app.interrupt", "app.clear", "app.exit", "app.help", "app.message.followUp", "app.tools.expand")


class World:
    """Shortcuts, and what they led to."""

    def __init__(self, seat: Seated) -> None:
        self.main_view = seat.main_view
        self.done: list[object] = []
        self.shortcuts = Shortcuts(
            seat.main_view,
            {action: lambda action=action: self.done.append(action) for action in ACTIONS},  # type: ignore[misc]  # a default argument
            command_actions=dict,
            on_focus=lambda gained: self.done.append(("focus", gained)),
            on_told=lambda: self.done.append("told"),
            on_image=lambda path: self.done.append(("image", path)),
            on_viewer_key=lambda key: self.done.append(("viewer", key)),
        )

    def take(self, *events: Event) -> None:
        """These come from the terminal."""
        self.shortcuts.take(events)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with seated(tmp_path) as seat:
        yield World(seat)


def test_text_is_the_editors_and_the_rest_does_something(world: World) -> None:
    world.take(Key("h", "h"), Key("i", "i"), Key("f1"), Key("escape"), Key("ctrl+c"), Key("alt+enter"))

    assert world.main_view.editor.text == "hi"
    assert world.done == ["app.help", "app.interrupt", "app.clear", "app.message.followUp"]


def test_leaving_by_key_needs_an_empty_editor(world: World) -> None:
    world.main_view.editor.set_text("ab")
    world.main_view.editor.key(Key("home"))

    world.take(Key("ctrl+d"), Key("ctrl+d"))
    assert world.main_view.editor.text == ""
    assert world.done == []
    world.take(Key("ctrl+d"))

    assert world.done == ["app.exit"]


def test_the_key_for_leaving_says_why_kaa_stays(world: World) -> None:
    world.main_view.editor.set_text("ab")

    world.take(Key("ctrl+d"))

    assert (world.done, world.main_view.editor.text) == ([], "ab")
    assert world.main_view.status.text == "the editor has text: Ctrl+C clears it, then Ctrl+D leaves"


def test_a_dialog_takes_all_keys(world: World) -> None:
    chosen: list[str] = []
    choices = DialogChoices(
        world.main_view.context, [DialogChoice("y", "Yes", lambda: chosen.append("y"))], lambda: chosen.append("no")
    )
    dialog = DialogFrame(world.main_view.context, "Sure?", None, choices)
    world.main_view.dock.open(dialog)

    world.take(Key("y", "y"), Key("escape"), Key("f1"), Key("q", "q"), Paste("yes"))
    assert chosen == ["y", "no"]
    assert world.done == []
    assert world.main_view.editor.is_empty
    world.main_view.dock.close(dialog)
    world.take(Key("q", "q"))

    assert world.main_view.editor.text == "q"


def test_a_dialog_that_cannot_be_answered_yet_takes_none(world: World) -> None:
    chosen: list[str] = []
    choices = DialogChoices(
        world.main_view.context, [DialogChoice("y", "Yes", lambda: chosen.append("y"))], lambda: None
    )
    dialog = DialogFrame(world.main_view.context, "Sure?", None, choices)
    dialog.takes_keys = False
    world.main_view.dock.open(dialog)

    world.take(Key("y", "y"))

    assert chosen == []
    assert world.main_view.editor.text == "y"


def test_a_dropped_image_is_attached_and_other_pastes_are_text(world: World) -> None:
    world.take(Paste("'/home/me/a picture.png'"), Paste("plain text"))

    assert world.done == [("image", "/home/me/a picture.png")]
    assert world.main_view.editor.text == "plain text"


def test_focus_and_answers_are_passed_on(world: World) -> None:
    world.take(Focus(gained=False), TerminalReply("background", (0, 0, 0)), Focus(gained=True))

    assert world.done == [("focus", False), "told", ("focus", True)]


def test_releasing_keys_does_nothing(world: World) -> None:
    world.take(Key("f1", action="release"), Key("a", "a", "release"))

    assert world.done == []
    assert world.main_view.editor.is_empty


@pytest.mark.parametrize(
    ("pauses", "twice"),
    [((0.1,), [False, True]), ((2.0,), [False, False]), ((0.1, 0.1, 0.1), [False, True, False, True])],
)
def test_twice_is_twice_within_its_time(
    monkeypatch: pytest.MonkeyPatch, pauses: tuple[float, ...], twice: list[bool]
) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    counted = DoublePress(0.5)

    told = [counted.now()]
    for pause in pauses:
        now += pause
        told.append(counted.now())

    assert told == twice
