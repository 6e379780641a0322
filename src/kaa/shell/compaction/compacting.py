"""Condensing the conversation when it becomes too long for the model, or when the user wants it; and taking that back.

How a compaction comes about, `condensing` knows; when, and what follows from it, is decided here. It is one entry in
the session; until that is written, everything is as before.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kaa.core.agent import Agent, AgentBusyError
from kaa.core.errors import ContextOverflowError, RequestTooLargeError
from kaa.core.events import AgentStart, CompactionEnd, CompactionReason, CompactionStart, Event, MessageEnd
from kaa.core.messages import AssistantMessage, Message, UserMessage
from kaa.core.usage import ContextMeter, context_parts, estimate
from kaa.ext.errors import CommandError
from kaa.ext.registry import Registry
from kaa.session.compaction.budget import WindowShares, share_out
from kaa.session.context import build_context
from kaa.session.entries import Compaction, Leaf
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.shell.compaction.summarizing import Summarizer, SummaryError
from kaa.shell.settings import CompactionSettings

if TYPE_CHECKING:
    from kaa.shell.compaction.condensing import Condensing, PreparedCompaction, WrittenSummary
    from kaa.shell.compaction.shortening import ResultShortening


class Compacting:
    """Keeps one conversation within the window of its model (`kaa.core.recovery.ContextLimiter`).

    Args:
        registry: has the compactors of extensions, and what they want carried over.
        notify: told, in a sentence, what the model does not see any more.
    """

    def __init__(
        self,
        agent: Agent,
        store: SessionStore,
        recorder: SessionRecorder,
        summarizer: Summarizer,
        registry: Registry,
        settings: Callable[[], CompactionSettings],
        notify: Callable[[str], None],
    ) -> None:
        self._agent = agent
        self._store = store
        self._recorder = recorder
        self._settings = settings
        self._notify = notify
        self._overhead = context_parts(agent.system_prompt, agent.tool_schemas, ()).total
        self._summarizer = summarizer
        self._registry = registry
        self._meter = ContextMeter(self._overhead)
        self._guard = _CompactionGuard()
        self._remark: str | None = None  # for the next compaction
        self._done: CompactionEnd | None = None
        agent.subscribe(self._guard.observe)
        agent.set_context_limiter(self)

    @property
    def threshold(self) -> int | None:
        return self._budget().threshold if self._settings().enabled and not self._guard.is_held else None

    async def before_request(self) -> None:
        """Condense the conversation if it is long even with the results that extensions shorten."""
        if len(self._agent.messages) > 2 and self._registry.session.shortens_results:  # there may be results
            await self._shortening.before_request()
        threshold = self.threshold
        if threshold is not None and not self._guard.is_shut and self._tokens() > threshold:
            await self._automatic("threshold")

    @property
    def can_make_room(self) -> bool:
        """Whether an overflow would be met with a compaction."""
        return self._settings().enabled and self._guard.allows_overflow

    async def make_room(self, error: ContextOverflowError) -> bool:
        """The conversation was too long. Returns whether it is shorter now."""
        if isinstance(error, RequestTooLargeError) and (answers := self._leave_out_images(error)) is not None:
            return answers
        window = error.window
        if window is not None and window < self._agent.model.context_window:
            self._narrow(window)
        if not self.can_make_room:
            return False
        self._guard.overflowed()
        return await self._automatic("overflow")

    def _leave_out_images(self, error: RequestTooLargeError) -> bool | None:
        """Leave out the oldest images.

        Returns:
            Whether to send the request again: not without an image of the message that it is to answer. None if there
            are no images.
        """
        from kaa.shell.compaction.images import without_oldest_images  # lazy: few servers refuse images

        before = self._agent.messages
        messages, count = without_oldest_images(before)
        if not count:
            return None
        self._agent.condense(messages)
        if isinstance(before[-1], UserMessage) and messages[-1] is not before[-1]:
            # An answer to what the model cannot see would be of no use.
            self._notify(
                "The image of your message is too large and will not be sent again."
                " Send the message with a smaller one, or continue without it."
                if count == 1
                else "Images of your message are too large and will not be sent again."
                " Send the message with smaller ones, or continue without them."
            )
            return False
        images = "the oldest image" if count == 1 else f"the {count} oldest images"
        self._notify(f"{images} of the conversation will not be sent to the model any more: {error}")
        return True

    def _narrow(self, window: int) -> None:
        assumed = self._agent.model.context_window
        self._agent.narrow(window)
        self._remark = (
            f"The server gives {self._model_name} a window of {window:,} tokens; kaa assumed {assumed:,}. "
            "Set contextWindow in models.json, and kaa knows it from the start."
        )

    async def compact(self, instructions: str = "") -> CompactionEnd:
        self._recorder.require_writable()
        self._done = None
        try:
            return await self._agent.occupy(
                lambda: self._manual(instructions), lambda: self._done or CompactionEnd("manual", aborted=True)
            )
        except AgentBusyError as error:
            raise CommandError(
                "the agent is working: stop it first, or wait; it condenses the conversation itself when it must"
            ) from error

    async def uncompact(self) -> str:
        try:
            self._recorder.require_writable()
            with self._agent.held():
                return await self._taken_back()
        except AgentBusyError as error:
            raise CommandError("the agent is working: stop it first, or wait until it is done") from error

    async def _manual(self, instructions: str) -> CompactionEnd:
        prepared = await self._prepare("manual")
        if prepared is None:
            raise CommandError(
                f"there is nothing to compact: a compaction keeps the last {self._budget().keep:,} tokens, and the "
                "conversation is not longer"
            )
        return await self._condense(prepared, "manual", instructions)

    @cached_property
    def _shortening(self) -> "ResultShortening":
        from kaa.shell.compaction.shortening import ResultShortening  # lazy: many runs call no tool

        return ResultShortening(self._agent, self._store, self._recorder, self._registry)

    @cached_property
    def _condensing(self) -> "Condensing":
        from kaa.shell.compaction.condensing import Condensing  # lazy: most conversations fit into the window

        return Condensing(self._store, self._summarizer, self._registry, self._overhead)

    async def _automatic(self, reason: CompactionReason) -> bool:
        prepared = await self._prepare(reason)
        if prepared is None:
            return False
        return (await self._condense(prepared, reason, "")).error is None

    async def _prepare(self, reason: CompactionReason) -> "PreparedCompaction | None":
        return await self._condensing.prepare(self._tokens(), self._budget(), reason)

    async def _condense(
        self, prepared: "PreparedCompaction", reason: CompactionReason, instructions: str
    ) -> CompactionEnd:
        """Make the compaction, and tell of it."""
        self._agent.emit(CompactionStart(reason))
        try:
            written = await self._condensing.write(prepared, reason, instructions)
            entry = await self._condensing.entry(prepared, written)
            end = self._adopt(prepared, entry, written, reason)
        except asyncio.CancelledError:
            self._agent.emit(CompactionEnd(reason, tokens_before=prepared.tokens, aborted=True))
            raise
        except SummaryError as error:
            warning = None if reason == "manual" else self._guard.failed()
            end = CompactionEnd(reason, tokens_before=prepared.tokens, error=str(error), warning=warning)
        except Exception as error:  # whatever it is: what is announced has an end
            self._agent.emit(CompactionEnd(reason, tokens_before=prepared.tokens, error=str(error)))
            raise
        self._agent.emit(end)
        if end.error is None:
            self._done = end  # whatever becomes of the hooks after it
            await self._condensing.done(end)
        return end

    def _adopt(
        self, prepared: "PreparedCompaction", entry: Compaction, written: "WrittenSummary", reason: CompactionReason
    ) -> CompactionEnd:
        """Write the entry and go on from it; nothing may come between."""
        from kaa.session.as_user_message import compaction_message  # lazy: few sessions are that long

        self._recorder.note(entry)
        kept = [step.message for step in prepared.plan.kept if step.message is not None]
        self._agent.condense((compaction_message(entry), *kept))
        after = self._tokens()
        kinds = prepared.plan.kinds
        remark, self._remark = self._remark, None
        return CompactionEnd(
            reason,
            summary=entry.summary,
            tokens_before=prepared.tokens,
            tokens_after=after,
            first_kept_entry_id=entry.first_kept_entry_id,
            dropped=sum(kinds.values()),
            kinds=kinds,
            will_retry=reason == "overflow",
            warning=self._guard.succeeded(after, self._budget().threshold) or remark,
            usage=written.usage,
            model=written.model,
        )

    async def _taken_back(self) -> str:
        from kaa.session.compaction.undoing import in_force, undo  # lazy: few need it

        path = self._store.tree.path()
        standing = await asyncio.to_thread(in_force, self._store, path)
        if not standing:
            raise CommandError("there is no compaction to take back on this branch")
        entry, before = undo(path, standing), self._tokens()
        if isinstance(entry, Leaf):
            messages = self._recorder.go(entry.target_id).messages
        else:
            self._recorder.note(entry)
            messages = (await asyncio.to_thread(build_context, self._store)).messages
        self._agent.condense(messages)
        self._guard.hold()
        return self._told_of(before, messages)

    def _told_of(self, before: int, messages: Sequence[Message]) -> str:
        """How large the conversation is now, and what follows from that."""
        after = self._overhead + sum(map(estimate, messages))
        window = self._agent.model.context_window
        lines = [f"The last compaction was taken back: about {after:,} tokens instead of {before:,}."]
        if after > window:
            lines.append(
                f"That is more than the window of {self._agent.model.id} ({window:,}): kaa will compact it again with "
                "the next message, unless you choose a larger model first."
            )
        elif after > self._budget().threshold:
            lines.append("It stays so until it no longer fits into the window, or until you compact it.")
        return "\n".join(lines)

    @property
    def _model_name(self) -> str:
        return self._agent.model.qualified_id

    def _tokens(self) -> int:
        return self._meter.measure(self._agent.messages, self._agent.model.context_window).tokens

    def _budget(self) -> WindowShares:
        reserve, keep = self._settings().sizes(self._model_name)
        return share_out(self._agent.model.context_window, self._overhead, reserve, keep)


# So many compactions, with no more than one reply between each and the next, are a circle and no progress.
_MOST_IN_A_ROW = 3


class _CompactionGuard:
    """Says whether to condense without being asked; subscribe `observe`.

    It keeps automatic compaction from going round in circles: each one costs a request as large as the window.
    """

    def __init__(self) -> None:
        self._is_shut = False
        self._is_held = False
        self._met_overflow = False
        self._replies = 0
        self._in_a_row = 0

    @property
    def is_shut(self) -> bool:
        """Whether condensing has turned out to be of no use for now."""
        return self._is_shut

    @property
    def is_held(self) -> bool:
        """Whether the user wants the conversation as long as it is."""
        return self._is_held

    @property
    def allows_overflow(self) -> bool:
        """Whether to condense what has turned out to be too long: once, and again after each reply since."""
        return not self._met_overflow

    def observe(self, event: Event) -> None:
        """Take what happens in the conversation."""
        match event:
            case AgentStart():
                self._is_shut = False
            case MessageEnd(message=UserMessage()):
                self._met_overflow = False
            case MessageEnd(message=AssistantMessage(stop_reason="error")):
                pass
            case MessageEnd(message=AssistantMessage()):
                self._replies += 1
                self._met_overflow = self._met_overflow and self._is_shut
            case _:
                pass

    def overflowed(self) -> None:
        """The conversation was too long, and room is going to be made."""
        self._met_overflow = True

    def hold(self) -> None:
        """The user wants the long conversation: until the next compaction, only an overflow is a reason for one."""
        self._is_held = True

    def failed(self) -> str:
        """There was no summary to be had. Returns what to say of that."""
        self._is_shut = True
        return "The conversation continues unchanged; kaa does not compact it again until your next message."

    def succeeded(self, tokens: int, threshold: int) -> str | None:
        """The conversation takes `tokens` now. Returns what to say of it, if it is not as it should be."""
        self._is_held = False
        self._in_a_row = self._in_a_row + 1 if self._replies <= 1 else 1
        self._replies = 0
        if tokens > threshold:
            found = f"what must be kept still takes {tokens:,} tokens, more than the {threshold:,} there is room for"
        elif self._in_a_row >= _MOST_IN_A_ROW:
            found = f"the conversation was compacted {self._in_a_row} times in a row and is as long each time"
        else:
            return None
        self._is_shut = True
        self._in_a_row = 0
        return (
            f"kaa compacts nothing more by itself until your next message: {found}. A model with a larger window "
            "helps, or smaller values of compaction.keepRecentTokens and compaction.reserveTokens."
        )
