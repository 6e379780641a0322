"""Edits change what they quote and not one byte more, whatever the encoding and line endings."""

import codecs
import re
import unicodedata
from typing import Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kaa.builtin.replacement import EditError, Replacement
from kaa.builtin.text_edit import edit_bytes
from tests.support.tables import each

ENCODINGS = {
    "utf-8": b"",
    "utf-8-sig": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "latin-1": b"",
}
LINES = st.text(alphabet="ab \té", max_size=6)
ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])
TEXTS = st.lists(st.tuples(LINES, ENDINGS), min_size=1, max_size=8).map(
    lambda lines: "".join(body + ending for body, ending in lines)
)


def edit(data: bytes, *pairs: tuple[str, str]) -> bytes:
    return edit_bytes(data, [Replacement(old, new) for old, new in pairs]).data


def edit_text(text: str, *pairs: tuple[str, str]) -> str:
    return edit(text.encode(), *pairs).decode()


def failure(data: bytes | str, *pairs: tuple[str, str]) -> str:
    with pytest.raises(EditError) as caught:
        edit(data.encode() if isinstance(data, str) else data, *pairs)
    return str(caught.value)


def encoded(text: str, encoding: str) -> bytes:
    return ENCODINGS[encoding] + text.encode(encoding.removesuffix("-sig"))


def splits_crlf(text: str, position: int) -> bool:
    return text[max(position - 1, 0) : position + 1] == "\r\n"


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)), st.data())
def test_bytes_outside_of_the_span_stay_and_the_inverse_edit_restores_the_file(
    text: str, encoding: str, choice: st.DataObject
) -> None:
    # An "é" outside of the span keeps the encoding recognisable after the edit; "Z" is nowhere else.
    text = f"é{text}é\n"
    start = choice.draw(st.integers(0, len(text) - 2))
    end = choice.draw(st.integers(start + 1, len(text) - 1))
    assume(not splits_crlf(text, start) and not splits_crlf(text, end))
    quote = text[start:end]
    assume(len(re.findall(f"(?={re.escape(quote)})", text)) == 1)
    assume("é" in text[:start] + text[end:])
    before, after = encoded(text[:start], encoding), text[end:].encode(encoding.removesuffix("-sig"))

    edited = edit(encoded(text, encoding), (quote, "ZZ"))

    assert edited == before + "ZZ".encode(encoding.removesuffix("-sig")) + after
    if "\r" not in quote and "\n" not in quote:
        assert edit(edited, ("ZZ", quote)) == encoded(text, encoding)


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)), st.data())
def test_context_quoted_loosely_keeps_its_bytes(text: str, encoding: str, choice: st.DataObject) -> None:
    lines = re.findall(r"[^\r\n]*(?:\r\n|\n|\r)", text)
    position = choice.draw(st.integers(0, len(lines)))
    text = "é\n" + "".join([*lines[:position], "target\r\n", *lines[position:]])
    quote = re.sub(r"[ \t]*(\r\n|\n|\r)", "\n", text)
    assume("\r\r\n" not in text)

    edited = edit(encoded(text, encoding), (quote, quote.replace("target", "changed\nand more")))

    assert edited == encoded(text.replace("target\r\n", "changed\r\nand more\r\n"), encoding)


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_any_bytes_around_a_span_survive(before: bytes, after: bytes) -> None:
    data = before + b"<unique span>" + after
    encoding_is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and len(data) % 2 == 0
    assume(not encoding_is_wide)

    assert edit(data, ("<unique span>", "other")) == before + b"other" + after


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_new_lines_get_the_ending_of_the_lines_around(ending: str) -> None:
    text = ending.join(["one", "two", "three", ""])

    assert edit_text(text, ("two", "2a\n2b")) == ending.join(["one", "2a", "2b", "three", ""])
    assert edit_text(text, ("one\ntwo\n", "1\n1.5\n2\n")) == ending.join(["1", "1.5", "2", "three", ""])
    assert edit_text(text, ("three\n", "three\nfour\n")) == ending.join(["one", "two", "three", "four", ""])


