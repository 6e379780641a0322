"""What a conversation has used, from its events and from the session it goes on, and what its window is filled with.

Where less came out of the provider's cache than could have, the cause is found. What could have come is the part of the
request before that is sent again: the server told its size with the reply. Side requests, such as those for summaries,
are not seen here, so they break nothing.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from kaa.core.agent import Agent
from kaa.core.events import (
    BranchChanged,
    CacheMiss,
    CacheMissCause,
    CompactionEnd,
    Event,
    MessageEnd,
    ResultsShortened,
)
from kaa.core.messages import AssistantMessage, Message, ThinkingContent, Usage, UserMessage, now_ms
from kaa.core.provider import ModelRates, Request
from kaa.core.spending import Purpose, Spending, UsageTally
from kaa.core.usage import (
    ContextMeter,
    ContextParts,
    Spent,
    UsageReport,
    context_parts,
    prompt_tokens,
    tokens_in,
)
from kaa.session.entries import Custom
from kaa.session.past_usage import MISS_ENTRY, last_turn, past_misses, past_usage, usage_aside
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.session.tree import Node
from kaa.shell.models.switching import Models

if TYPE_CHECKING:
    from kaa.core.largest import ContextItem, ToolShare
    from kaa.core.prefix import PrefixChange
    from kaa.session.edits import Shortened
    from kaa.session.figures import SessionFigures

# The smallest prompt that providers keep (Anthropic: 1024 tokens for most models; OpenAI: 1024 tokens, and then in
# steps of 128). What is less was never to be expected.
_SMALLEST_TOKENS = 1024
# The largest such minimum that a provider has (Anthropic, for some models).
_SURELY_KEPT_TOKENS = 4096
# How far an estimate from lengths may be off before a difference means something.
_ESTIMATE_ERROR = 0.15
# What holds for every request to a server.
_LASTING: frozenset[CacheMissCause] = frozenset({"not_cached", "too_small"})


class Accounting:
    """Knows what was used so far.

    Args:
        store: the session, with the replies of earlier runs.
        recorder: writes into the session what the provider's cache failed to give.
        prompt: gives the texts that the system prompt consists of, each with its name.

    Raises:
        SessionReadError: the session cannot be read.
    """

    def __init__(
        self,
        agent: Agent,
        models: Models,
        store: SessionStore,
        recorder: SessionRecorder,
        prompt: Callable[[], Sequence[tuple[str, str]]],
    ) -> None:
        self._agent = agent
        self._store = store
        self._prompt = prompt
        self._tally = UsageTally(models.is_free)
        self._counted = len(store.tree)
        self._tally.recall(use for _, use in past_usage(store, store.tree.nodes))
        self._meter = ContextMeter(context_parts(agent.system_prompt, agent.tool_schemas, ()).total)
        CacheWatch(agent, recorder, lambda: models.kept_seconds, lambda: past_misses(store, store.tree.nodes))
        agent.subscribe(self._tally.observe)

    def report(self) -> UsageReport:
        """Tokens, money, and how much of the window is taken. Costs what is new since it was asked last."""
        self._count_aside()
        context = self._meter.measure(self._agent.messages, self._agent.model.context_window)
        return UsageReport(self._tally.reply, self._tally.turn, self._tally.total, context)

    def context_parts(self) -> ContextParts:
        """What the next request consists of, by an estimate. Goes through the whole conversation."""
        return context_parts(self._agent.system_prompt, self._agent.tool_schemas, self._agent.messages)

    def largest_items(self) -> "tuple[ContextItem, ...]":
        from kaa.core.largest import largest  # lazy: only for who asks

        return largest(self._agent.messages)

    def by_tool(self) -> "tuple[ToolShare, ...]":
        from kaa.core.largest import by_tool  # lazy, as above

        return by_tool(self._agent.messages)

    async def shortened(self) -> "Shortened":
        """The results that the model sees in a shorter form. Reads all that it sees.

        Raises:
            SessionReadError: the session cannot be read.
        """
        from kaa.session.context import visible_path  # lazy, as above
        from kaa.session.edits import shortened

        path = self._store.tree.path()
        return await asyncio.to_thread(lambda: shortened(self._store, visible_path(self._store, path)[1]))

    def prompt_items(self) -> "tuple[ContextItem, ...]":
        from kaa.core.largest import ContextItem  # lazy, as above

        return tuple(ContextItem(name, tokens_in(text)) for name, text in self._prompt())

    async def spending(self) -> Spending:
        """Where everything went. Reads the whole session.

        Raises:
            SessionReadError: the session cannot be read.
        """
        report = self.report()
        turn = report.turn if self._tally.has_run else None
        tree = self._store.tree
        nodes, path = tuple(tree.nodes), frozenset(node.id for node in tree.path())
        return await asyncio.to_thread(self._spending, turn, nodes, path)

    async def figures(self) -> "SessionFigures":
        """What the session consists of. Reads all of it.

        Raises:
            SessionReadError: the session cannot be read.
        """
        from kaa.session.figures import figures  # lazy, as above

        tree = self._store.tree
        return await asyncio.to_thread(figures, self._store, tuple(tree.nodes), tree.leaf)

    def _spending(self, turn: Spent | None, nodes: Sequence[Node], path: frozenset[str]) -> Spending:
        if turn is None:  # it was an earlier kaa's
            past = past_usage(self._store, last_turn(self._store, nodes))
            turn = sum((self._tally.spent(use) for _, use in past), Spent())
        branch, total = Spent(), Spent()
        by_model: dict[str, Spent] = {}
        by_purpose: dict[Purpose, Spent] = {}
        for node, use in past_usage(self._store, nodes):
            spent = self._tally.spent(use)
            total += spent
            if node.id in path:
                branch += spent
            model = f"{use.provider}/{use.model}"
            by_model[model] = by_model.get(model, Spent()) + spent
            by_purpose[use.purpose] = by_purpose.get(use.purpose, Spent()) + spent
        dearest_first = dict(sorted(by_model.items(), key=lambda item: _dearness(item[1]), reverse=True))
        misses = tuple(past_misses(self._store, nodes))
        return Spending(turn, branch, total, dearest_first, by_purpose, misses)

    def _count_aside(self) -> None:
        """Take in what was used beside the conversation: the session has it with what it was used for."""
        nodes = self._store.tree.nodes
        model = self._agent.model
        for node in nodes[self._counted :]:
            if (use := usage_aside(self._store, node, model.provider, model.id)) is not None:
                self._tally.aside(use)
        self._counted = len(nodes)


def _dearness(spent: Spent) -> tuple[float, int]:
    usage = spent.usage
    return usage.cost.total, prompt_tokens(usage) + usage.output


class _Asked(msgspec.Struct, frozen=True):
    """A request as it was sent. `at`: Unix time in milliseconds."""

    request: Request
    at: int


class _Before(msgspec.Struct, frozen=True):
    """The last request that was answered.

    Attributes:
        request: None if it was sent by an earlier run.
        tokens: of its prompt, as the server counted.
        at: when it was sent, in Unix milliseconds.
    """

    request: Request | None
    model: tuple[str, str]
    tokens: int
    at: int


class CacheWatch:
    """Tells of cache misses as events, and keeps them in the session.

    Args:
        kept_seconds: how long servers keep prompts; None where nobody asked them to, so that nothing is missed.
        clock: the time, in Unix milliseconds.
    """

    def __init__(
        self,
        agent: Agent,
        recorder: SessionRecorder,
        kept_seconds: Callable[[], int | None],
        earlier: Callable[[], Iterable[CacheMiss]],
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._agent = agent
        self._recorder = recorder
        self._kept_seconds = kept_seconds
        self._earlier = earlier
        self._told: set[CacheMissCause] | None = None  # of the session; read when it matters
        self._clock = clock
        self._asked: _Asked | None = None
        self._before = _last_answered(agent.messages)
        self._caching = {_model_of(message) for message in agent.messages if _tells_of_cache(message)}
        self._broken_by: str | None = None
        self._waiting: CacheMiss | None = None
        agent.observe_requests(self._sent)
        agent.subscribe(self._observe)

    def _sent(self, request: Request) -> None:
        self._asked = _Asked(request, self._clock())

    def _observe(self, event: Event) -> None:
        match event:
            case MessageEnd(message=AssistantMessage() as reply):
                self._answered(reply)
                return  # told with the next event, when everybody has seen the reply
            case BranchChanged():
                self._broken_by = "the conversation continued from another entry of the session"
            case CompactionEnd(error=None, aborted=False):
                self._broken_by = "the conversation was compacted"
            case ResultsShortened(reason=reason):
                self._broken_by = reason
            case _:
                pass
        miss, self._waiting = self._waiting, None
        if miss is not None:
            self._tell(miss)

    def _answered(self, reply: AssistantMessage) -> None:
        asked, usage = self._asked, reply.usage
        tokens = prompt_tokens(usage)
        if asked is None or not tokens:
            return  # broke off before the server told what it took
        if _tells_of_cache(reply):
            self._caching.add(_model_of(reply))
        self._waiting = self._miss(asked, usage, tokens)
        model = asked.request.model
        self._before = _Before(asked.request, (model.provider, model.id), tokens, asked.at)
        self._asked, self._broken_by = None, None

    def _miss(self, asked: _Asked, usage: Usage, tokens: int) -> CacheMiss | None:
        before, model = self._before, asked.request.model
        if before is None or self._kept_seconds() is None:
            return None
        from kaa.core.prefix import repeated  # lazy: the first request has nothing to compare with

        share = 1.0 if before.request is None else repeated(before.request, asked.request)
        expected = min(round(before.tokens * share), tokens)
        missed = min(expected - usage.cache_read, usage.input + usage.cache_write)
        noise = _SMALLEST_TOKENS if share == 1.0 else max(_SMALLEST_TOKENS, expected * _ESTIMATE_ERROR)
        if missed < noise:
            return None
        cause, detail = self._cause(before, asked, expected)
        return CacheMiss(cause, detail, missed, _price(missed, usage, model.cost))

    def _cause(self, before: _Before, asked: _Asked, expected: int) -> tuple[CacheMissCause, str]:
        from kaa.core.prefix import keeps_thinking  # lazy, as above

        model, change = asked.request.model, _change(before, asked.request)
        if change is not None and change.segment == "model":
            return "model", change.detail
        if (model.provider, model.id) not in self._caching:
            if expected < _SURELY_KEPT_TOKENS:
                return "too_small", f"the server may not keep prompts as small as {expected:,} tokens"
            return "not_cached", f"{model.provider} has not reported a cache so far"
        if change is not None:
            return change.segment, (change.segment == "message" and self._broken_by) or change.detail
        idle = asked.at - before.at
        lifetime = 1000 * (self._kept_seconds() or 0)
        if idle > lifetime:
            kept = f"{lifetime // 60_000} or more"
            return "expired", f"{_minutes(idle)} passed since the last request; servers keep a prompt for {kept}"
        if before.request is None:
            return "first_request", "the session was reopened; its instructions or tools may have changed"
        if keeps_thinking(model) and _forgets_thinking(before.request, asked.request):
            return "thinking", "with your message the server leaves out what the model thought before it"
        return "unknown", "nothing changed: the server dropped its cache"

    def _tell(self, miss: CacheMiss) -> None:
        if miss.cause in _LASTING:
            if self._told is None:
                self._told = {earlier.cause for earlier in self._earlier()}
            if miss.cause in self._told:
                return  # it goes on like this with every request
            self._told.add(miss.cause)
        data = {"cause": miss.cause, "detail": miss.detail, "tokens": miss.tokens, "cost": miss.cost}
        self._recorder.note(Custom(custom_type=MISS_ENTRY, data=data))
        self._agent.emit(miss)


def _change(before: _Before, request: Request) -> "PrefixChange | None":
    from kaa.core.prefix import PrefixChange, compare  # lazy, as above

    if before.request is not None:
        return compare(before.request, request)
    provider, model = before.model
    if before.model == (request.model.provider, request.model.id):
        return None
    return PrefixChange("model", f"the model was switched from {provider}/{model} to {request.model.qualified_id}")


def _forgets_thinking(previous: Request, current: Request) -> bool:
    """Whether a message of the user's ends a turn in which the model thought.

    Anthropic's models before Claude Opus 4.5 are then not shown these thoughts again, so that the prompt is another one
    from there on. https://platform.claude.com/docs/en/build-with-claude/extended-thinking
    """
    begun = current.messages[len(previous.messages) :]
    if not any(isinstance(message, UserMessage) for message in begun):
        return False
    for message in reversed(current.messages[: len(previous.messages) + 1]):
        if isinstance(message, UserMessage):
            return False
        if isinstance(message, AssistantMessage) and any(isinstance(b, ThinkingContent) for b in message.content):
            return True
    return False


def _last_answered(messages: Sequence[Message]) -> _Before | None:
    """The last request of an earlier run, as far as its reply tells."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and (tokens := prompt_tokens(message.usage)):
            # A summary that is younger stands for much of what that request was about.
            condensed = messages[0].timestamp > message.timestamp
            return None if condensed else _Before(None, _model_of(message), tokens, message.timestamp)
    return None


def _tells_of_cache(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and bool(message.usage.cache_read or message.usage.cache_write)


def _model_of(message: Message) -> tuple[str, str]:
    return (message.provider, message.model) if isinstance(message, AssistantMessage) else ("", "")


def _price(missed: int, usage: Usage, rates: ModelRates | None) -> float | None:
    """What `missed` tokens cost more than they would have out of the cache, in US dollars."""
    if rates is None or (rates.input and not rates.cache_read):
        return None  # a cache that costs nothing is one whose price nobody wrote down
    asked = rates.for_prompt(prompt_tokens(usage))
    written = min(missed, usage.cache_write)
    paid = written * asked.cache_write + (missed - written) * asked.input
    return max(0.0, paid - missed * asked.cache_read) / 1_000_000


def _minutes(milliseconds: int) -> str:
    minutes = round(milliseconds / 60_000)
    if minutes < 120:
        return f"{minutes} minutes"
    return f"{round(minutes / 60)} hours" if minutes < 48 * 60 else f"{round(minutes / 1440)} days"
