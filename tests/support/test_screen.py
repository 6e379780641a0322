"""The emulated terminal shows what terminals show; where tmux is installed, it is compared with it."""

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.screen import Screen
from tests.support.screen_style import Style


def shown(*pieces: str, columns: int = 10, rows: int = 3) -> Screen:
    screen = Screen(columns, rows)
    for piece in pieces:
        screen.feed(piece)
    return screen


# Writing


def test_text_wraps_at_the_edge_and_scrolls_at_the_bottom() -> None:
    screen = shown("one line that is long\r\ntwo\r\nthree")

    assert screen.scrollback() == ["one line t", "hat is lon"]
    assert screen.lines() == ["g", "two", "three"]
    assert screen.cursor == (2, 5)


def test_what_exceeds_a_line_without_wrapping_overwrites_its_last_cell() -> None:
    assert shown("\x1b[?7l0123456789abc").lines() == ["012345678c", "", ""]


def test_a_wide_character_that_does_not_fit_without_wrapping_is_not_shown() -> None:
    assert shown("\x1b[?7l012345678日").lines() == ["012345678", "", ""]


def test_a_wide_character_that_does_not_fit_wraps() -> None:
    assert shown("012345678日").lines() == ["012345678", "日", ""]


def test_a_full_line_wraps_only_with_the_next_character() -> None:
    screen = shown("0123456789")

    assert screen.cursor == (0, 9)
    screen.feed("\r\nx")
    assert screen.lines() == ["0123456789", "x", ""]


def test_erasing_after_a_full_line_takes_its_last_cell() -> None:
    assert shown("0123456789\x1b[K").lines() == ["012345678", "", ""]


def test_a_line_feed_after_a_full_line_moves_down_once() -> None:
    assert shown("0123456789\nx").lines() == ["0123456789", "         x", ""]


def test_overwriting_half_of_a_wide_character_removes_the_other() -> None:
    assert shown("日本\x1b[1;2Hx").lines() == [" x本", "", ""]
    assert shown("日本\x1b[1;3Hx").lines() == ["日x", "", ""]


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("a", 1),
        ("日", 2),
        ("e\u0301", 1),
        ("👩\u200d💻", 2),
        ("🇩🇪", 2),
        ("❤\ufe0f", 2),
        ("👍🏽", 2),
        ("5\ufe0f\u20e3", 2),
    ],
)
def test_graphemes_are_measured_whole_however_they_arrive(text: str, width: int) -> None:
    assert shown(text).cursor == (0, width)
    screen = shown(*text)
    assert screen.cursor == (0, width)
    assert screen.lines()[0] == text


def test_a_terminal_without_graphemes_measures_code_points() -> None:
    screen = Screen(10, 3, graphemes=False)

    screen.feed("👩\u200d💻e\u0301")

    assert screen.cursor == (0, 5)


def test_the_last_grapheme_can_be_repeated() -> None:
    assert shown("日\x1b[3b").lines()[0] == "日日日日"


def test_bytes_may_be_cut_anywhere() -> None:
    data = "\x1b[1;31mé日\x1b]2;title\x1b\\\x1b[0mx".encode()
    screen = Screen(10, 3)

    for byte in data:
        screen.feed(bytes([byte]))

    assert screen.lines()[0] == "é日x"
    assert screen.title == "title"
    assert screen.unknown == []


# Styles


@pytest.mark.parametrize(
    "sequence", ["\x1b[?25h", "\x1b[>4;2m", "\x1b[!p", "\x1b[2 q", "\x1b]2;title\x1b\\", "\x1b[38;5;1m"]
)
def test_sequences_may_be_cut_anywhere(sequence: str) -> None:
    for cut in range(1, len(sequence)):
        screen = shown(sequence[:cut], sequence[cut:] + "text")

        assert screen.unknown == []
        assert screen.lines() == ["text", "", ""]


