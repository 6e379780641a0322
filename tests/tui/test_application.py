"""A program in a terminal of which the clock only moves when it is told to."""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from kaa.tui.application import Application
from kaa.tui.context import Context
from kaa.tui.document import Document
from kaa.tui.events import Key
from kaa.tui.keymap import Keymap
from kaa.tui.palette import Palette, Theme
from kaa.tui.reactor import Reactor
from kaa.tui.terminal import Terminal
from tests.support.screen import Screen
from tests.support.screen_device import ScreenDevice
from tests.tui.blocks import Dock, LinesBlock


class Session:
    """A program and its terminal, which answers when `answer` is called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, screen: Screen) -> None:
        self._now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self._now)
        self.screen = screen
        self.device = ScreenDevice(screen)
        self.reactor = Reactor()
        self.document = Document(Dock("> ", cursor=(0, 2)))
        terminal = Terminal({"TERM": "xterm-256color"}, self.device)
        context = Context(Palette(Theme("plain", {})), Keymap({}), terminal.size)
        self.app = Application(terminal, self.reactor, context, self.document)

    def add(self, *lines: str) -> LinesBlock:
        block = LinesBlock(list(lines))
        self.document.blocks.append(block)
        return block

    def pass_time(self, seconds: float) -> None:
        self._now += seconds

    def turn(self, seconds: float = 0.0) -> None:
        """Let the loop do what there is to do, so many seconds later."""
        self.pass_time(seconds)
        self.reactor.post(lambda: self.reactor.post(self.reactor.stop))
        self.reactor.run()

    def answer(self) -> None:
        while self.screen.replies:
            self.device.type(self.screen.replies.pop(0).encode())
        self.turn()

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(columns, rows)
        os.kill(os.getpid(), signal.SIGWINCH)
        self.turn()

    def stop_and_go_on(self, *, meanwhile: Callable[[], object]) -> None:
        """Somebody else stops the process: a shell has the terminal."""
        self.device.make_cooked()
        meanwhile()
        os.kill(os.getpid(), signal.SIGCONT)
        self.turn()

    def lines(self) -> list[str]:
        """Everything from the scrollback's first line to the last one on the screen."""
        return "\n".join(self.screen.everything()).rstrip("\n").split("\n")


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Screen], Session]]:
    sessions: list[Session] = []

    def start(screen: Screen) -> Session:
        session = Session(monkeypatch, screen)
        sessions.append(session)
        session.app.start()
        session.answer()
        return session

    yield start
    for session in sessions:
        session.app.stop()
        session.reactor.close()


def test_who_waits_for_the_cursor_does_not_paint_on_the_full_screen(start: Callable[[Screen], Session]) -> None:
    session = start(Screen(20, 8, answers="none"))
    session.add(*"abc")
    session.app.paint()
    session.resize(20, 10)

    session.app.toggle_fullscreen()
    session.turn(1.0)

    assert session.screen.lines() == [*"abc", "", "", "", "", "", "", ">"]


def test_one_answer_of_two_does_not_end_the_waiting_for_the_other(start: Callable[[Screen], Session]) -> None:
    session = start(Screen(20, 8))
    session.add(*"abc")
    session.app.paint()
    session.resize(20, 10)
    session.resize(20, 12)

    session.screen.replies.pop()
    session.answer()
    session.add("d")
    session.turn(1.0)

    assert session.lines() == [*"abcd", ">"]


def test_a_late_answer_is_not_taken_for_one_to_a_later_question(start: Callable[[Screen], Session]) -> None:
    session = start(Screen(20, 8))
    session.add(*map(str, range(20)))
    session.app.paint()
    session.resize(20, 12)
    late = session.screen.replies.pop()
    session.turn(1.0)

    session.resize(20, 6)
    session.screen.replies.insert(0, late)
    session.answer()
    session.turn(1.0)

    assert session.lines() == [*map(str, range(20)), ">"]


def test_answers_that_never_came_are_not_expected_for_ever(start: Callable[[Screen], Session]) -> None:
    session = start(Screen(20, 8))
    session.add(*map(str, range(20)))
    session.app.paint()
    session.resize(20, 12)
    session.screen.replies.clear()
    session.turn(1.0)
    session.turn(60.0)

    session.resize(20, 6)
    session.answer()

    assert session.lines() == [*map(str, range(20)), ">"]


