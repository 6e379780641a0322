"""Getting one reply, whatever that takes: several tries, waiting, room in the window, another model.

Only here requests of the conversation are made; the loop sees replies.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Sequence
from contextlib import aclosing, suppress
from typing import Literal, TypeVar

import msgspec

from kaa.core.budget import Allowance, BudgetExhaustedError
from kaa.core.errors import ContextOverflowError, HookError, MalformedStreamError, ProviderError
from kaa.core.events import AutoRetryEnd, AutoRetryStart, Event, MessageEnd, MessageStart, MessageUpdate, ReplyFailed
from kaa.core.history import repair
from kaa.core.hooks import BeforeRequest, GiveUp, Hooks, ReplaceMessages, RunGivenUpError, UseThinking
from kaa.core.messages import AssistantMessage
from kaa.core.provider import Provider, Request, StreamEvent
from kaa.core.recovery import ContextLimiter, Fallback, worth_another_model
from kaa.core.reply import ReplyBuilder
from kaa.core.retry import RetryPolicy
from kaa.core.stream_timeouts import StreamTimeouts, with_timeouts
from kaa.core.usage import prompt_tokens

ResultT = TypeVar("ResultT")

# A reply that ends for its length without a word, with so much of the window taken, found no room; as pi judges it.
_FULL_SHARE = 0.99


class ModelCaller:
    """Asks the model in force for replies.

    Args:
        provider: gives the way to the model in force; asked before each request, together with `request`.
        request: builds the request for the conversation so far.
        hooks: may change what is sent.
        sending: called with each request right before it is sent.
        emit: where events go; it adds every complete message to the conversation.
        context_limiter: keeps the conversation within the model's window.
        retry: what to do about transient errors.
        timeouts: how long a reply may take.
        fallback: puts another model in the place of one that is given up.
        allowance: lets requests pass.
        known_as: gives the tool that a name means which no tool of the request has; the name if none is meant.
    """

    def __init__(  # noqa: PLR0913 - each is another part of the agent
        self,
        *,
        provider: Callable[[], Provider],
        request: Callable[[], Request],
        hooks: Hooks,
        sending: Callable[[Request], None],
        emit: Callable[[Event], None],
        context_limiter: ContextLimiter,
        retry: RetryPolicy,
        timeouts: StreamTimeouts,
        fallback: Fallback,
        allowance: Allowance,
        known_as: Callable[[str, Collection[str]], str] = lambda name, _tools: name,
    ) -> None:
        self._known_as = known_as
        self._provider = provider
        self._request = request
        self._hooks = hooks
        self._sending = sending
        self._emit = emit
        self._context_limiter = context_limiter
        self._retry = retry
        self._timeouts = timeouts
        self._fallback = fallback
        self._allowance = allowance

    async def reply(self) -> AssistantMessage:
        """One complete reply, of as many models as there are; the last failure is a message too.

        Raises:
            BudgetExhaustedError: no further request may be made.
            RunGivenUpError: a hook ends the run.
        """
        while True:
            await self._context_limiter.before_request()  # each time: the window of another model may be smaller
            try:
                return await self._persistent_reply()
            except _GivenUpError as given_up:
                if not worth_another_model(given_up.error) or not await self._fallback.take_over(given_up.error):
                    return given_up.attempt.fail(given_up.error, self._retry.verdict(given_up.error))
                if given_up.attempt.was_shown:
                    given_up.attempt.fail(given_up.error)

    def no_reply(self, reason: str) -> AssistantMessage:
        """An empty message in the place of a reply that never began."""
        return ReplyBuilder(self._request().model).message("aborted", reason)

    async def _persistent_reply(self) -> AssistantMessage:
        """One complete reply of the model in force, after as many tries as the policy allows.

        Raises:
            _GivenUpError: there are no more tries.
            BudgetExhaustedError: no further request may be made.
            RunGivenUpError: a hook ends the run.
        """
        retries = _Retries(self._emit)
        try:
            reply = await self._tried_reply(retries)
        except asyncio.CancelledError:
            retries.end("stopped by the user")
            raise
        except _GivenUpError as given_up:
            retries.end(str(given_up.error))
            raise
        except (BudgetExhaustedError, RunGivenUpError) as error:
            retries.end(str(error))
            raise
        retries.end(reply.error_message if reply.stop_reason == "error" else None)
        return reply

    async def _tried_reply(self, retries: "_Retries") -> AssistantMessage:
        failures = 0
        while True:
            wanted = self._request()
            attempt = _Attempt(wanted, self._emit, self._allowance, self._known_as)
            try:
                if hooks := self._hooks.before_request:
                    wanted = attempt.request = await self._in_time(_changed(wanted, hooks))
                async with self._allowance.reserve(wanted) as attempt.request:
                    message = await self._in_time(self._answer(attempt))
            except _TimeIsUpError:
                pass
            except ContextOverflowError as error:
                broken = attempt.fail(error) if attempt.was_shown else None
                if not await self._context_limiter.make_room(error):
                    return broken or attempt.fail(error)
            except ProviderError as error:
                failures += 1
                await self._wait_after(error, failures, attempt, retries)
            else:
                if message.stop_reason == "length" and not message.tool_calls and attempt.request is not wanted:
                    left = attempt.request.reply_limit
                    raise BudgetExhaustedError(f"the budget left {left:,} tokens for the reply, which needed more")
                return message
            await self._allowance.admit()

    async def _answer(self, attempt: "_Attempt") -> AssistantMessage:
        """Send the request of an attempt and take the reply."""
        self._sending(attempt.request)
        stream = with_timeouts(self._provider().stream(attempt.request), self._timeouts)
        return await attempt.stream(stream, refuse_cut_off=self._context_limiter.can_make_room)

    async def _wait_after(self, error: ProviderError, failures: int, attempt: "_Attempt", retries: "_Retries") -> None:
        """Wait until the next try makes sense.

        Raises:
            _GivenUpError: none does.
        """
        delay = self._retry.delay(error, failures)
        if delay is None:
            raise _GivenUpError(attempt, error) from error
        if attempt.was_shown:
            attempt.fail(error)
        delay_ms = round(delay * 1000)
        retries.start(AutoRetryStart(failures, self._retry.max_attempts, delay_ms, str(error), error.kind))
        with suppress(_TimeIsUpError):
            await self._in_time(asyncio.sleep(delay))

    async def _in_time(self, work: Coroutine[object, object, ResultT]) -> ResultT:
        """Do `work` within the time that the budget leaves.

        Raises:
            _TimeIsUpError: that was not enough.
        """
        limit = asyncio.timeout(self._allowance.seconds_left())
        try:
            async with limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise _TimeIsUpError from None
            raise


async def _changed(request: Request, hooks: Sequence[BeforeRequest]) -> Request:
    """The request as hooks want it sent.

    Raises:
        HookError: a hook failed.
        RunGivenUpError: a hook ends the run.
    """
    request = msgspec.structs.replace(request, messages=tuple(request.messages))  # hooks must not share the list
    for hook in hooks:
        try:
            change = await hook(request)
        except Exception as error:  # isolation boundary: a broken hook must not end the conversation
            raise HookError(f"The request was not sent: {error}") from error
        match change:
            case ReplaceMessages(messages=messages):
                request = msgspec.structs.replace(request, messages=tuple(repair(messages)))
            case UseThinking(level=level):
                request = msgspec.structs.replace(request, thinking=level)
            case GiveUp():
                raise RunGivenUpError(change)
            case None:
                pass
    if not request.messages:
        raise HookError("The request was not sent: hooks of extensions left no message in it.")
    return request


class _Retries:
    """Reports retries: one `AutoRetryEnd` follows the last `AutoRetryStart`, however the request ends."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._attempt = 0

    def start(self, event: AutoRetryStart) -> None:
        """Report another try."""
        self._attempt = event.attempt
        self._emit(event)

    def end(self, error: str | None) -> None:
        """Report the end; without an `error` it is a success."""
        if self._attempt:
            self._emit(AutoRetryEnd(error is None, self._attempt, error))