@pytest.mark.parametrize(
    ("sgr", "style"),
    [
        ("1;2;3;4;9", Style(bold=True, dim=True, italic=True, underline=True, strike=True)),
        ("31;102", Style("red", "bright green")),
        ("38;5;208;48;5;9", Style("#ff8700", "bright red")),
        ("38;2;1;2;3", Style("#010203")),
        ("38:2::1:2:3", Style("#010203")),
        ("4:3;58;5;9", Style(underline=True)),
        ("7;1;22;27", Style()),
        ("31;0", Style()),
        ("", Style()),
    ],
)
def test_styles_of_cells(sgr: str, style: Style) -> None:
    (cell, *_) = shown(f"\x1b[{sgr}mx").cells(0)

    assert cell == ("x", style)


def test_links_belong_to_the_style() -> None:
    cells = shown("\x1b]8;;https://example.org\x1b\\ab\x1b]8;;\x1b\\c").cells(0)

    assert [cell.style.link for cell in cells[:3]] == ["https://example.org", "https://example.org", ""]


def test_erased_cells_have_the_background_and_nothing_else() -> None:
    screen = shown("\x1b[1;4;41mx\x1b[K")

    assert screen.cells(0)[5].style == Style(background="red")


# Scrolling


def test_only_lines_that_leave_at_the_top_are_kept() -> None:
    screen = shown("a\r\nb\r\nc\x1b[2;3r\x1b[3;1H\nd")

    assert screen.lines() == ["a", "c", "d"]
    assert screen.scrollback() == []


def test_scrolling_up_and_down() -> None:
    screen = shown("a\r\nb\r\nc\x1b[S")
    assert (screen.lines(), screen.scrollback()) == (["b", "c", ""], ["a"])

    screen.feed("\x1b[2T")
    assert screen.lines() == ["", "", "b"]


def test_lines_are_inserted_and_deleted() -> None:
    assert shown("a\r\nb\r\nc\x1b[2;1H\x1b[L").lines() == ["a", "", "b"]
    assert shown("a\r\n\r\nc\x1b[1;1H\x1b[M").lines() == ["", "c", ""]


def test_characters_are_inserted_and_deleted() -> None:
    assert shown("0123456789\x1b[1;3H\x1b[2@").lines()[0] == "01  234567"
    assert shown("0123456789\x1b[1;3H\x1b[2P").lines()[0] == "01456789"


def test_wiping_the_scrollback_is_counted() -> None:
    screen = shown("a\r\nb\r\nc\r\nd\x1b[3J")

    assert (screen.wipes, screen.scrollback(), screen.lines()) == (1, [], ["b", "c", "d"])


# The terminal


def test_the_alternate_screen_keeps_the_main_one() -> None:
    screen = shown("a\r\nb\r\nc\r\nd\x1b[?1049h\x1b[Hother")
    assert (screen.in_alternate_screen, screen.lines()[0]) == (True, "other")

    screen.feed("\n\n\n\n\x1b[?1049lx")
    assert (screen.in_alternate_screen, screen.scrollback(), screen.lines()) == (False, ["a"], ["b", "c", "dx"])


def test_a_synchronized_frame_appears_at_its_end() -> None:
    screen = shown("old\x1b[?2026h\x1b[2J\x1b[Hnew")
    assert screen.lines()[0] == "old"

    screen.feed("er\x1b[?2026l")
    assert (screen.lines()[0], screen.frames) == ("newer", 1)


def test_a_terminal_that_does_not_synchronize_shows_everything() -> None:
    screen = Screen(10, 3, synchronized=False)

    screen.feed("\x1b[?2026hnew")

    assert screen.lines()[0] == "new"


def test_strings_are_kept_and_not_shown() -> None:
    screen = shown(
        "\x1b]0;one\x07\x1b[22;0t\x1b]2;two\x1b\\\x1b]52;c;aGk=\x07\x1b]9;done\x07\x1b]777;notify;a;b\x07\x1b]9;4;1;50\x07"
        "\x1b_Ga=T,f=100;AAAA\x1b\\\x1b]133;A\x07"
    )
    assert screen.lines() == ["", "", ""]
    assert (screen.title, screen.clipboard, screen.images) == ("two", "hi", 1)
    assert (screen.notifications, screen.progress, screen.marks) == (["done", "a;b"], "1;50", [("A", 0)])

    screen.feed("\x1b[23;0t")
    assert screen.title == "one"


