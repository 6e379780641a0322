"""What is typed to find a session."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.session.catalogue.matching import Query, QueryError
from kaa.session.catalogue.records import SessionSummary
from tests.support.strategies import foreign_text


def summary(name: str | None = None, first_message: str = "", cwd: str = "/home/u/p") -> SessionSummary:
    return SessionSummary(Path("/s.jsonl"), "01a1", cwd, name, first_message, 0, 0, 1, None, 0, "kaa")


def score(text: str, of: SessionSummary) -> float:
    """0 if it does not match."""
    return Query.parse(text).score(of) or 0.0


def test_nothing_matches_everything() -> None:
    for text in ("", "  ", '"', "re:", "re: "):
        assert Query.parse(text).is_empty
        assert Query.parse(text).score(summary()) == 0.0


def test_all_words_must_be_there_in_any_order_and_any_case() -> None:
    one = summary(first_message="Fix the PARSER today")

    assert score("parser fix", one)
    assert not score("parser tomorrow", one)


def test_letters_in_order_find_a_word_but_not_any_long_text() -> None:
    assert score("rdhd", summary("look at read_head"))
    assert not score("rdhd", summary("rather long texts do have all of the letters, far apart, and hardly in one word"))


def test_words_as_they_are_come_before_parts_and_letters_in_order() -> None:
    scores = [score("read", summary(name)) for name in ("read it", "bread it", "r-e-a-d it")]

    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3


def test_a_name_counts_more_than_the_first_message_and_that_more_than_the_place() -> None:
    scores = [score("tree", one) for one in (summary("tree"), summary(None, "tree"), summary(cwd="/tree"))]

    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3


def test_a_phrase_is_found_as_it_stands_and_across_lines() -> None:
    assert score('"the parser"', summary(first_message="fix the\n  Parser"))
    assert not score('"parser the"', summary(first_message="fix the parser"))
    assert score('"fix the pars', summary(first_message="fix the parser")), "not closed yet"


def test_a_regular_expression_is_one() -> None:
    assert score(r"re:pars\w+$", summary("the parser"))
    assert not score(r"re:^parser", summary("the parser"))
    with pytest.raises(QueryError, match=r"'\(' is not a regular expression"):
        Query.parse("re:(")


@given(foreign_text(), foreign_text(100), foreign_text(100))
def test_any_text_can_be_looked_for(text: str, name: str, first_message: str) -> None:
    try:
        query = Query.parse(text)
    except QueryError:
        assert text.strip().startswith("re:")
        return

    query.score(summary(name, first_message))


@given(st.text("abc ", min_size=1, max_size=8))
def test_a_session_is_found_by_its_whole_name(name: str) -> None:
    assert Query.parse(name).is_empty or score(name, summary(name))
