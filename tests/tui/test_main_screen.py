import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.tui.document import Document
from kaa.tui.main_screen import MainScreen
from kaa.tui.width import fit, plain
from tests.support.screen import Screen
from tests.support.tables import each
from tests.tui.blocks import Dock, LinesBlock


class Session:
    """A document on a terminal."""

    def __init__(
        self,
        columns: int = 40,
        rows: int = 10,
        *,
        before: int = 0,
        pulls_back: bool = True,
        dock: tuple[str, ...] = ("> ",),
        cursor: tuple[int, int] | None = (0, 2),
    ) -> None:
        self.terminal = Screen(columns, rows, pulls_back=pulls_back)
        self.before = [f"$ {number}" for number in range(before)]
        self.terminal.feed("".join(f"{line}\r\n" for line in self.before))
        self.dock = Dock(*dock, cursor=cursor)
        self.document = Document(self.dock)
        self.gone: list[str] = []  # lines that have left the screen, as they were last
        self.kept: list[str] = []  # those that have not
        self.writes: list[str] = []
        self.screen = MainScreen(self._write, columns, rows)

    def _write(self, text: str) -> None:
        self.writes.append(text)
        self.terminal.feed(text)

    def add(self, *lines: str, finished: bool = True) -> LinesBlock:
        block = LinesBlock(list(lines), finished=finished)
        self.document.blocks.append(block)
        return block

    def frame(self) -> None:
        tail = self.document.tail(self.screen.columns)
        written = len(self.writes)
        left = self.screen.frame(tail)
        if left or len(self.writes) > written:
            self.kept = tail.lines
        self.leave(left)

    def repaint(self) -> None:
        self.document.reset()
        self.gone = []
        self.before = []
        tail = self.document.tail(self.screen.columns)
        self.kept = tail.lines
        self.leave(self.screen.repaint(tail, clear_scrollback=True))

    def leave(self, lines: int) -> None:
        self.gone += self.kept[:lines]
        self.kept = self.kept[lines:]
        self.document.leave(lines)

    def set_height(self, rows: int, *, answers: bool = True) -> None:
        self.terminal.resize(self.terminal.columns, rows)
        if self.screen.resize(self.terminal.columns, rows):
            self.frame()  # whatever comes in between is not painted
            self.leave(self.screen.resync(self.terminal.cursor[0] if answers else None))
            self.screen.expect_no_answers()
        self.frame()

    def shown(self) -> list[str]:
        """Everything from the first line of the scrollback to the last row that is not blank."""
        lines = self.terminal.everything()
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def expected(self) -> list[str]:
        """What was there before, what has left, and what the document still shows."""
        lines = [*self.gone, *self.document.tail(self.screen.columns).lines]
        return self.before + [plain(fit(line, self.screen.columns)).rstrip() for line in lines]


# What is shown


def test_the_document_follows_what_was_on_the_screen() -> None:
    session = Session(before=3)
    session.add("hello")

    session.frame()

    assert session.shown() == ["$ 0", "$ 1", "$ 2", "hello", ">"]
    assert session.terminal.cursor == (4, 2)


def test_what_is_below_the_cursor_at_the_beginning_is_erased() -> None:
    session = Session()
    session.terminal.feed("\r\n\r\nleft over\x1b[H")

    session.frame()

    assert session.shown() == [">"]


def test_lines_flow_into_the_scrollback() -> None:
    session = Session(rows=5, before=2)
    for number in range(20):
        session.add(f"line {number}")
        session.frame()

    assert session.shown() == session.expected()
    assert len(session.terminal.scrollback()) == 2 + 20 + 1 - 5


def test_more_lines_than_the_screen_has_in_one_frame() -> None:
    session = Session(rows=5)
    session.frame()
    block = session.add("old", finished=False)
    session.frame()

    block.change([f"line {number}" for number in range(50)])
    session.frame()

    assert session.shown() == session.expected()
    assert block.frozen == 46


def test_a_dock_that_gets_smaller_leaves_nothing_behind() -> None:
    session = Session(rows=6, dock=("a", "b", "c", "> "), cursor=(3, 2))
    session.add("one", "two")
    session.frame()

    session.dock.lines = ["> "]
    session.dock.at = (0, 2)
    session.frame()
    session.add("three")
    session.frame()

    assert session.shown() == ["one", "two", "three", ">"]