def test_in_a_mixed_file_every_replaced_line_keeps_its_own_ending() -> None:
    assert edit_text("a\r\nb\nc\rd\n", ("a\nb\nc\n", "A\nB\nC\n")) == "A\r\nB\nC\rd\n"


def test_a_file_without_line_breaks_gets_line_feeds() -> None:
    assert edit_text("one two", (" ", "\n")) == "one\ntwo"


def test_the_last_line_takes_the_ending_before_it() -> None:
    assert edit_text("one\r\ntwo", ("two", "two\nthree")) == "one\r\ntwo\r\nthree"


def test_a_quote_never_cuts_a_line_ending_in_two() -> None:
    assert edit_text("one\r\ntwo\r\n", ("\ntwo", " two")) == "one two\r\n"


def test_a_lone_carriage_return_in_the_quote_finds_any_ending() -> None:
    assert edit_text("one\ntwo\n", ("one\rtwo", "1\r2")) == "1\n2\n"


def test_trailing_blanks_of_context_lines_survive() -> None:
    text = "def f():  \n    a = 1\t\n    b = 2   \n    return a  \n"

    edited = edit_text(text, ("def f():\n    a = 1\n    b = 2\n", "def f():\n    a = 1\n    b = 3\n"))

    assert edited == "def f():  \n    a = 1\t\n    b = 3\n    return a  \n"


def test_blanks_after_the_end_of_a_quote_stay() -> None:
    assert edit_text("a \nlast   \n", ("a\nlast", "a\nfinal")) == "a \nfinal   \n"


def test_blanks_that_only_the_quote_has_are_tolerated_at_line_ends_only() -> None:
    assert edit_text("value\nrest\n", ("value  \nrest", "value  \nREST")) == "value\nREST\n"
    assert edit_text("value\nvalues\n", ("value ", "other")) == "other\nvalues\n"


@each(
    ("file", "quote"),
    [
        ("say “hi” — it\u2019s fine", 'say "hi" - it\'s fine'),
        ("a\u00a0b\u202fc\u3000d", "a b c d"),
        ("caf\u0065\u0301 x", "caf\u00e9 x"),
        ("caf\u00e9 x", "cafe\u0301 x"),
        ("ﬁle ①", "file 1"),
        ("\ud55c\uae00", unicodedata.normalize("NFD", "\ud55c\uae00")),
    ],
)
def test_typography_and_normal_forms_are_tolerated(file: str, quote: str) -> None:
    text = f"before “kept”\n\t{file}\nafter  \n"

    assert edit_text(text, (quote, "new")) == "before “kept”\n\tnew\nafter  \n"


VARIED = st.text(alphabet="ae\u0301\u0308 \t\u00a0éﬁ①“”\u2019\u2014한\u1112\u1161\n", max_size=12)
PLAIN = str.maketrans({"“": '"', "”": '"', "\u2019": "'", "\u2014": "-"})


@given(VARIED, VARIED, VARIED, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), st.sampled_from(["\n", "\r\n"]))
def test_a_quote_in_any_normal_form_replaces_exactly_what_it_means(
    before: str, quoted: str, after: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"], ending: str
) -> None:
    text = f"{before}<{quoted}>.{after}".replace("\n", ending)
    quote = "\n".join(line.rstrip(" \t") for line in unicodedata.normalize(form, f"<{quoted}>").split("\n"))

    edited = edit_text(text, (quote.translate(PLAIN), "new"))

    assert edited == f"{before}new.{after}".replace("\n", ending)


def test_a_quote_never_cuts_a_character_in_two() -> None:
    assert "was not found" in failure("x ﬁ y\n", ("i y  \n", "z\n"))
    assert "was not found" in failure("cafe\u0301!  \n", ("cafe\n", "tea\n"))


def test_the_strictest_match_decides() -> None:
    assert edit_text("it\u2019s\nit's\n", ("it's", "it is")) == "it\u2019s\nit is\n"


