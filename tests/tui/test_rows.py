from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.tui.alternate_screen import Rows
from kaa.tui.width import fit, plain
from tests.support.screen import Screen

LINES = st.sampled_from(
    ["", "short", "漢字かな漢字", "\x1b[44mfull row!!!!\x1b[0m", "x" * 30, "─" * 12, "🇩🇪 👩\u200d💻 e\u0301"]
)
CURSORS = st.none() | st.tuples(st.integers(0, 3), st.integers(0, 12))


@settings(deadline=None)
@given(st.lists(st.tuples(st.lists(LINES, min_size=4, max_size=4), CURSORS), max_size=10))
def test_the_screen_shows_the_last_frame_whatever_was_before(
    frames: list[tuple[list[str], tuple[int, int] | None]],
) -> None:
    terminal = Screen(12, 4)
    terminal.feed("before\r\n" * 9 + "\x1b[?1049h")
    rows = Rows(terminal.feed)
    for lines, cursor in frames:
        rows.show(lines, cursor, 12)

        assert terminal.lines() == [plain(fit(line, 12)).rstrip() for line in lines]
        assert terminal.cursor_visible == (cursor is not None)
        if cursor:
            assert terminal.cursor == (cursor[0], min(cursor[1], 11))


def test_a_frame_is_one_write_and_one_that_changes_nothing_is_none() -> None:
    writes: list[str] = []
    rows = Rows(writes.append)

    rows.show(["a", "b"], (0, 0), 10)
    rows.show(["a", "b"], (0, 0), 10)

    (written,) = writes
    assert written.startswith("\x1b[?2026h")
    assert written.endswith("\x1b[?2026l")


def test_a_picture_is_sent_after_the_rows_that_it_covers_and_taken_off_when_it_moves() -> None:
    writes: list[str] = []
    rows = Rows(writes.append)
    picture = "\x1b_Ga=T,i=5,r=2;AAAA\x1b\\"
    rows.show([picture, "", "text"], None, 10)
    assert writes[0].index("text") < writes[0].index("\x1b_G")

    rows.show(["text", picture, ""], None, 10)

    assert "a=d,d=i,i=5" in writes[1]
    assert writes[1].index("a=d") < writes[1].index("a=T")