def test_a_dock_higher_than_the_screen_shows_the_rows_around_its_cursor() -> None:
    session = Session(rows=4, dock=tuple(f"row {number}" for number in range(10)), cursor=(5, 1))
    session.add("block")
    session.frame()

    assert session.terminal.lines() == ["row 3", "row 4", "row 5", "row 6"]
    assert session.terminal.cursor == (2, 1)
    assert session.terminal.scrollback() == ["block"]


def test_without_a_cursor_the_last_rows_of_a_high_dock_are_shown() -> None:
    session = Session(rows=3, dock=("a", "b", "c", "d"), cursor=None)
    session.frame()

    assert session.terminal.lines() == ["b", "c", "d"]
    assert not session.terminal.cursor_visible


def test_rows_full_of_wide_characters_keep_their_last_cell() -> None:
    session = Session(columns=10)
    session.add("漢字漢字漢")
    session.frame()
    session.document.blocks[0].change(["字漢字漢字"])  # type: ignore[attr-defined] # made by this test
    session.frame()

    assert session.shown() == ["字漢字漢字", ">"]


def test_a_line_that_is_too_long_is_cut_and_shifts_nothing() -> None:
    session = Session(columns=10)
    session.add("x" * 50, "\x1b[31m" + "漢" * 20 + "\x1b[0m", "end")
    session.frame()

    assert session.shown() == ["x" * 10, "漢" * 5, "end", ">"]


def test_the_cursor_behind_the_last_column_stays_in_the_row() -> None:
    session = Session(columns=10, dock=("0123456789", "footer"), cursor=(0, 10))
    session.frame()

    assert session.terminal.cursor == (0, 9)


# What is written


def test_nothing_is_written_when_nothing_changed() -> None:
    session = Session()
    session.add("text")
    session.frame()
    session.writes.clear()

    session.frame()

    assert session.writes == []


def test_a_cursor_that_moves_costs_a_movement() -> None:
    session = Session(dock=("a", "> abc"), cursor=(1, 2))
    session.frame()
    session.writes.clear()

    session.dock.at = (1, 5)
    session.frame()

    assert session.writes == ["\x1b[6G"]


def test_the_cursor_is_hidden_when_there_is_none() -> None:
    session = Session()
    session.frame()

    session.dock.at = None
    session.frame()

    assert not session.terminal.cursor_visible


def test_the_cursor_is_shown_again() -> None:
    session = Session(cursor=None)
    session.frame()

    session.dock.at = (0, 1)
    session.frame()
    assert session.terminal.cursor_visible
    assert session.terminal.cursor == (0, 1)


def test_a_frame_is_one_write_within_synchronized_output() -> None:
    session = Session()
    session.add("text")
    session.frame()

    (written,) = session.writes
    assert written.startswith("\x1b[?2026h")
    assert written.endswith("\x1b[?2026l")
    assert session.terminal.modes == {7, 25}


def test_only_changed_rows_are_written() -> None:
    session = Session(dock=("> ", "footer that is long"))
    session.add("text")
    session.frame()
    session.writes.clear()

    session.dock.lines = ["> x", "footer that is long"]
    session.frame()

    assert "footer" not in session.writes[0]
    assert "text" not in session.writes[0]


