"""The summary of a branch that is left, so that what was found out there is not lost on the way on."""

from collections.abc import Sequence

import msgspec

from kaa.core.messages import Usage
from kaa.core.usage import tokens_in
from kaa.session.compaction.serialization import passage, passages, pieces
from kaa.session.compaction.steps import PathStep, steps_of
from kaa.session.compaction.summary import TouchedFiles, put_together, touched_files
from kaa.session.compaction.wording import SYSTEM, branch_request
from kaa.session.edits import read_edits
from kaa.session.entries import BranchSummary, Compaction
from kaa.session.store import SessionStore
from kaa.session.tree import Node

__all__ = ["MAX_TOKENS", "SYSTEM", "BranchRecord", "entry", "question", "read_record", "room"]

# As pi.
MAX_TOKENS = 2048
# Of a window, at most so much is left free: a small one would have no room otherwise.
_MOST_RESERVED = 1 / 4
# Texts may have more tokens than their length suggests.
_SAFE_SHARE = 0.8
_SMALLEST_RECORD_TOKENS = 500
_ROOT = "root"


class BranchRecord(msgspec.Struct, frozen=True):
    """What was said on a branch, as text, and the files it touched."""

    text: str
    files: TouchedFiles


def room(window: int, reserve_tokens: int) -> int:
    """How many tokens of a branch are shown to a model with this window."""
    reserved = max(min(reserve_tokens, int(window * _MOST_RESERVED)), MAX_TOKENS)
    return max(int((window - reserved) * _SAFE_SHARE), _SMALLEST_RECORD_TOKENS)


def read_record(store: SessionStore, left: Sequence[Node], tokens: int) -> BranchRecord | None:
    """The newest part of a branch that takes at most `tokens` tokens, without tool results; None if nothing was said.

    Raises:
        SessionReadError: the disk failed.
    """
    steps = steps_of(store, left, read_edits(store, left))
    files = touched_files(steps)
    said: list[str] = []
    taken = 0
    for step in reversed(steps):
        for text in _said(step):
            taken += tokens_in(text) + 1
            if said and taken > tokens:
                return BranchRecord("\n\n".join(said[::-1]), files)
            said.append(next(pieces((text,), tokens)))  # shortened, if it is too long by itself
    return BranchRecord("\n\n".join(said[::-1]), files) if said else None


def question(record: BranchRecord, instructions: str) -> str:
    """What a model is asked."""
    return branch_request(record.text, instructions, MAX_TOKENS)


def entry(record: BranchRecord, text: str, target_id: str | None, *, usage: Usage, model: str) -> BranchSummary:
    """The entry that tells of the branch behind `target_id`."""
    return BranchSummary(
        from_id=target_id or _ROOT,
        summary=put_together(text, record.files),
        details=record.files.details(model),
        from_hook=False,
        usage=usage,
    )


def _said(step: PathStep) -> list[str]:
    if isinstance(step.entry, Compaction):
        return [passage("Summary of what was before", step.entry.summary)]
    return list(passages((step,), results=False))
