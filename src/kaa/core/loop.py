"""The agent loop: ask the model, run the tools it calls, steer, until it has nothing more to do.

Read `Loop.run` first; everything else serves it.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Literal

import msgspec

from kaa.core.errors import ContextOverflowError, MalformedStreamError, ProviderError
from kaa.core.events import (
    AgentEnd,
    AgentStart,
    AutoRetryEnd,
    AutoRetryStart,
    EndReason,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ReplyFailed,
    TurnEnd,
    TurnStart,
)
from kaa.core.execution import ToolExecutor
from kaa.core.history import History
from kaa.core.keeper import ContextKeeper
from kaa.core.messages import AssistantMessage, Message, Usage, UserMessage
from kaa.core.provider import Provider, Request
from kaa.core.queues import MessageQueue
from kaa.core.reply import ReplyBuilder
from kaa.core.retry import RetryPolicy

# A reply that ends for its length without a word, with so much of the window taken, found no room; as pi judges it.
_FULL_SHARE = 0.99


class Limits(msgspec.Struct, frozen=True):
    """Where a run ends even if the model would go on.

    Attributes:
        max_turns: requests to the model per run.
        max_messages: messages, of any role, per run.
    """

    max_turns: int | None = None
    max_messages: int | None = None


class Loop:
    """One run of the agent, from what was asked to the end.

    Args:
        provider: gives the way to the model in force; asked before each request, together with `request`.
        request: builds the request for the messages so far.
        executor: runs tool calls.
        steering: messages to give to the model as soon as a turn ends.
        follow_up: messages to give to it when it would stop.
        history: the conversation so far; `emit` adds every complete message to it.
        emit: where events go.
        keeper: keeps the conversation within the model's window.
        limits: caps of this run.
        retry: what to do about transient errors.
    """

    def __init__(
        self,
        *,
        provider: Callable[[], Provider],
        request: Callable[[Sequence[Message]], Request],
        executor: ToolExecutor,
        steering: MessageQueue,
        follow_up: MessageQueue,
        history: History,
        emit: Callable[[Event], None],
        keeper: ContextKeeper,
        limits: Limits,
        retry: RetryPolicy,
    ) -> None:
        self._provider = provider
        self._request = request
        self._executor = executor
        self._steering = steering
        self._follow_up = follow_up
        self._history = history
        self._emit = emit
        self._keeper = keeper
        self._limits = limits
        self._retry = retry
        history.begin_run()

    async def run(self, prompts: Sequence[UserMessage]) -> AgentEnd:
        """Work on `prompts` until the model stops, a cap is reached or an error cannot be mended."""
        self._emit(AgentStart())
        self._say(prompts)
        turn = 0
        while True:
            if cap := self._cap_reached(turn):
                return self._end(*cap)
            turn += 1
            self._emit(TurnStart(turn))
            self._say(self._steering.drain())
            await self._keeper.before_request()
            reply = await self._reply()
            results = await self._executor.run(reply.tool_calls) if reply.stop_reason != "error" else ()
            self._emit(TurnEnd(turn, reply, results))
            if reply.stop_reason == "error":
                return self._end("error", reply.error_message)
            if results or self._steering:
                continue
            follow_up = self._follow_up.drain()
            if not follow_up:
                return self._stopped(reply)
            self._say(follow_up)

    def interrupted(self) -> AgentEnd:
        """Close a run that was cancelled."""
        return self._end("aborted", "stopped by the user")

    async def _reply(self) -> AssistantMessage:
        """One complete reply, after as many tries as the policy allows; the last failure is a message too."""
        failures = 0
        while True:
            attempt = _Attempt(self._request(self._history.sendable()), self._emit)
            try:
                message = await attempt.stream(self._provider(), refuse_cut_off=self._keeper.can_make_room)
            except ContextOverflowError as error:
                broken = attempt.break_off("error", str(error)) if attempt.was_shown else None
                if not await self._keeper.make_room():
                    return broken or attempt.break_off("error", str(error))
            except ProviderError as error:
                failures += 1
                delay = self._retry.delay(error, failures)
                if delay is None:
                    if failures > 1:
                        self._emit(AutoRetryEnd(success=False, attempt=failures - 1, final_error=str(error)))
                    return attempt.break_off("error", str(error))
                if attempt.was_shown:
                    attempt.break_off("error", str(error))
                self._emit(AutoRetryStart(failures, self._retry.max_attempts, round(delay * 1000), str(error)))
                await asyncio.sleep(delay)
            else:
                if failures:
                    self._emit(AutoRetryEnd(success=True, attempt=failures))
                return message

    def _say(self, messages: Sequence[UserMessage]) -> None:
        for message in messages:
            self._emit(MessageStart(message))
            self._emit(MessageEnd(message))

    def _cap_reached(self, turn: int) -> tuple[EndReason, str] | None:
        turns, messages = self._limits.max_turns, self._limits.max_messages
        if turns is not None and turn >= turns:
            return "max_turns", f"stopped after {turn} turns, the limit of this run"
        if messages is not None and len(self._history.of_run) >= messages:
            return "max_messages", f"stopped after {messages} messages, the limit of this run"
        return None

    def _stopped(self, reply: AssistantMessage) -> AgentEnd:
        """The model has nothing more to do. Whether that means done depends on how it came to stop."""
        if reply.stop_reason == "length":
            return self._end("length", "the reply reached the model's output limit before it was complete")
        if self._executor.denials:
            return self._end("denied", f"not permitted: {'; '.join(self._executor.denials)}")
        return self._end("done")

    def _end(self, reason: EndReason, error: str | None = None) -> AgentEnd:
        end = AgentEnd(reason, tuple(self._history.of_run), error)
        self._history.begin_run()  # nobody needs them any more
        self._emit(end)
        return end


class _Attempt:
    """One try to get a reply."""

    def __init__(self, request: Request, emit: Callable[[Event], None]) -> None:
        self._request = request
        self._emit = emit
        self._builder = ReplyBuilder(request.model)
        self.was_shown = False

    async def stream(self, provider: Provider, *, refuse_cut_off: bool) -> AssistantMessage:
        """Stream the reply, telling everyone what comes.

        Args:
            provider: the way to the model.
            refuse_cut_off: take no reply to a conversation that the server has cut off to make it fit.

        Raises:
            ProviderError: the reply failed; the caller decides whether to `break_off`.
        """
        try:
            async with aclosing(provider.stream(self._request)) as stream:
                async for event in stream:
                    for change in self._builder.fold(event):
                        self._show()
                        self._emit(MessageUpdate(change))
        except asyncio.CancelledError:
            if self.was_shown:
                self.break_off("aborted", "stopped by the user")
            raise
        if self._builder.stop_reason is None:
            raise MalformedStreamError("The model's reply ended early. Usually trying again helps.")
        self._refuse_overflow(self._builder.message(self._builder.stop_reason), refuse_cut_off=refuse_cut_off)
        if self._builder.is_empty:
            raise MalformedStreamError("The model's reply was empty. Usually trying again helps.")
        message = self._builder.message(self._builder.stop_reason)
        self._emit(MessageEnd(message))
        return message

    def _refuse_overflow(self, reply: AssistantMessage, *, refuse_cut_off: bool) -> None:
        """Find out what some servers do not say: that the conversation is too long."""
        window = self._request.model.context_window
        taken = _input_of(reply.usage)
        if reply.stop_reason == "length" and self._builder.is_empty and taken >= _FULL_SHARE * window:
            raise ContextOverflowError("The conversation fills the model's context window: no room was left to answer.")
        if refuse_cut_off and reply.stop_reason == "stop" and taken > window:
            raise ContextOverflowError("The conversation is larger than the model's context window: it was cut off.")

    def break_off(self, reason: Literal["error", "aborted"], error: str) -> AssistantMessage:
        """Complete the message as far as it came."""
        message = self._builder.message(reason, error)
        self._show()
        self._emit(MessageUpdate(ReplyFailed(reason, error)))
        self._emit(MessageEnd(message))
        return message

    def _show(self) -> None:
        if not self.was_shown:
            self.was_shown = True
            self._emit(MessageStart(ReplyBuilder(self._request.model).message("stop")))


def _input_of(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write
