"""Positions in UTF-16 code units, and changes of texts."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.lsp.structure import Range, TextDocument, TextEdit, TextPosition

_TEXTS = st.text(alphabet="ab\n\r\U0001f600é", max_size=30)


def _edit(start: tuple[int, int], end: tuple[int, int], text: str) -> TextEdit:
    return TextEdit(Range(TextPosition(*start), TextPosition(*end)), text)


def test_characters_outside_the_basic_plane_count_twice() -> None:
    text = TextDocument("\U0001f600 name\n")

    assert text.position(0, 2) == TextPosition(0, 3)
    assert text.offset(TextPosition(0, 3)) == 2


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_the_protocol_says(end: str) -> None:
    text = TextDocument(f"one{end}two")

    assert text.line(1) == "two"
    assert text.line(2) == ""
    assert text.edited([_edit((1, 0), (1, 3), "2")]) == f"one{end}2"


def test_several_changes_name_places_in_the_text_as_it_was() -> None:
    assert (
        TextDocument("a b c").edited([_edit((0, 4), (0, 5), "third"), _edit((0, 0), (0, 1), "first")])
        == "first b third"
    )


def test_changes_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        TextDocument("abc").edited([_edit((0, 0), (0, 2), "x"), _edit((0, 1), (0, 3), "y")])


@given(_TEXTS, st.integers(0, 6), st.integers(0, 40))
def test_any_position_is_in_the_text(content: str, line: int, character: int) -> None:
    assert 0 <= TextDocument(content).offset(TextPosition(line, character)) <= len(content)


@given(_TEXTS)
def test_the_start_of_each_line_is_where_it_begins(content: str) -> None:
    text = TextDocument(content)
    lines = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    assert [text.line(number) for number in range(len(lines))] == lines
    assert [
        text.offset(text.position(n, len(one))) - text.offset(TextPosition(n, 0)) for n, one in enumerate(lines)
    ] == [len(one) for one in lines]


def test_a_text_of_very_many_lines_takes_no_time() -> None:
    began = time.monotonic()

    text = TextDocument("a line of forty characters, or about so\n" * 200_000)

    assert text.line(199_999).startswith("a line")
    assert time.monotonic() - began < 3  # by a search from each line to the end: more than 10
