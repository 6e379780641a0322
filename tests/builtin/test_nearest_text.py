"""A quote that is not in the file is answered with the most similar lines, without signs that a model could copy."""

import pytest

from kaa.builtin.nearest_text import describe_nearest

SOURCE = """\
import os

def first(items):
    for item in items:
        yield item

def second(items):
    total = sum(items)
    return total
"""


def test_the_nearest_lines_are_shown_as_they_are_in_the_file() -> None:
    text = describe_nearest(SOURCE, "def second(items):\n    total = max(items)\n    return total\n")

    assert text == (
        "The nearest text is lines 7-9:\n"
        "def second(items):\n"
        "    total = sum(items)\n"
        "    return total\n"
        "Quote the text of the file exactly."
    )


def test_white_space_is_named_when_only_it_differs() -> None:
    text = describe_nearest("if x:\n\tcall(x)\n", "if x:\n    call(x)")

    assert "\n\tcall(x)\n" in text
    assert "It differs only in white space (the file has tabs)." in text
    assert "only in white space." in describe_nearest("if x:\n  call(x)\n", "if x:\n    call(x)")


def test_a_quote_without_any_whole_line_of_the_file_is_found_by_its_words() -> None:
    text = describe_nearest(SOURCE, "totals = sum(items, start=0)")

    assert "The nearest text is line 8" in text


def test_rare_words_count_more_than_frequent_ones() -> None:
    source = "value = compute(value)\n" * 50 + "value = compute(special)\n" + "value = compute(value)\n" * 50

    assert "The nearest text is line 51" in describe_nearest(source, "value = compute(special, value)")


@pytest.mark.parametrize("source", ["", "\n\n", "completely different\n", "\r\r"])
def test_nothing_similar_is_said_plainly(source: str) -> None:
    assert describe_nearest(source, "def second(items):") == (
        "The file has nothing similar. Read it again and quote its text exactly."
    )


@pytest.mark.parametrize("quote", ["", "\n", "   ", "x", "\ud800"])
def test_a_quote_that_says_nothing_finds_nothing(quote: str) -> None:
    assert "nothing similar" in describe_nearest(SOURCE, quote)


def test_long_differences_are_cut_short() -> None:
    source = "\n".join(f"line number {n} of the file" for n in range(100))
    quote = "\n".join(f"line number {n} of the quote" for n in range(100))

    text = describe_nearest(source, quote)

    assert len(text.splitlines()) < 20
    assert "…" in text


def test_line_numbers_count_line_feeds_in_files_with_other_endings() -> None:
    assert "The nearest text is line 3" in describe_nearest("a\r\nb\r\ncall(one)\r\n", "call(two, one)")
    assert "The nearest text is line 2" in describe_nearest("a\rcall(one)\r", "call(two, one)")


def test_a_quote_that_would_begin_before_the_file_is_placed_at_its_start() -> None:
    assert "The nearest text is line" in describe_nearest("    total = sum(items)\n", "x\ny\ntotal = sum(items)\n")