def test_a_key_and_a_token_cost_the_same_however_long_the_transcript_is() -> None:
    costs = []
    for messages in (10, 10_000):
        session = Session(rows=24, dock=("─" * 40, "> ", "footer"), cursor=(1, 2))
        blocks = [session.add(f"message {number}", "", "answer") for number in range(messages)]
        live = session.add("tok", finished=False)
        session.frame()
        session.frame()  # which finds that the first ones have left
        asked = sum(block.times_asked for block in blocks)
        session.writes.clear()
        for number in range(20):
            session.dock.lines = [session.dock.lines[0], f"> {'x' * number}", "footer"]
            session.frame()
            live.change([f"token {number}"] * (1 + number // 5))
            session.frame()
        costs.append((len("".join(session.writes)), sum(block.times_asked for block in blocks) - asked))

    assert costs[1] == costs[0]
    assert costs[1][0] < 40 * 300
    assert costs[1][1] <= 40 * 24


def test_streaming_never_wipes_the_scrollback() -> None:
    session = Session(rows=8)
    live = session.add("", finished=False)
    for number in range(100):
        live.change([f"row {row} {number if row == number else ''}" for row in range(number + 1)])
        session.frame()

    assert session.terminal.wipes == 0
    assert not [written for written in session.writes if re.search("\x1b\\[[23]J", written)]


# Repainting and leaving


def test_a_repaint_begins_at_the_top_with_an_empty_scrollback() -> None:
    session = Session(rows=5, before=3)
    for number in range(10):
        session.add(f"line {number}")
    session.frame()

    session.repaint()

    assert session.shown() == [*(f"line {number}" for number in range(10)), ">"]
    assert session.terminal.wipes == 1


def test_a_repaint_may_keep_the_scrollback() -> None:
    session = Session(rows=5)
    for number in range(10):
        session.add(f"line {number}")
    session.frame()
    session.terminal.feed("\x1b[Hnoise of another program")

    tail = session.document.tail(40)
    session.document.leave(session.screen.repaint(tail, clear_scrollback=False))

    assert session.shown() == session.expected()
    assert session.terminal.wipes == 0


def test_another_width_is_painted_when_it_is_repainted_and_not_before() -> None:
    session = Session(columns=40)
    session.add("text")
    session.frame()
    session.terminal.resize(20, 10)
    session.writes.clear()

    assert not session.screen.resize(20, 10)
    session.terminal.resize(20, 9)
    assert not session.screen.resize(20, 9)
    session.add("more")
    session.frame()
    session.leave(session.screen.resync(0))
    session.frame()
    assert session.writes == []

    session.repaint()
    assert session.shown() == ["text", "more", ">"]


def test_released_the_terminal_goes_on_below_the_document() -> None:
    session = Session(dock=("> ", "footer"), cursor=None)
    session.add("text")
    session.frame()

    session.screen.release()
    session.terminal.feed("$ ls")

    assert session.shown() == ["text", ">", "footer", "$ ls"]
    assert session.terminal.cursor_visible


@pytest.mark.parametrize("rows", [3, 10])
def test_released_without_its_dock_it_goes_on_below_the_blocks(rows: int) -> None:
    session = Session(rows=rows, dock=("> ", "footer"))
    block = session.add("1", "2", "3", finished=False)
    session.frame()

    session.leave(session.screen.release_dock())
    session.terminal.feed("[1]+ Stopped\r\n$ fg\r\n")
    block.change(["x", "x", "x", "4"])
    session.frame()

    assert session.shown() == ["1", "2", "3", "[1]+ Stopped", "$ fg", "4", ">", "footer"]


# Pictures


def picture(identity: int, rows: int) -> list[str]:
    return [f"\x1b_Ga=T,f=100,i={identity},c=4,r={rows};AAAA\x1b\\", *[""] * (rows - 1)]


def test_a_picture_is_sent_when_its_rows_are_there_and_never_cut() -> None:
    session = Session(columns=10, rows=6)
    session.add("a", *picture(7, 3), "b")

    session.frame()

    assert session.terminal.images == 1
    assert session.shown() == ["a", "", "", "", "b", ">"]
    assert picture(7, 3)[0] in session.writes[0]


def test_a_picture_that_is_gone_is_taken_off_the_screen() -> None:
    session = Session()
    block = session.add(*picture(7, 3), finished=False)
    session.frame()

    block.change(["text", "", ""])
    session.frame()

    assert "\x1b_Ga=d,d=i,i=7,q=2\x1b\\" in session.writes[-1]
    assert session.shown() == ["text", "", "", ">"]


def test_a_picture_that_scrolls_is_not_sent_again() -> None:
    session = Session(rows=8)
    session.add(*picture(7, 3))
    session.frame()

    for number in range(10):
        session.add(f"line {number}")
        session.frame()

    assert session.terminal.images == 1


# Other heights


@each("pulls_back", [True, False])
@each("answers", [True, False])
@each("lines", [2, 50])
def test_another_height_loses_and_doubles_nothing(pulls_back: bool, answers: bool, lines: int) -> None:
    session = Session(rows=30, before=40, pulls_back=pulls_back, dock=("top", "> ", "footer"), cursor=(1, 2))
    for number in range(lines):
        session.add(f"line {number}")
    session.frame()

    for rows in (20, 30, 5, 31, 8, 8):
        session.set_height(rows, answers=answers)
        session.add(f"at {rows} rows")
        session.frame()

        assert session.shown() == session.expected()
    assert session.terminal.wipes == 0


@pytest.mark.parametrize("pulls_back", [True, False])
def test_a_screen_lower_than_the_dock_shows_what_it_can_of_it(pulls_back: bool) -> None:
    dock = tuple(f"row {number}" for number in range(8))
    session = Session(rows=12, dock=dock, cursor=(7, 1), pulls_back=pulls_back)
    session.add("1", "2")
    session.frame()

    session.set_height(3)
    assert session.terminal.lines() == ["row 5", "row 6", "row 7"]
    assert session.terminal.cursor == (2, 1)

    session.set_height(9)
    session.add("3")
    session.frame()
    assert session.terminal.lines()[-9:] == ["3", *dock]
    assert [line for line in session.shown() if not line.startswith("row")] == ["1", "2", "3"]


def test_an_answer_to_an_earlier_question_is_not_taken_for_the_last() -> None:
    session = Session(rows=20, dock=("> ", "footer"))
    for number in range(30):
        session.add(f"line {number}")
    session.frame()

    session.terminal.resize(40, 10)
    session.screen.resize(40, 10)
    earlier = session.terminal.cursor[0]
    session.terminal.resize(40, 5)
    session.screen.resize(40, 5)
    session.leave(session.screen.resync(earlier))
    session.frame()
    session.leave(session.screen.resync(session.terminal.cursor[0]))
    session.frame()

    assert session.shown() == session.expected()


def test_an_answer_that_nobody_asked_for_changes_nothing() -> None:
    session = Session()
    session.add("text")
    session.frame()

    assert session.screen.resync(3) == 0
    session.frame()

    assert session.shown() == ["text", ">"]


# Anything

LINES = st.lists(
    st.sampled_from(
        ["", "short", "漢字かな", "\x1b[1mbold\x1b[0m and plain", "x" * 15, "🇩🇪 👩\u200d💻 e\u0301", "─" * 12]
    ),
    max_size=5,
)
STEPS = st.one_of(
    st.tuples(st.just("add"), LINES),
    st.tuples(st.just("live"), LINES),
    st.tuples(st.just("grow"), LINES),
    st.tuples(st.just("change"), LINES),
    st.tuples(st.just("finish"), st.none()),
    st.tuples(st.just("dock"), st.tuples(LINES, st.integers(0, 5))),
    st.tuples(st.just("height"), st.integers(7, 16)),
    st.tuples(st.just("mute height"), st.integers(7, 16)),
    st.tuples(st.just("suspend"), st.none()),
)


def _grow(session: Session, lines: list[str]) -> None:
    if live := [block for block in session.document.blocks if isinstance(block, LinesBlock) and not block.finished]:
        live[len(lines) % len(live)].change(live[len(lines) % len(live)].lines + lines)


def _change(session: Session, lines: list[str]) -> None:
    if live := [block for block in session.document.blocks if isinstance(block, LinesBlock) and not block.finished]:
        live[-1].change(lines)


def _finish(session: Session, _: None) -> None:
    for block in session.document.blocks[-1:]:
        assert isinstance(block, LinesBlock)
        block.finished = True


def _dock(session: Session, dock: tuple[list[str], int]) -> None:
    lines, cursor = dock
    session.dock.lines = ["top", *lines, "bottom"]
    session.dock.at = (cursor, 3) if cursor < len(session.dock.lines) else None


def _suspend(session: Session, _: None) -> None:
    session.leave(session.screen.release_dock())


_ACTIONS: dict[str, Callable[..., object]] = {
    "add": lambda session, lines: session.add(*lines),
    "live": lambda session, lines: session.add(*lines, finished=False),
    "grow": _grow,
    "change": _change,
    "finish": _finish,
    "dock": _dock,
    "height": Session.set_height,
    "mute height": lambda session, rows: session.set_height(rows, answers=False),
    "suspend": _suspend,
}


@given(st.lists(STEPS, max_size=30), st.integers(7, 16), st.integers(0, 20), st.booleans())
def test_scrollback_and_screen_together_are_the_document(
    steps: list[tuple[str, object]], rows: int, before: int, pulls_back: bool
) -> None:
    session = Session(columns=12, rows=rows, before=before, pulls_back=pulls_back)
    for action, argument in steps:
        scrolled = session.terminal.scrollback()
        _ACTIONS[action](session, argument)
        session.frame()

        assert session.shown() == session.expected()
        if "height" not in action:
            assert session.terminal.scrollback()[: len(scrolled)] == scrolled
    assert session.terminal.wipes == 0
    assert session.terminal.unknown == []
