from hypothesis import given
from hypothesis import strategies as st

from kaa.frontends.interactive.transcript.excerpt import beginning, head, tail

TEXTS = st.text("ab\n", max_size=30)
COUNTS = st.integers(1, 6)


def lines_of(text: str) -> list[str]:
    text = text.removesuffix("\n")
    return text.split("\n") if text else []


def shown_of(text: str, count: int) -> int:
    """A line more where one alone would be hidden."""
    return count + 1 if len(lines_of(text)) == count + 1 else count


@given(TEXTS, COUNTS)
def test_head_is_the_first_lines_and_counts_the_others(text: str, count: int) -> None:
    excerpt = head(text, count)

    assert excerpt.lines == lines_of(text)[: shown_of(text, count)]
    assert len(excerpt.lines) + excerpt.hidden == len(lines_of(text))


@given(TEXTS, COUNTS)
def test_tail_is_the_last_lines_and_counts_the_others(text: str, count: int) -> None:
    excerpt = tail(text, count)

    assert excerpt.lines == lines_of(text)[-shown_of(text, count) :]
    assert len(excerpt.lines) + excerpt.hidden == len(lines_of(text))


def test_a_line_of_megabytes_is_cut() -> None:
    assert len(head("x" * 5_000_000, 5).lines[0]) < 5000
    assert len(tail("x" * 5_000_000, 5).lines[0]) < 5000


def test_excerpts_are_harmless() -> None:
    assert head("\x1b[2Ja\tb", 1).lines == ["\\x1b[2Ja    b"]


def test_a_beginning_has_no_line_feeds() -> None:
    assert beginning("a\n  b\tc") == "a b c"
    assert beginning("x" * 50, 10) == "x" * 10 + " [cut]"
    assert beginning("x" * 5_000_000, 10) == "x" * 10 + " [cut]"
