import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kaa.frontends.interactive.attention import Attention
from tests.frontends.interactive.offscreen import Seated, seated

Open = Callable[..., tuple[Attention, Seated]]


@pytest.fixture
def open_desk(tmp_path: Path) -> Iterator[Open]:
    """Makes one with these settings, in a terminal that knows notifications."""
    with ExitStack() as stack:

        def make(**settings: object) -> tuple[Attention, Seated]:
            (tmp_path / "settings.json").write_text(json.dumps(settings))
            seat = stack.enter_context(seated(tmp_path, TERM_PROGRAM="ghostty"))
            seat.terminal.open()
            return Attention(seat.main_view, seat.terminal), seat

        yield make


@pytest.mark.parametrize(
    ("choice", "focused", "bells", "notifications"),
    [
        ("on", False, 1, 1),
        ("on", None, 1, 0),
        ("on", True, 0, 0),
        ("bell", False, 1, 0),
        ("off", False, 0, 0),
    ],
)
def test_who_looks_elsewhere_is_called_as_wished(
    open_desk: Open, choice: str, focused: bool | None, bells: int, notifications: int
) -> None:
    attention, seat = open_desk(ui={"notifications": choice})
    if focused is not None:
        attention.focus(gained=focused)

    attention.call("kaa asks whether bash may run")

    screen = seat.look()
    assert screen.bells == bells
    assert len(screen.notifications) == notifications
    assert all("kaa asks whether bash may run" in notification for notification in screen.notifications)


@pytest.mark.parametrize(("seconds", "bells"), [(1.0, 0), (60.0, 1)])
def test_only_the_end_of_a_long_run_calls(open_desk: Open, seconds: float, bells: int) -> None:
    attention, seat = open_desk()

    attention.begin()
    attention.end(seconds, "kaa is done")

    assert seat.look().bells == bells


def test_the_window_tells_what_goes_on(open_desk: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "my;project").mkdir()
    monkeypatch.chdir(tmp_path / "my;project")
    attention, seat = open_desk(terminal={"showTerminalProgress": True})

    attention.rest()
    assert seat.look().title == "kaa: my;project"
    attention.begin()
    assert seat.look().title == "kaa: my;project (working)"
    assert seat.look().progress != ""
    attention.end(1, "kaa is done")

    assert seat.look().title == "kaa: my;project"
    assert seat.look().progress.startswith("0")


def test_the_window_names_the_session_before_the_project(
    open_desk: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    attention, seat = open_desk()

    attention.begin()
    attention.name_session("Unique keys")
    assert seat.look().title == "kaa: Unique keys - shop (working)"
    attention.end(1, "kaa is done")
    assert seat.look().title == "kaa: Unique keys - shop"
    attention.name_session("")

    assert seat.look().title == "kaa: shop"


def test_a_notification_cannot_bring_sequences_along(open_desk: Open) -> None:
    attention, seat = open_desk()
    attention.focus(gained=False)

    attention.call("run \x1b]52;c;b3duZWQ=\x07 it")

    assert seat.look().clipboard is None
    assert len(seat.screen.notifications) == 1
