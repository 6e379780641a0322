"""What each kind of entry is to those who go by its type alone."""

from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from kaa.core.messages import Usage
from kaa.session.entries import BOOKKEEPING, ENTRY_KINDS, SPEAKING, AnyEntry
from kaa.session.figures import figures
from kaa.session.outline import SPOKEN, RowKind, outline
from kaa.session.past_usage import past_usage
from kaa.session.trail import trail
from kaa.session.transcript import Transcript
from tests.support.sessions import entry, opened, user_entry, write_session


class Kind(NamedTuple):
    """`speaks` and `keeps_books`: see `Entry`. `is_shown`: the transcript has it. `has_cost`: it may name a cost."""

    fields: dict[str, Any]
    speaks: bool = False
    keeps_books: bool = False
    is_shown: bool = False
    has_cost: bool = False


_NOTE = [{"type": "text", "text": "note"}]
_USER = {"role": "user", "content": "said", "timestamp": 1}
KINDS = {
    "message": Kind({"message": _USER}, speaks=True, is_shown=True),
    "model_change": Kind({"provider": "p", "modelId": "m"}, keeps_books=True, is_shown=True),
    "thinking_level_change": Kind({"thinkingLevel": "low"}, keeps_books=True, is_shown=True),
    "compaction": Kind({"summary": "short"}, speaks=True, is_shown=True, has_cost=True),
    "context_edit": Kind({"targetId": "a", "replacement": None}),
    "branch_summary": Kind({"summary": "short"}, speaks=True, is_shown=True, has_cost=True),
    "usage": Kind({"kind": "title"}, keeps_books=True, has_cost=True),
    "custom": Kind({"customType": "x"}),
    "custom_message": Kind({"customType": "x", "content": _NOTE, "display": True}, speaks=True, is_shown=True),
    "label": Kind({"targetId": "a", "label": "begin"}, keeps_books=True),
    "session_info": Kind({"name": "name"}, keeps_books=True),
    "leaf": Kind({"targetId": "a"}, keeps_books=True),
}
EACH = pytest.mark.parametrize(("tag", "kind"), KINDS.items(), ids=KINDS.keys())


def test_every_kind_is_known_here() -> None:
    assert set(KINDS) == set(ENTRY_KINDS)
    assert set(ENTRY_KINDS.values()) == set(get_args(AnyEntry))


@EACH
def test_a_kind_speaks_or_keeps_books_or_is_state(tag: str, kind: Kind) -> None:
    assert (tag in SPEAKING, tag in BOOKKEEPING) == (kind.speaks, kind.keeps_books)


@EACH
def test_everybody_takes_it_for_the_same(tmp_path: Path, tag: str, kind: Kind) -> None:
    tokens = {"usage": {"input": 7, "output": 0, "cacheRead": 0, "cacheWrite": 0}} if kind.has_cost else {}
    above = user_entry("a", None, "one")
    path = write_session(tmp_path / "s.jsonl", above, entry(tag, "e", "a", **kind.fields, **tokens))

    with opened(path) as store:
        nodes = store.tree.nodes
        (_, row) = outline(store, nodes, store.tree.leaf).rows
        assert (row.kind in SPOKEN) == kind.speaks
        assert sum(figures(store, nodes, store.tree.leaf).everywhere.values()) == 1 + kind.speaks
        assert len(Transcript(store)) == 1 + kind.is_shown
        assert [use.usage for _, use in past_usage(store, nodes) if use.usage != Usage()] == (
            [Usage(input=7)] if kind.has_cost else []
        )


@EACH
def test_a_step_stays_on_the_trail_until_something_new_is_said(tmp_path: Path, tag: str, kind: Kind) -> None:
    entries = [user_entry("a", None, "one"), user_entry("b", "a", "two"), entry("leaf", "l", "b", targetId="a")]
    path = write_session(tmp_path / "s.jsonl", *entries, entry(tag, "e", "a", **kind.fields))

    with opened(path) as store:
        is_new = kind.speaks and tag != "branch_summary"  # it is written by the step itself
        assert [node.id for node in trail(store) if node is not None] == ([] if is_new else ["b", *_back(tag)])


def _back(tag: str) -> list[str]:
    return ["a"] if tag == "leaf" else []


def test_every_row_speaks_or_not() -> None:
    others = {"model", "thinking", "label", "name", "leaf", "edit", "usage", "system", "custom", "unreadable"}

    assert set(get_args(RowKind)) - SPOKEN == others