def test_the_cursor_is_hidden_and_shaped() -> None:
    screen = shown("\x1b[?25l\x1b[5 q")

    assert (screen.cursor_visible, screen.cursor_style) == (False, 5)


def test_the_saved_cursor_is_restored_as_often_as_wanted() -> None:
    screen = shown("ab\x1b7cd\x1b8X\x1b8Y")

    assert screen.lines()[0] == "abYd"


def test_sequences_with_a_prefix_are_not_those_without() -> None:
    screen = shown("ab\x1b7cd\x1b[>1u\x1b[>4;2mx")

    assert screen.lines()[0] == "abcdx"
    assert screen.keyboard == 1
    assert screen.cells(0)[4].style == Style()


def test_each_screen_has_its_own_stack_of_keyboard_flags() -> None:
    screen = shown("\x1b[>1u\x1b[?1049h")
    assert screen.keyboard == 0

    screen.feed("\x1b[>7u\x1b[?1049l")
    assert screen.keyboard == 1
    screen.feed("\x1b[=4;2u")
    assert screen.keyboard == 5
    screen.feed("\x1b[<u")
    assert screen.keyboard == 0


def test_questions_are_answered() -> None:
    screen = shown("ab\x1b[6n\x1b[c\x1b[?u\x1b]11;?\x07\x1b[?2026$p\x1b[?25$p\x1b[?9999$p\x1b[16t")

    assert screen.replies == [
        "\x1b[1;3R",
        "\x1b[?62;22c",
        "\x1b[?0u",
        "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
        "\x1b[?2026;2$y",
        "\x1b[?25;1$y",
        "\x1b[?9999;0$y",
        "\x1b[6;18;9t",
    ]


def test_a_terminal_may_answer_nothing_or_some() -> None:
    silent, some = Screen(answers="none"), Screen(answers=frozenset({"cursor"}))

    for screen in (silent, some):
        screen.feed("\x1b[6n\x1b[?u\x1b[>1u")

    assert (silent.replies, some.replies) == ([], ["\x1b[1;1R"])
    assert silent.queries == some.queries == ["cursor", "kitty-keyboard"]
    assert silent.keyboard == 0


def test_what_is_not_known_is_told() -> None:
    assert shown("\x1b[5;5z\x1b]999;x\x07\x1b(0").unknown == ["CSI 5;5z", "OSC 999;x", "ESC (0"]


# Another size


def test_a_lower_screen_gives_its_top_to_the_scrollback_and_a_higher_one_takes_it_back() -> None:
    screen = shown(*(f"{n}\r\n" for n in range(5)), "prompt", rows=6)

    screen.resize(10, 3)
    assert (screen.scrollback(), screen.lines()) == (["0", "1", "2"], ["3", "4", "prompt"])

    screen.resize(10, 5)
    assert (screen.scrollback(), screen.lines()) == (["0"], ["1", "2", "3", "4", "prompt"])
    assert screen.cursor == (4, 6)


def test_rows_below_the_cursor_go_first() -> None:
    screen = shown("a\r\nb", rows=6)

    screen.resize(10, 3)

    assert (screen.scrollback(), screen.lines(), screen.cursor) == ([], ["a", "b", ""], (1, 1))


def test_some_terminals_take_nothing_back() -> None:
    screen = Screen(10, 4, pulls_back=False)
    screen.feed("a\r\nb\r\nc\r\nd")

    screen.resize(10, 2)
    screen.resize(10, 4)

    assert (screen.scrollback(), screen.lines()) == (["a", "b"], ["c", "d", "", ""])


def test_a_narrower_screen_cuts_or_reflows() -> None:
    cutting, reflowing = Screen(10, 3), Screen(10, 3, reflows=True)
    for screen in (cutting, reflowing):
        screen.feed("0123456789abc\r\nx")
        screen.resize(5, 3)

    assert cutting.everything() == ["01234", "abc", "x"]
    assert reflowing.everything() == ["01234", "56789", "abc", "x"]
    assert reflowing.cursor == (2, 1)
    reflowing.resize(20, 3)
    assert reflowing.everything() == ["0123456789abc", "x", ""]


