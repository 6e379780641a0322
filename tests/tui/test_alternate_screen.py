from kaa.tui.alternate_screen import AlternateScreen
from kaa.tui.context import Context, Size
from kaa.tui.document import Document
from kaa.tui.events import Key, Mouse
from kaa.tui.keybinding_file import resolve
from kaa.tui.keybindings import TOOLKIT
from kaa.tui.keymap import Keymap
from kaa.tui.palette import Palette, Theme
from tests.support.screen import Screen
from tests.tui.blocks import Dock, LinesBlock


class Session:
    """A document on the alternate screen of a terminal."""

    def __init__(self, columns: int = 30, rows: int = 8, *, dock: tuple[str, ...] = ("─" * 30, "> ")) -> None:
        self.terminal = Screen(columns, rows)
        self.terminal.feed("shell\x1b[?1049h")
        self.dock = Dock(*dock, cursor=(len(dock) - 1, 2))
        self.document = Document(self.dock)
        self.size = Size(columns, rows)
        self.copied: list[str] = []
        self.writes: list[str] = []
        keymap = Keymap(resolve(TOOLKIT, {}, "").keys)
        context = Context(Palette(Theme("plain", {})), keymap, self.size)
        self.screen = AlternateScreen(context, self.document, self._write, on_copy=self.copied.append)

    def _write(self, text: str) -> None:
        self.writes.append(text)
        self.terminal.feed(text)

    def add(self, *lines: str, is_prompt: bool = False) -> LinesBlock:
        block = LinesBlock(list(lines), is_prompt=is_prompt)
        self.document.blocks.append(block)
        return block

    def press(self, *keys: str) -> bool:
        taken = [self.screen.key(Key(key, " " if key == "space" else key if len(key) == 1 else "")) for key in keys]
        while self.screen.work():
            pass
        self.screen.frame()
        return all(taken)

    def mouse(self, kind: str, row: int, column: int, button: int = 0) -> bool:
        taken = self.screen.mouse(Mouse(kind, button, column, row))  # type: ignore[arg-type] # literals in the tests
        self.screen.frame()
        return taken

    def lines(self) -> list[str]:
        return self.terminal.lines()

    def reversed_text(self, row: int) -> str:
        return "".join(cell.text for cell in self.terminal.cells(row) if cell.style.inverse)


def numbered(count: int) -> Session:
    session = Session()
    for number in range(count):
        session.add(f"line {number}")
    session.screen.frame()
    return session


# What is shown


def test_the_end_of_the_document_is_above_the_dock() -> None:
    session = numbered(20)

    assert session.lines() == [*(f"line {number}" for number in range(14, 20)), "─" * 30, ">"]
    assert session.terminal.cursor == (7, 2)


def test_a_short_document_begins_at_the_top() -> None:
    session = numbered(2)

    assert session.lines() == ["line 0", "line 1", "", "", "", "", "─" * 30, ">"]


def test_ten_thousand_messages_open_at_once() -> None:
    session = Session()
    blocks = [session.add("question", "answer") for _ in range(10_000)]

    session.screen.frame()

    assert sum(block.times_asked for block in blocks) < 10


def test_only_rows_that_changed_are_written() -> None:
    session = numbered(20)
    session.writes.clear()

    session.screen.frame()
    assert session.writes == []

    session.dock.lines = [session.dock.lines[0], "> typed"]
    session.screen.frame()
    (written,) = session.writes
    assert "typed" in written
    assert "line" not in written


def test_a_cursor_that_moves_costs_a_movement() -> None:
    session = numbered(3)
    session.writes.clear()

    session.dock.at = (1, 5)
    session.screen.frame()

    assert session.writes == ["\x1b[8;6H\x1b[?25h"]


def test_another_size_is_painted_anew() -> None:
    session = numbered(20)
    session.terminal.resize(20, 5)
    session.size.columns, session.size.rows = 20, 5
    session.dock.lines = ["> "]
    session.dock.at = (0, 2)

    session.screen.frame()

    assert session.lines() == ["line 16", "line 17", "line 18", "line 19", ">"]


def test_another_width_lifts_what_binds_blocks_to_the_old_one() -> None:
    session = Session()
    block = session.add("1", "2", "3")
    session.document.tail(30)
    session.document.leave(2)
    session.terminal.resize(20, 8)
    session.size.columns = 20

    session.screen.frame()

    assert block.frozen == 0


def test_a_dock_higher_than_the_screen_leaves_a_row_for_the_document() -> None:
    session = Session(rows=4, dock=tuple(f"dock {number}" for number in range(9)))
    session.add("text")

    session.screen.frame()

    assert session.lines() == ["text", "dock 6", "dock 7", "dock 8"]


def test_after_something_else_wrote_all_is_painted() -> None:
    session = numbered(20)
    expected = session.lines()
    session.terminal.feed("\x1b[2J")

    session.screen.forget()
    session.screen.frame()

    assert session.lines() == expected


def test_pictures_are_shown_where_they_have_room() -> None:
    session = Session(rows=8, dock=("> ",))
    session.add("\x1b_Ga=T,i=3,r=3;AAAA\x1b\\", "", "")
    session.screen.frame()
    assert session.terminal.images == 1

    for _ in range(5):
        session.add("below")
    session.screen.frame()

    assert session.terminal.images == 1
    assert "a=d,d=i,i=3" in session.writes[-1]


def test_pictures_do_not_reach_over_the_dock_or_over_boxes() -> None:
    session = Session(rows=4, dock=("> ",))
    session.add("\x1b_Ga=T,i=3,r=4;AAAA\x1b\\", "", "", "")
    session.screen.viewport.to_start()
    session.screen.frame()
    assert session.terminal.images == 0

    session.size.rows = 6
    session.terminal.resize(30, 6)
    session.screen.frame()
    assert session.terminal.images == 1


