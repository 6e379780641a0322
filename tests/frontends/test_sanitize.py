from hypothesis import given
from hypothesis import strategies as st

from kaa.frontends.sanitize import sanitize


@given(st.text())
def test_nothing_a_terminal_acts_on_is_left(text: str) -> None:
    clean = sanitize(text)

    assert not {char for char in clean if (ord(char) < 32 and char not in "\n\t") or 0x7F <= ord(char) < 0xA0}
    assert not set(clean) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


@given(st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs")) | st.sampled_from("\n\t")))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert sanitize(text) == text


def test_windows_line_endings_are_no_noise() -> None:
    assert sanitize("a\r\nb\rc") == "a\nb\\x0dc"