@given(
    st.lists(st.text(st.sampled_from("ab "), max_size=30), max_size=6),
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 12)), max_size=4),
)
def test_no_resize_of_a_reflowing_terminal_loses_text(lines: list[str], sizes: list[tuple[int, int]]) -> None:
    screen = Screen(12, 5, reflows=True)
    screen.feed("\r\n".join(lines))
    before = "".join("".join(screen.everything()).split())

    for columns, rows in sizes:
        screen.resize(columns, rows)

    assert "".join("".join(screen.everything()).split()) == before


# Against tmux

_PIECES = st.one_of(
    st.text(st.sampled_from("abcdefgh é─"), min_size=1, max_size=30),
    st.sampled_from(["\r\n", "\r", "\t", "\r\x1b[5C\b", "\x1b7", "\x1b8", "\r\x1bM", "\x1bE"]),
    st.builds("\x1b[{}{}".format, st.integers(0, 9), st.sampled_from(list("ABCDEFGSTd"))),
    # tmux ignores these behind a full line, and does not go to the left; a backspace leaves it in the last cell there.
    st.builds("\x1b[4;{}H\x1b[{}{}".format, st.integers(1, 9), st.integers(0, 9), st.sampled_from(list("PX@"))),
    st.builds("\x1b[4;1H\x1b[{}{}".format, st.integers(0, 9), st.sampled_from(list("LM"))),
    # Behind a full line, tmux erases nothing and terminals erase the last cell.
    st.builds("\x1b[{}G\x1b[{}{}".format, st.integers(1, 25), st.integers(0, 2), st.just("K")),
    st.builds("\x1b[{}G\x1b[{}{}".format, st.integers(1, 25), st.integers(0, 1), st.just("J")),
    st.builds("\x1b[{};{}H".format, st.integers(1, 9), st.integers(1, 25)),
    st.builds("\x1b[{};{}r".format, st.integers(1, 4), st.integers(5, 8)),  # row 4 is in it
    st.sampled_from(["\x1b[?7l", "\x1b[?7h"]),
)


class Tmux:
    """tmux as a screen to compare with: it shows what a program prints."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._command = ["tmux", "-L", f"kaa-test-{uuid.uuid4().hex}", "-f", "/dev/null"]
        self._environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color", "HOME": str(folder)}
        # A server without sessions ends, perhaps while the next one is asked for.
        self._run("new-session", "-d", "-s", "keeper", "exec sleep 1000")

    def _run(self, *arguments: str) -> str:
        return subprocess.run(
            [*self._command, *arguments], env=self._environ, check=True, capture_output=True, encoding="utf-8"
        ).stdout

    def lines(self, data: str, columns: int, rows: int) -> list[str]:
        (self._folder / "data").write_bytes(data.encode())
        show = f"stty raw -echo; cat {self._folder / 'data'}; tmux wait-for -S done; exec sleep 1000"
        self._run("new-session", "-d", "-s", "s", "-x", str(columns), "-y", str(rows), show)
        try:
            self._run("wait-for", "done")
            return [line.rstrip() for line in self._run("capture-pane", "-p", "-t", "s").split("\n")[:rows]]
        finally:
            self._run("kill-session", "-t", "s")

    def close(self) -> None:
        subprocess.run([*self._command, "kill-server"], env=self._environ, check=False, capture_output=True)


@pytest.fixture(scope="module")
def tmux(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    tmux = Tmux(tmp_path_factory.mktemp("tmux"))
    yield tmux
    tmux.close()


@given(st.lists(_PIECES, max_size=30))
def test_it_shows_what_tmux_shows(tmux: Tmux, pieces: list[str]) -> None:
    screen = Screen(20, 8)

    screen.feed("".join(pieces))

    assert screen.lines() == tmux.lines("".join(pieces), 20, 8)