class _TimeIsUpError(Exception):
    """The budget leaves no more time."""


class _GivenUpError(Exception):
    """A model does not answer, and it makes no sense to go on asking it."""

    def __init__(self, attempt: "_Attempt", error: ProviderError) -> None:
        super().__init__(str(error))
        self.attempt = attempt
        self.error = error


class _Attempt:
    """One try to get a reply, paid for however it ends.

    Attributes:
        request: what is asked.
        was_shown: something of the reply was.
    """

    def __init__(
        self,
        request: Request,
        emit: Callable[[Event], None],
        allowance: Allowance,
        known_as: Callable[[str, Collection[str]], str],
    ) -> None:
        self.request = request
        self._emit = emit
        self._allowance = allowance
        self._known_as = known_as
        self._builder = ReplyBuilder(request.model, known_as=self._tool)
        self.was_shown = False

    async def stream(self, events: AsyncGenerator[StreamEvent, None], *, refuse_cut_off: bool) -> AssistantMessage:
        """Take the reply as it comes, telling everyone.

        Args:
            events: the reply.
            refuse_cut_off: take no reply to a conversation that the server has cut off to make it fit.

        Raises:
            ProviderError: the reply failed; the caller decides whether to tell of it with `fail`.
        """
        try:
            async with aclosing(events) as stream:
                async for event in stream:
                    for change in self._builder.fold(event):
                        self._show()
                        self._emit(MessageUpdate(change))
        except asyncio.CancelledError:
            if self.was_shown:
                is_late = self._allowance.seconds_left() == 0
                self._break_off("aborted", "the time of the budget was up" if is_late else "stopped by the user")
            raise
        finally:
            if (paid := self._builder.paid(self.request)) is not None:
                self._allowance.charge(paid, self.request.model)
        if self._builder.stop_reason is None:
            raise MalformedStreamError("The model's reply ended early. Usually trying again helps.")
        self._refuse_overflow(self._builder.message(self._builder.stop_reason), refuse_cut_off=refuse_cut_off)
        if self._builder.is_empty:
            raise MalformedStreamError("The model's reply was empty. Usually trying again helps.")
        if self._builder.stop_reason != "length" and not self._builder.is_answer:
            raise MalformedStreamError(
                "The model's reply was empty but for thinking or blanks. Usually trying again helps."
            )
        message = self._builder.message(self._builder.stop_reason)
        self._emit(MessageEnd(message))
        return message

    def _tool(self, name: str) -> str:
        names = {tool.name for tool in self.request.tools}
        return name if name in names else self._known_as(name, names)

    def _refuse_overflow(self, reply: AssistantMessage, *, refuse_cut_off: bool) -> None:
        """Find out what some servers do not say: that the conversation is too long."""
        window = self.request.model.context_window
        taken = prompt_tokens(reply.usage)
        if reply.stop_reason == "length" and self._builder.is_empty and taken >= _FULL_SHARE * window:
            raise ContextOverflowError("The conversation fills the model's context window: no room was left to answer.")
        if refuse_cut_off and reply.stop_reason == "stop" and taken > window:
            raise ContextOverflowError("The conversation is larger than the model's context window: it was cut off.")

    def fail(self, error: ProviderError, words: str = "") -> AssistantMessage:
        """Complete the message as far as it came; `words` are told in the place of the error's own."""
        return self._break_off("error", words or str(error), error.kind)

    def _break_off(
        self, reason: Literal["error", "aborted"], error: str, error_type: str | None = None
    ) -> AssistantMessage:
        message = self._builder.message(reason, error)
        self._show()
        self._emit(MessageUpdate(ReplyFailed(reason, error, error_type)))
        self._emit(MessageEnd(message))
        return message

    def _show(self) -> None:
        if not self.was_shown:
            self.was_shown = True
            self._emit(MessageStart(ReplyBuilder(self.request.model).message("stop")))