# Scrolling


def test_keys_scroll_by_lines_and_pages_and_to_both_ends() -> None:
    session = numbered(100)
    firsts = []
    for key in ("pageup", "alt+pageup", "ctrl+up", "ctrl+down", "alt+pagedown", "pagedown", "home", "end"):
        assert session.press(key)
        firsts.append(session.lines()[0])

    assert firsts == [f"line {number}" for number in (89, 87, 86, 87, 89, 94, 0, 94)]


def test_keys_that_mean_nothing_here_are_left_to_others() -> None:
    session = numbered(3)

    assert not session.press("a")
    assert not session.press("escape")


def test_it_tells_how_far_one_has_scrolled_and_what_is_new() -> None:
    session = numbered(100)
    session.press("pageup")
    assert session.lines()[5].endswith(" 89%")

    session.add("new")
    session.add("newer")
    session.screen.frame()

    assert session.lines()[0] == "line 89"
    assert session.lines()[5].endswith(" ▾ 2 new  87%")
    assert session.reversed_text(5) == " ▾ 2 new  87% "


def test_prompts_are_gone_to() -> None:
    session = Session()
    for number in range(5):
        session.add(f"prompt {number}", is_prompt=True)
        session.add(*["answer"] * 10)
    session.screen.frame()

    session.press("ctrl+shift+up", "ctrl+shift+up")
    assert session.lines()[0] == "prompt 3"
    session.press("ctrl+shift+down")
    assert session.lines()[0] == "prompt 4"


def test_the_wheel_scrolls() -> None:
    session = numbered(100)

    assert session.mouse("wheel", 2, 2, button=0)
    assert session.lines()[0] == "line 91"
    assert session.mouse("wheel", 2, 2, button=1)
    assert session.lines()[0] == "line 94"


# Searching


def test_it_finds_while_one_types_and_steps_from_match_to_match() -> None:
    session = numbered(200)

    session.press("ctrl+shift+f", "e", "space", "5")
    assert session.lines()[5] == "/e 5"
    assert "line 59" in session.lines()
    assert session.terminal.cursor == (5, 4)

    session.press("enter", "n")
    assert "line 58" in session.lines()
    session.press("shift+n", "shift+n")
    assert "line 5" in session.lines()


def test_matches_are_marked() -> None:
    session = Session()
    session.add("a needle", "hay", "needles")
    session.screen.frame()

    session.press("ctrl+shift+f", *"needle")

    assert session.reversed_text(2) == "needle"
    assert session.reversed_text(0) == ""
    assert "".join(cell.text for cell in session.terminal.cells(0) if cell.style.underline) == "needle"


def test_it_says_when_there_is_nothing() -> None:
    session = numbered(10)

    session.press("ctrl+shift+f", *"zebra")

    assert session.lines()[5] == "/zebra               not found"


def test_escape_ends_the_search_and_stays_there() -> None:
    session = numbered(200)
    session.press("ctrl+shift+f", *"59")  # it searches between keys
    session.press("escape")

    assert "line 159" in session.lines()
    assert "/59" not in session.terminal.text()
    assert not session.press("n")


# Selecting


def test_what_is_selected_may_go_away() -> None:
    session = numbered(10)
    session.screen.frame()
    session.mouse("down", 1, 0)
    session.mouse("drag", 3, 3)

    session.document.replace([])
    session.mouse("up", 3, 3)

    assert session.copied == []


def test_dragging_selects_and_letting_go_copies() -> None:
    session = Session()
    session.add("first line", "second line")
    session.screen.frame()

    session.mouse("down", 0, 6)
    session.mouse("drag", 1, 5)
    assert (session.reversed_text(0), session.reversed_text(1)) == ("line", "second")
    session.mouse("up", 1, 5)

    assert session.copied == ["line\nsecond"]


def test_a_selection_may_begin_behind_the_end_of_a_line() -> None:
    session = Session()
    session.add("ab", "second")
    session.screen.frame()

    session.mouse("down", 0, 20)
    session.mouse("drag", 1, 2)

    assert session.lines()[0] == "ab"
    assert (session.reversed_text(0), session.reversed_text(1)) == ("", "sec")
    session.mouse("up", 1, 2)
    assert session.copied == ["\nsec"]


def test_a_click_selects_nothing_and_ends_the_selection() -> None:
    session = Session()
    session.add("first line")
    session.screen.frame()
    session.mouse("down", 0, 0)
    session.mouse("drag", 0, 4)
    session.mouse("up", 0, 4)

    session.mouse("down", 0, 2)
    session.mouse("up", 0, 2)

    assert session.copied == ["first"]
    assert session.reversed_text(0) == ""


def test_a_double_click_selects_a_word() -> None:
    session = Session()
    session.add("see src/a.py, please")
    session.screen.frame()

    for _ in range(2):
        session.mouse("down", 0, 6)
        session.mouse("up", 0, 6)

    assert session.copied == ["src/a.py"]


def test_dragging_over_the_edge_scrolls() -> None:
    session = numbered(20)

    session.mouse("down", 2, 0)
    session.mouse("drag", 0, 0)
    session.mouse("drag", 0, 0)
    session.mouse("up", 0, 0)

    assert session.lines()[0] == "line 12"
    assert session.copied == ["line 12\nline 13\nline 14\nline 15\nl"]


def test_the_mouse_in_the_dock_is_left_to_others() -> None:
    session = numbered(3)

    assert not session.mouse("down", 7, 3)
