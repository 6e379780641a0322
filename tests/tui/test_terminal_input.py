"""A terminal and its input in this process, on a pseudo-terminal whose other end is the test."""

import os
import select
import shutil
import signal
import termios
import time
from collections.abc import Iterator

import pytest

from kaa.tui.application import TerminalInput
from kaa.tui.clipboard import Clipboard
from kaa.tui.device import Device
from kaa.tui.events import Event, Key, Paste, TerminalReply
from kaa.tui.reactor import Reactor
from kaa.tui.terminal import Terminal

_MARK = b"<mark>"
_ENVIRONMENT = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}


class Stage:
    """What the user has before them: `send` is what their terminal sends, `written` is what it gets."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.far, self.near = os.openpty()
        os.set_blocking(self.far, False)
        self.reactor = Reactor()
        self.terminal = Terminal(environment, Device(self.near, self.near))
        self.terminal.open()
        self.batches: list[list[Event]] = []
        self.is_gone = False
        self.resized_to: list[int] = []
        self.input = TerminalInput(
            self.terminal,
            self.reactor,
            self._take,
            on_resize=self._resize,
            on_resume=lambda: None,
            on_gone=self._gone,
        )

    def _take(self, events: list[Event]) -> None:
        self.batches.append(events)
        self.reactor.stop()

    def _resize(self) -> None:
        self.resized_to.append(self.terminal.size.columns)
        self.reactor.stop()

    def _gone(self) -> None:
        self.is_gone = True
        self.reactor.stop()

    def send(self, data: bytes) -> list[Event]:
        """The next batch after these bytes were sent."""
        os.write(self.far, data)
        self.reactor.run()
        return self.batches[-1]

    def written(self) -> bytes:
        """What was written since this was asked last. Terminals pass it on in their own time, but in order."""
        os.write(self.near, _MARK)
        data = b""
        while not data.endswith(_MARK):
            select.select((self.far,), (), (), 10)
            data += os.read(self.far, 65536)
        return data.removesuffix(_MARK)

    def close(self) -> None:
        self.terminal.close()
        self.reactor.close()
        os.close(self.near)
        if self.far >= 0:
            os.close(self.far)


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    made = Stage({**_ENVIRONMENT, **getattr(request, "param", {})})
    yield made
    made.close()


def test_what_comes_together_is_handed_over_together(stage: Stage) -> None:
    assert stage.send(b"ab\x1b[A") == [Key("a", "a"), Key("b", "b"), Key("up")]


def test_escape_comes_after_a_pause(stage: Stage) -> None:
    assert stage.send(b"\x1b") == [Key("escape")]
    assert stage.send(b"\x1b[200~x\x1b[201~\r") == [Paste("x")]
    stage.reactor.run()
    assert stage.batches[-1] == [Key("enter")]


def test_a_loop_that_is_late_does_not_tear_a_sequence(stage: Stage) -> None:
    def be_late() -> None:
        os.write(stage.far, b"[A")
        time.sleep(0.05)  # longer than the pause that would make it an escape

    os.write(stage.far, b"\x1b")
    stage.reactor.call_later(0, be_late)
    stage.reactor.run()

    assert stage.batches == [[Key("up")]]


def test_the_position_of_the_cursor_is_asked_for(stage: Stage) -> None:
    stage.written()
    stage.input.ask_cursor()

    assert stage.written() == b"\x1b[6n"
    assert stage.send(b"\x1b[1;5R") == [TerminalReply("cursor", (0, 4))]
    assert stage.send(b"\x1b[1;5R") == [Key("ctrl+f3")]


def test_a_terminal_without_the_kitty_protocol_is_asked_for_the_next_best(stage: Stage) -> None:
    stage.terminal.ask()
    assert stage.written().endswith(b"\x1b[c")

    stage.send(b"\x1b[?62c")

    assert stage.written() == b"\x1b[>4;2m"
    stage.send(b"\x1b[?62c")
    assert stage.written() == b""
    stage.terminal.close()
    assert b"\x1b[>4;0m" in stage.written()


@pytest.mark.parametrize("stage", [{}, {"TERM_PROGRAM": "Apple_Terminal"}], indirect=True)
def test_only_one_of_the_protocols_is_used_and_none_where_it_does_harm(stage: Stage) -> None:
    is_apple = stage.terminal.capabilities.program == "apple"
    stage.terminal.ask()
    stage.written()

    stage.send(b"\x1b[?62c" if is_apple else b"\x1b[?5u\x1b[?62c")

    assert stage.written() == b""
    assert stage.terminal.capabilities.kitty_keyboard is not is_apple


def test_a_size_that_changed_before_anybody_listened_is_noticed(stage: Stage) -> None:
    termios.tcsetwinsize(stage.near, (20, 70))

    stage.reactor.run()

    assert stage.resized_to == [70]
    assert (stage.terminal.size.columns, stage.terminal.size.rows) == (70, 20)


def test_what_is_known_is_up_to_date_when_the_answer_is_handed_over(stage: Stage) -> None:
    assert stage.send(b"\x1b]11;rgb:ff/ff/ff\x07") == [TerminalReply("background", (255, 255, 255))]
    assert stage.terminal.capabilities.is_dark is False


def test_a_closed_terminal_is_told_once(stage: Stage) -> None:
    os.close(stage.far)
    stage.far = -1

    stage.reactor.run()

    assert stage.is_gone
    assert stage.terminal.device.gone
    stage.reactor.call_later(0.01, stage.reactor.stop)
    stage.is_gone = False
    stage.reactor.run()
    assert not stage.is_gone


def test_a_failing_farewell_does_not_keep_the_terminal(stage: Stage) -> None:
    def fail() -> str:
        raise LookupError("no")

    stage.terminal.farewell = fail

    with pytest.raises(LookupError):
        stage.terminal.close()

    assert not stage.terminal.device.is_raw
    assert b"\x1b[?2004l" in stage.written()
    stage.terminal.farewell = None


def test_a_forked_process_leaves_the_terminal_alone(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)
        stage.terminal.close()

    assert stage.terminal.device.is_raw


def test_who_handles_a_signal_goes_on_handling_it() -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stage = Stage(_ENVIRONMENT)
        during = signal.getsignal(signal.SIGHUP), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        stage.close()
        assert during == (signal.SIG_IGN, False)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, previous)


def test_a_sequence_that_was_cut_off_is_ended_first(stage: Stage) -> None:
    stage.written()
    stage.terminal.device.is_cut_off = True

    stage.terminal.close()

    assert stage.written().startswith(b"\x1b\\")


def test_the_alternate_screen_has_keyboard_flags_of_its_own(stage: Stage) -> None:
    stage.written()
    stage.terminal.set_alternate_screen(on=True)
    stage.terminal.set_alternate_screen(on=True)
    assert stage.written() == b"\x1b[?1049h\x1b[>5u"

    stage.terminal.set_alternate_screen(on=False)

    assert stage.written() == b"\x1b[<u\x1b[?1049l"


@pytest.mark.parametrize("stage", [{"TERM": "xterm-ghostty"}], indirect=True)
def test_the_terminal_tells_the_desktop(stage: Stage) -> None:
    stage.written()
    stage.terminal.set_progress(busy=True)
    stage.terminal.set_progress(busy=True)
    stage.terminal.set_title("one")
    stage.terminal.set_title("one")
    stage.terminal.bell()
    stage.terminal.notify("kaa", "done")

    assert stage.written() == (b"\x1b]9;4;3;0\x1b\\\x1b[22;2t\x1b]2;one\x1b\\\a\x1b]777;notify;kaa;done\x1b\\")
    stage.terminal.close()
    assert b"\x1b]9;4;0;0\x1b\\\x1b[23;2t" in stage.written()


@pytest.mark.parametrize("stage", [{"SSH_TTY": "/dev/pts/9"}], indirect=True)
def test_over_ssh_text_is_copied_through_the_terminal(stage: Stage) -> None:
    stage.written()
    problems: list[str] = []
    clipboard = Clipboard(stage.terminal, stage.reactor.post, {"DISPLAY": ":0"}, shutil.which)

    clipboard.copy("grüße", problems.append)
    assert stage.written() == b"\x1b]52;c;Z3LDvMOfZQ==\x1b\\"

    clipboard.copy("x" * 80_000, problems.append)
    assert stage.written() == b""
    assert [bool(problem) for problem in problems] == [False, True]


@pytest.mark.parametrize(("status", "expected"), [(0, b""), (1, b"\x1b]52;c;aGVsbG8=\x1b\\")])
def test_text_is_copied_by_the_desktop_or_else_through_the_terminal(
    stage: Stage, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch, status: int, expected: bytes
) -> None:
    stage.written()
    program = os.path.join(tmp_path, "xclip")
    with open(program, "w", encoding="utf-8") as script:
        script.write(f"#!/bin/sh\ncat > {tmp_path}/copied\nexit {status}\n")
    os.chmod(program, 0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    problems: list[str] = []

    def done(problem: str) -> None:
        problems.append(problem)
        stage.reactor.stop()

    Clipboard(stage.terminal, stage.reactor.post, {"DISPLAY": ":0"}, shutil.which).copy("hello", done)
    stage.reactor.run()

    assert problems == [""]
    assert stage.written() == expected
    with open(os.path.join(tmp_path, "copied"), encoding="utf-8") as copied:
        assert copied.read() == "hello"