def test_a_missing_line_break_at_the_end_of_the_file_is_tolerated_and_stays_missing() -> None:
    assert edit_text("one\nlast", ("last\n", "final\n")) == "one\nfinal"
    assert edit_text("one\nlast", ("one\nlast\n", "")) == ""
    assert edit_text("one\nlast", ("last\n", "last\nmore\n")) == "one\nlast\nmore"


def test_several_edits_are_matched_against_the_original_in_any_order() -> None:
    assert edit_text("a\nb\nc\n", ("c", "a"), ("a", "b"), ("b", "c")) == "b\nc\na\n"


def test_edits_may_touch() -> None:
    assert edit_text("ab\n", ("a", "1"), ("b", "2")) == "12\n"


def test_edits_that_overlap_are_refused() -> None:
    message = failure("one\ntwo\nthree\n", ("two\nthree", "x"), ("one\ntwo", "y"))

    assert message == "edits[1] and edits[0] overlap in line 2. Merge them into one edit."


def test_one_failing_edit_names_itself_and_fails_all() -> None:
    assert failure("one\ntwo\n", ("one", "1"), ("", "2")).startswith("oldText of edits[1] is empty.")


def test_replacing_text_by_itself_is_refused() -> None:
    assert "identical" in failure("one\n", ("one", "one"))
    assert "line endings" in failure("one\r\n", ("one\r\n", "one\n"))
    assert "has newText already" in failure("“one”\n", ('"one"', "“one”"))


def test_ambiguous_text_is_refused_with_the_lines_of_all_occurrences() -> None:
    message = failure("x = 1\ny = 2\nx = 1\n", ("x = 1", "x = 2"))

    assert message == (
        "oldText of the edit occurs 2 times, in lines 1, 3. Quote more of the lines around to make it unique."
    )


def test_overlapping_occurrences_are_ambiguous() -> None:
    assert "occurs 2 times, in lines 1, 1" in failure("aaa\n", ("aa", "b"))


def test_a_flood_of_occurrences_names_only_the_first_lines() -> None:
    message = failure("x\n" * 5000, ("x", "y"))

    assert "at least 1000 times, in lines 1, 2, 3," in message
    assert message.count(",") < 30


def test_deleting_a_whole_file_is_possible() -> None:
    assert edit(codecs.BOM_UTF8 + b"all\n", ("all\n", "")) == codecs.BOM_UTF8


def test_characters_the_encoding_cannot_hold_are_refused() -> None:
    message = failure("café\n".encode("latin-1"), ("caf", "→"))

    assert message.startswith("Latin-1 text cannot hold '→' (U+2192).")
    assert "write" in message


def test_new_characters_are_stored_in_the_encoding_of_the_file() -> None:
    assert edit("naïve x".encode("latin-1"), ("x", "café")) == "naïve café".encode("latin-1")
    assert edit("a x".encode("utf-16"), ("x", "→")) == "a →".encode("utf-16")
    assert edit(b"a x", ("x", "→")) == "a →".encode()


def test_a_few_broken_bytes_do_not_hinder_an_edit() -> None:
    data = "good é é\n".encode() + b"bad \xff\n" + b"x\n"

    assert edit(data, ("x", "→")) == "good é é\n".encode() + b"bad \xff\n" + "→\n".encode()


def test_changes_are_the_lines_that_differ() -> None:
    replacement = Replacement("a\nb\nc\nd\n", "a\nB\nc\nD\n")

    edited = edit_bytes(b"a\nb\nc\nd\n", [replacement])

    assert [(change.start, change.end, change.new) for change in edited.changes] == [(2, 4, "B\n"), (6, 8, "D\n")]


@given(st.integers(0, 400), st.sampled_from(["\n", "\r\n"]))
def test_a_long_replacement_of_alternating_lines_stays_exact(count: int, ending: str) -> None:
    text = f"start{ending}" + f"old{ending}{ending}" * count + f"end{ending}"
    quote, new = "start\n" + "old\n\n" * count + "end", "begin\n" + "new\n\n" * count + "end"

    assert edit_text(text, (quote, new)) == new.replace("\n", ending) + ending
