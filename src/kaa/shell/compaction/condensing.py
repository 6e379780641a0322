"""From a conversation that is too long to the entry that stands for its older part.

What goes is decided in `kaa.session.compaction`; here it is read, a model or an extension is asked for the summary, and
both are put together. Nothing is written.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from kaa.core.events import CompactionEnd, CompactionReason
from kaa.core.messages import AssistantMessage, Json, Usage, now_ms
from kaa.core.usage import CHARACTERS_PER_TOKEN, Spent, estimate
from kaa.ext.api import CompactionRequest
from kaa.ext.registry import Registry
from kaa.session.as_user_message import compaction_message
from kaa.session.compaction.budget import WindowShares
from kaa.session.entries import Compaction
from kaa.session.naming import iso_timestamp, new_entry_id
from kaa.session.store import SessionStore
from kaa.session.tree import Node
from kaa.shell.compaction.summarizing import Summarizer, SummaryError, SummaryTooLongError

if TYPE_CHECKING:
    from kaa.session.compaction.plan import CompactionPlan

# Texts have at most so many times as many tokens as their lengths suggest (some scripts have a token per character).
_MOST_STRETCH = 4.0
# How often a summary is asked for, each time in pieces half as large, when they turn out to be too long.
_TRIES = 3
# So many requests, each as large as the window, may one summary cost. Of a longer conversation, as when one of a
# million tokens goes on with a model of eight thousand, the newest parts count.
_MOST_PIECES = 16


class PreparedCompaction(msgspec.Struct, frozen=True):
    """A plan and what it was made from.

    Attributes:
        before: all entries before what is kept.
        stretch: how many times more tokens the conversation has than its length suggests.
        budget: of the window, in tokens as they are estimated from lengths.
    """

    plan: "CompactionPlan"
    before: Sequence[Node]
    tokens: int
    stretch: float
    budget: WindowShares


class WrittenSummary(msgspec.Struct, frozen=True):
    """What stands for what is dropped, by a model or (`from_hook`) an extension."""

    prose: str
    details: Json = None
    usage: Usage | None = None
    model: str | None = None
    from_hook: bool = False


class Condensing:
    """Makes compactions of one session.

    Args:
        registry: has the compactors of extensions, and what they want carried over.
    """

    def __init__(self, store: SessionStore, summarizer: Summarizer, registry: Registry, overhead: int) -> None:
        self._store = store
        self._summarizer = summarizer
        self._registry = registry
        self._overhead = overhead

    async def prepare(self, tokens: int, budget: WindowShares, reason: CompactionReason) -> PreparedCompaction | None:
        """Decide what goes; None if nothing is to be gained.

        Raises:
            SessionReadError: the disk failed.
        """
        return await asyncio.to_thread(self._prepare, tokens, budget, reason)

    async def write(self, prepared: PreparedCompaction, reason: CompactionReason, instructions: str) -> WrittenSummary:
        """Have the summary written: by an extension if one wants to, or else by a model.

        Raises:
            SummaryError: there is none to be had, or a hook wants no compaction.
        """
        from kaa.session.compaction.summary import prose_of  # lazy: most conversations never become that long

        plan = prepared.plan
        previous = prose_of(plan.previous.summary) if plan.previous is not None else ""
        messages = tuple(step.message for step in plan.dropped if step.message is not None)
        request = CompactionRequest(messages, previous, instructions, reason, prepared.tokens)
        if (objection := await self._registry.session.before_compaction(request)) is not None:
            raise SummaryError(objection)
        own = await self._registry.session.condense(request)
        if own is not None:
            return WrittenSummary(own.text, own.details, from_hook=True)
        for halved in range(_TRIES - 1):
            with suppress(SummaryTooLongError):
                return await self._ask(prepared, previous, instructions, 2**halved)
        return await self._ask(prepared, previous, instructions, 2 ** (_TRIES - 1))

    async def done(self, end: CompactionEnd) -> None:
        """Tell extensions of a compaction that succeeded."""
        await self._registry.session.after_compaction(end)

    async def entry(self, prepared: PreparedCompaction, written: WrittenSummary) -> Compaction:
        """The entry, with all that is carried over.

        Raises:
            SessionReadError: the disk failed.
        """
        return await asyncio.to_thread(self._entry, prepared, written, self._registry.session.carried())

    def _prepare(self, tokens: int, budget: WindowShares, reason: CompactionReason) -> PreparedCompaction | None:
        from kaa.session.compaction.plan import plan_compaction  # lazy, as above
        from kaa.session.compaction.steps import read_steps

        path = self._store.tree.path()
        previous, steps = read_steps(self._store, path)
        spoken = sum(step.tokens for step in steps)
        summary = estimate(compaction_message(previous)) if previous is not None else 0
        stretch = min(max(tokens / (self._overhead + summary + spoken or 1), 1.0), _MOST_STRETCH)
        scaled = budget.stretched(stretch)
        # What is too long must become shorter, whatever its length suggests.
        keep = min(scaled.keep, spoken // 2) if reason == "overflow" else scaled.keep
        plan = plan_compaction(steps, previous, keep, max(scaled.most, keep))
        if plan is None:
            return None
        first = plan.first_kept_entry_id
        end = next((position for position, node in enumerate(path) if node.id == first), len(path))
        return PreparedCompaction(plan, path[:end], tokens, stretch, scaled)

    async def _ask(
        self, prepared: PreparedCompaction, previous: str, instructions: str, smaller: int
    ) -> WrittenSummary:
        """Ask a model, in several requests if one would be too long: each takes up the summary of the one before."""
        from kaa.session.compaction import wording  # lazy, as above
        from kaa.session.compaction.budget import piece_tokens
        from kaa.session.compaction.serialization import newest_pieces, passages

        author = await self._summarizer.author()
        limit = min(prepared.budget.summary, author.model.max_tokens)
        room = int(piece_tokens(author.model.context_window, limit) / prepared.stretch / smaller)
        plan, spent, model = prepared.plan, Spent(), None
        records = await asyncio.to_thread(lambda: newest_pieces(passages(plan.dropped), room, _MOST_PIECES))
        for number, record in enumerate(records, start=1):
            is_split = plan.splits_turn and number == len(records)
            question = wording.summary_request(record, previous, instructions, limit, is_split=is_split)
            answer = await self._summarizer.ask(wording.SYSTEM, question, limit, author)
            previous, model, spent = answer.text, answer.model, spent + Spent(answer.usage)
        return WrittenSummary(previous, usage=spent.usage, model=model)

    def _entry(self, prepared: PreparedCompaction, written: WrittenSummary, texts: Mapping[str, str]) -> Compaction:
        from kaa.session.compaction.quoting import shortened
        from kaa.session.compaction.summary import (
            put_together,
            touched_files,  # lazy, as above
        )
        from kaa.session.compaction.verbatim import choose_words, users_words
        from kaa.session.edits import read_edits

        plan, room = prepared.plan, prepared.budget.carried
        files = touched_files(plan.dropped, plan.previous)
        edits = read_edits(self._store, self._store.tree.path())
        words, more_words = choose_words(users_words(self._store, prepared.before, edits), room)
        carried = {name: shortened(text, room * CHARACTERS_PER_TOKEN) for name, text in texts.items()}
        details = written.details if written.from_hook else files.details(written.model)
        entry_id = new_entry_id(self._store.tree)
        replies = (step.message for step in plan.kept if isinstance(step.message, AssistantMessage))
        # Later than all of these: so one can tell that their usage was measured before.
        newest = max((reply.timestamp for reply in replies), default=0)
        return Compaction(
            id=entry_id,
            timestamp=iso_timestamp(max(now_ms(), newest + 1)),
            summary=put_together(
                written.prose, files, words=words, more_words=more_words, carried=carried, file_tokens=room
            ),
            # An id that stands nowhere before it means that nothing is kept; pi takes it so too.
            first_kept_entry_id=plan.first_kept_entry_id or entry_id,
            tokens_before=prepared.tokens,
            details=details,
            from_hook=written.from_hook,
            usage=written.usage,
        )
