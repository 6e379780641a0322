"""The agent: a conversation with a model, its tools and its queues. One run at a time, stoppable at any point."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

import msgspec

from kaa.core.budget import Allowance, Ledger
from kaa.core.events import AgentEnd, Event, MessageEnd, QueueUpdate
from kaa.core.execution import ToolExecutor
from kaa.core.history import History
from kaa.core.hooks import FixedHooks, Hooks
from kaa.core.loop import Loop, RunLimits
from kaa.core.messages import Message, UserMessage
from kaa.core.model_caller import ModelCaller
from kaa.core.provider import Model, Provider, Request, SideRequest, ThinkingLevel, ToolSchema
from kaa.core.queues import DrainMode, MessageQueue
from kaa.core.recovery import ContextLimiter, Fallback, NoContextLimiter, NoFallback
from kaa.core.retry import RetryPolicy
from kaa.core.stream_timeouts import StreamTimeouts
from kaa.core.tool import Tool, ToolRun

# Of a window that is smaller than the catalogue says, what one reply may take.
_REPLY_SHARE = 1 / 4

Subscriber: TypeAlias = Callable[[Event], None]
ResultT = TypeVar("ResultT")


class AgentConfig(msgspec.Struct, frozen=True):
    """How an agent behaves.

    Attributes:
        max_parallel_tools: tool calls of one reply that run at the same time.
        known_as: gives the tool that a name means which no tool has; the name if none is meant.
    """

    steering_mode: DrainMode = "one-at-a-time"
    follow_up_mode: DrainMode = "one-at-a-time"
    max_parallel_tools: int = 10
    limits: RunLimits = RunLimits()
    retry: RetryPolicy = RetryPolicy()
    timeouts: StreamTimeouts = StreamTimeouts()
    known_as: Callable[[str, Collection[str]], str] = lambda name, _tools: name


class AgentBusyError(RuntimeError):
    """A run is under way: steer it, queue a follow-up, or abort it first."""


class Agent:
    """A conversation with a model.

    Subscribers see every event in order and synchronously; what a subscriber raises ends the run, so that
    nothing goes on that could not be recorded.

    Args:
        provider: the way to the model.
        model: the model; see `use`.
        system_prompt: byte-stable within a run.
        tools: what the model may call, in the order it is told of them.
        session_id: stable over the session.
        messages: the conversation so far.
    """

    def __init__(
        self,
        *,
        provider: Provider,
        model: Model,
        system_prompt: str,
        tools: Sequence[Tool[ToolRun]] = (),
        hooks: Hooks | None = None,
        config: AgentConfig | None = None,
        thinking: ThinkingLevel = "off",
        session_id: str = "",
        messages: Sequence[Message] = (),
    ) -> None:
        config = config or AgentConfig()
        self._provider = provider
        self._model = model
        self.thinking: ThinkingLevel = thinking
        self._system_prompt = self._next_system_prompt = system_prompt
        self._tools: dict[str, Tool[ToolRun]] = {}
        self._schemas: tuple[ToolSchema, ...] = ()
        self._declared: tuple[ToolSchema, ...] = ()
        self.set_tools(tools)
        self._hooks = hooks or FixedHooks()
        self._config = config
        self._session_id = session_id
        self._history = History(messages)
        self._subscribers: list[Subscriber] = []
        self._request_observers: list[Callable[[Request], None]] = []
        self._aside_observers: list[Callable[[SideRequest], None]] = []
        self._context_limiter: ContextLimiter = NoContextLimiter()
        self._fallback: Fallback = NoFallback()
        self._allowance: Allowance = Ledger("run")  # without limits
        self._steering = MessageQueue(config.steering_mode, self._queue_changed)
        self._follow_up = MessageQueue(config.follow_up_mode, self._queue_changed)
        self._task: asyncio.Task[object] | None = None
        self._abort_requested = False

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation so far."""
        return self._history.messages

    @property
    def model(self) -> Model:
        """The model that the next request goes to."""
        return self._model

    @property
    def system_prompt(self) -> str:
        """What every request begins with."""
        return self._system_prompt

    @property
    def tool_schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as the model is told of them, without deferred ones."""
        return self._declared

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the tools the model is told of."""
        return tuple(schema.name for schema in self._declared)

    @property
    def is_running(self) -> bool:
        """Whether a run is under way."""
        return self._task is not None

    def set_tools(self, tools: Iterable[Tool[ToolRun]]) -> None:
        """Let the model call these tools from the next request on, in this order.

        Servers keep what a request begins with, and tools come before everything else: put new ones behind those there
        are. A call that is under way goes on; one of a tool that is gone fails. Deferred ones can be called, too; only
        models that defer tools are told of them.
        """
        named = {tool.schema.name: tool for tool in tools}
        self._tools.clear()
        self._tools.update(named)
        self._schemas = tuple(tool.schema for tool in named.values())
        self._declared = tuple(schema for schema in self._schemas if not schema.deferred)

    def set_system_prompt(self, system_prompt: str) -> None:
        """From the next run on, every request begins with this."""
        self._next_system_prompt = system_prompt
        if not self.is_running:
            self._system_prompt = system_prompt

    def use(self, model: Model, provider: Provider) -> None:
        """Send requests to another model, from the next one on: also within a run, and when one is repeated."""
        self._model = model
        self._provider = provider

    def narrow(self, window: int) -> None:
        """The window of the model in force has only so many tokens; a reply may take a share of them."""
        reply = min(self._model.max_tokens, int(window * _REPLY_SHARE))
        self._model = msgspec.structs.replace(self._model, context_window=window, max_tokens=reply)

    def set_context_limiter(self, context_limiter: ContextLimiter) -> None:
        """From the next run on, this keeps the conversation within the model's window."""
        self._context_limiter = context_limiter

    def set_fallback(self, fallback: Fallback) -> None:
        """From the next run on, this puts another model in the place of one that is given up."""
        self._fallback = fallback

    def set_allowance(self, allowance: Allowance) -> None:
        """From the next run on, this lets requests pass."""
        self._allowance = allowance

    @property
    def allowance(self) -> Allowance:
        """What lets requests pass; those made beside the conversation must ask it too."""
        return self._allowance

    @property
    def retry(self) -> RetryPolicy:
        """What is done about transient errors."""
        return self._config.retry

    @property
    def timeouts(self) -> StreamTimeouts:
        """How long a reply may take."""
        return self._config.timeouts

    def configure(
        self, steering_mode: DrainMode, follow_up_mode: DrainMode, retry: RetryPolicy, timeouts: StreamTimeouts
    ) -> None:
        """Change how queues are handed over, at once, and what is done about failing servers, from the next run on."""
        self._steering.mode, self._follow_up.mode = steering_mode, follow_up_mode
        self._config = msgspec.structs.replace(
            self._config, steering_mode=steering_mode, follow_up_mode=follow_up_mode, retry=retry, timeouts=timeouts
        )

    def refuse_if_busy(self) -> None:
        """Make sure that no run is under way.

        Raises:
            AgentBusyError: a run is under way.
        """
        if self._task is not None:
            raise AgentBusyError("the agent is working: steer it, queue a follow-up, or abort it first")

    def inform(self, message: UserMessage) -> None:
        """Have the model know this with the next request, without asking it for an answer. No event tells of it."""
        self._history.append(message)

    def replace_history(self, messages: Sequence[Message]) -> None:
        """Go on from another conversation.

        Raises:
            AgentBusyError: a run is under way.
        """
        self.refuse_if_busy()
        self._history.replace(messages)

    def condense(self, messages: Sequence[Message]) -> None:
        """Go on from a shorter telling of the same conversation; also within a run, between two requests."""
        self._history.replace(messages)

    def emit(self, event: Event) -> None:
        """Tell all subscribers of something that is no part of a run."""
        self._emit(event)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Pass every event to `subscriber` from now on. Returns a function that ends this."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def observe_requests(self, observer: Callable[[Request], None]) -> None:
        """Show `observer` every request of a run as it is sent, repeated ones too."""
        self._request_observers.append(observer)

    def observe_asides(self, observer: Callable[[SideRequest], None]) -> None:
        """Show `observer` every request that was made beside the conversation, once it is over."""
        self._aside_observers.append(observer)

    def tell_aside(self, aside: SideRequest) -> None:
        """For who asks a model beside the conversation: tell those who observe that it was done."""
        for observer in self._aside_observers:
            observer(aside)

    async def run(self, *prompts: UserMessage) -> AgentEnd:
        """Work on `prompts` to the end.

        Raises:
            AgentBusyError: a run is under way.
        """
        self.refuse_if_busy()
        self._system_prompt = self._next_system_prompt
        asking = ModelCaller(
            provider=lambda: self._provider,
            request=self._request,
            hooks=self._hooks,
            sending=self._sending,
            emit=self._emit,
            context_limiter=self._context_limiter,
            retry=self._config.retry,
            timeouts=self._config.timeouts,
            fallback=self._fallback,
            allowance=self._allowance,
            known_as=self._config.known_as,
        )
        loop = Loop(
            asking=asking,
            executor=ToolExecutor(self._tools, self._hooks, self._emit, self._config.max_parallel_tools),
            steering=self._steering,
            follow_up=self._follow_up,
            history=self._history,
            emit=self._emit,
            allowance=self._allowance,
            limits=self._config.limits,
            hooks=self._hooks,
        )
        return await self.occupy(lambda: loop.run(prompts), loop.interrupted)

    async def occupy(self, work: Callable[[], Awaitable[ResultT]], interrupted: Callable[[], ResultT]) -> ResultT:
        """Do `work` as a run is done: nothing else may begin, what is said meanwhile is queued, and `abort` stops it.

        Args:
            work: what to do.
            interrupted: closes it when it was cancelled; gives the result if that was `abort`.

        Raises:
            AgentBusyError: a run is under way.
        """
        self.refuse_if_busy()
        self._task = asyncio.current_task()
        self._abort_requested = False
        try:
            result = await work()
        except asyncio.CancelledError:
            result = interrupted()
            if not self._was_aborted():
                raise
        else:
            if self._abort_requested:
                await self._outlive_late_abort()
        finally:
            self._task = None
        return result

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nothing begin meanwhile. `abort` does not stop it: for what must not be left half done.

        Raises:
            AgentBusyError: a run is under way.
        """
        self.refuse_if_busy()
        self._task, self._abort_requested = asyncio.current_task(), True
        try:
            yield
        finally:
            self._task = None

    def abort(self) -> None:
        """Stop the run; it ends with reason `aborted` and a history that can be continued."""
        if self._task is not None and not self._abort_requested:
            self._abort_requested = True
            self._task.cancel()

    def steer(self, message: UserMessage) -> None:
        """Give the model this message as soon as the current turn's tools are done."""
        self._steering.put(message)

    def follow_up(self, message: UserMessage) -> None:
        """Give the model this message when it would stop."""
        self._follow_up.put(message)

    @property
    def queued(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The texts that wait to steer, and those for when the model would stop."""
        return self._steering.texts, self._follow_up.texts

    @property
    def has_queued(self) -> bool:
        """Whether messages wait."""
        return bool(self._steering or self._follow_up)

    @property
    def waiting(self) -> Sequence[UserMessage]:
        """The messages that wait, in the order in which they would be given."""
        return (*self._steering.waiting, *self._follow_up.waiting)

    def dequeue(self) -> UserMessage | None:
        """Take back the message queued last, follow-ups first."""
        return self._follow_up.take_last() or self._steering.take_last()

    def clear_queues(self) -> list[UserMessage]:
        """Take back everything that waits, in the order it would have been given."""
        return [*self._steering.clear(), *self._follow_up.clear()]

    def _was_aborted(self) -> bool:
        """Whether it was `abort` that cancelled the run, and nobody else; its cancellation is then done with."""
        return self._abort_requested and self._task is not None and not self._task.uncancel()

    async def _outlive_late_abort(self) -> None:
        """Take the cancellation of an abort that found nothing left to stop: it must not hit our caller."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if not self._was_aborted():
                raise

    def _request(self) -> Request:
        messages, tools = self._history.sendable(), self._schemas if self._model.defers_tools else self._declared
        return Request(self._model, self._system_prompt, messages, tools, self.thinking, self._session_id)

    def _sending(self, request: Request) -> None:
        for observer in self._request_observers:
            observer(request)

    def _queue_changed(self) -> None:
        self._emit(QueueUpdate(self._steering.texts, self._follow_up.texts))

    def _emit(self, event: Event) -> None:
        if isinstance(event, MessageEnd):
            self._history.append(event.message)
        for subscriber in tuple(self._subscribers):
            subscriber(event)