def test_what_changes_while_nothing_can_be_painted_is_not_taken_for_what_was(
    start: Callable[[Screen], Session],
) -> None:
    session = start(Screen(20, 8, answers="none"))
    block = session.add(*"abcde")
    session.app.paint()

    session.resize(20, 4)
    block.change(["a"])
    session.add(*"vwxyz")
    session.app.paint()
    session.turn(1.0)

    assert session.lines() == [*"abcde", *"vwxyz", ">"]


def test_what_changes_on_the_full_screen_is_all_there_afterwards(start: Callable[[Screen], Session]) -> None:
    session = start(Screen(20, 8))
    block = session.add(*"abcde")
    session.app.paint()

    session.app.toggle_fullscreen()
    block.change(["a", "new"])
    session.add(*"vwxyz")
    session.resize(20, 4)
    session.app.toggle_fullscreen()
    session.answer()

    assert session.lines() == ["a", "new", *"vwxyz", ">"]


def test_a_narrower_screen_shows_all_again_and_erases_nothing_else(start: Callable[[Screen], Session]) -> None:
    screen = Screen(20, 8)
    screen.feed("$ kaa\r\n" * 10)
    session = start(screen)
    block = session.add("a b", "c d")
    session.app.paint()

    session.resize(10, 8)
    block.change([*"abcd", *"efgh"])
    session.turn(1.0)

    assert session.lines() == ["$ kaa"] * 5 + [*"abcdefgh", ">"]
    assert screen.wipes == 0


def test_what_a_narrower_screen_pushed_above_it_is_not_doubled(start: Callable[[Screen], Session]) -> None:
    session = start(Screen(20, 6, reflows=True))
    block = session.add("a" * 20, "b" * 20, "c" * 20)
    session.app.paint()

    session.resize(5, 6)
    block.change(["a", "b", "c"])
    session.turn(1.0)

    assert session.lines() == [*"abc", ">"]


@pytest.mark.parametrize("columns", [20, 30])
def test_what_a_shell_wrote_goes_and_nothing_is_doubled(start: Callable[[Screen], Session], columns: int) -> None:
    session = start(Screen(20, 6))
    session.add(*map(str, range(20)))
    session.app.paint()

    def meanwhile() -> None:
        session.screen.feed("\x1b[H$ fg")
        session.screen.resize(columns, 6)

    session.stop_and_go_on(meanwhile=meanwhile)
    session.turn(1.0)

    assert session.lines() == [*map(str, range(20)), ">"]


class SlowBlock(LinesBlock):
    """A block that takes longer to render than a search goes on for without a pause."""

    def __init__(self, session: Session) -> None:
        super().__init__(["hay"])
        self._session = session

    def render(self, width: int) -> list[str]:
        self._session.pass_time(0.01)
        return super().render(width)


def test_however_much_is_typed_one_search_goes_on_between_keys(start: Callable[[Screen], Session]) -> None:
    session = start(Screen(20, 8))
    session.app.context.keymap.replace(Keymap({"tui.altScreen.search": ["ctrl+s"]}))
    blocks = [SlowBlock(session) for _ in range(100)]
    session.document.blocks += blocks
    session.app.toggle_fullscreen()
    session.app.take_view_key(Key("ctrl+s"))
    for letter in "needle":
        session.app.take_view_key(Key(letter, letter))

    for _ in range(10):  # past what was shown
        session.turn()

    before = sum(block.times_asked > 0 for block in blocks)
    session.turn()

    assert 0 < sum(block.times_asked > 0 for block in blocks) - before <= 3


def test_the_terminal_is_given_back_even_if_nothing_can_be_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(LinesBlock):
        def render(self, width: int) -> list[str]:
            raise ZeroDivisionError

    session = Session(monkeypatch, Screen(20, 6))
    session.app.start()
    session.app.toggle_fullscreen()
    session.screen.resize(30, 6)
    session.app.terminal.update_size()
    session.document.blocks.append(Broken([]))

    with pytest.raises(ZeroDivisionError):
        session.app.stop()
    session.reactor.close()

    assert not session.screen.in_alternate_screen
    assert session.screen.modes == Screen().modes
    assert not session.device.is_raw
