"""Terminal output as plain text."""

from hypothesis import given
from hypothesis import strategies as st

from kaa.core.terminal_text import plain_text
from tests.support.tables import each


@each(
    ("output", "plain"),
    [
        ("plain\n\ttext ", "plain\n\ttext "),
        ("\x1b[1;31mred\x1b[0m and \x1b[38;2;1;2;3mrgb\x1b[m", "red and rgb"),
        ("\x1b]0;title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "text link"),
        ("\x1b]unterminated title\nnext", "\nnext"),
        ("\x1b(Bascii\x1b=keypad\x1b7", "asciikeypad"),
        ("end \x1b", "end "),
        ("end \x1b[", "end "),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        (" 10%\r 50%\r100%\n done", "100%\n done"),
        ("100%\r", "100%"),
        ("\x1b[2K\rstep 1\x1b[2K\rstep 2\n", "step 2\n"),
        ("N\x08NA\x08AM\x08ME\x08E", "NAME"),
        ("bell\x07 null\x00 \x9b", "bell null "),
    ],
)
def test_what_a_reader_would_have_seen_remains(output: str, plain: str) -> None:
    assert plain_text(output) == plain


@given(st.text(alphabet="a1;?[]()\\\x1b\x07\x08\r\n\x9b"))
def test_no_escape_remains_and_no_line_is_lost(output: str) -> None:
    plain = plain_text(output)

    assert not set(plain) & set("\x1b\x07\x08\r\x9b")
    assert plain.count("\n") == output.count("\n")
