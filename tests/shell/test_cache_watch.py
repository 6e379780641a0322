"""Each cause of a cache miss is found and priced, and a cache that works is not talked about."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest

from kaa.core.agent import Agent, AgentConfig
from kaa.core.errors import OverloadedError
from kaa.core.events import BranchChanged, CacheMiss, Event, MessageEnd
from kaa.core.messages import AssistantMessage, Message, TextContent, Usage, UserMessage
from kaa.core.provider import Model, ModelRates
from kaa.core.retry import RetryPolicy
from kaa.core.tool import Tool, ToolRun
from kaa.llm.scripted import ScriptedProvider, ScriptItem, reply
from kaa.session.context import build_context
from kaa.session.entries import Custom
from kaa.session.past_usage import past_misses
from kaa.session.recorder import SessionRecorder
from kaa.session.store import MemoryStore, read_entry
from kaa.shell.accounting import CacheWatch
from tests.support.agents import echo_tool, run, say

RATES = ModelRates(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
MODEL = Model("claude", "anthropic", "anthropic-messages", cost=RATES)
EARLIER = UserMessage("hi", 900_000)
OTHER = Model("gpt", "openai", "openai-completions", cost=RATES)


class Watched:
    """An agent over a script whose cache is watched, and a clock that goes when it is told to."""

    def __init__(
        self,
        *replies: ScriptItem,
        model: Model = MODEL,
        messages: Sequence[Message] = (),
        tools: Iterable[Tool[ToolRun]] = (),
    ) -> None:
        self.store = MemoryStore("/project")
        self.now = 1_000_000
        self.provider = ScriptedProvider(replies)
        self.agent = Agent(
            provider=self.provider,
            model=model,
            system_prompt="You are a test.",
            tools=(echo_tool(), *tools),
            messages=messages,
            config=AgentConfig(retry=RetryPolicy(base_seconds=0)),
        )
        recorder = SessionRecorder(self.store, build_context(self.store))
        self.kept_seconds: int | None = 300
        self.watch = CacheWatch(
            self.agent,
            recorder,
            lambda: self.kept_seconds,
            lambda: past_misses(self.store, self.store.tree.nodes),
            lambda: self.now,
        )
        self.events: list[Event] = []
        self.agent.subscribe(self.events.append)

    def ask(self, text: str = "go") -> None:
        run(self.agent.run(say(text)))

    @property
    def told(self) -> list[CacheMiss]:
        return [event for event in self.events if isinstance(event, CacheMiss)]

    @property
    def only(self) -> CacheMiss:
        (miss,) = self.told
        return miss

    @property
    def kept(self) -> list[Any]:
        entries = (read_entry(self.store, node) for node in self.store.tree.nodes)
        return [entry.data for entry in entries if isinstance(entry, Custom)]


def used(fresh: int = 0, read: int = 0, write: int = 0, calls: bool = False) -> ScriptItem:
    """A reply whose prompt took so many tokens."""
    usage = Usage(input=fresh, output=5, cache_read=read, cache_write=write)
    return reply("ok", usage=usage, tool_calls=[("echo", {"text": "x"})] if calls else ())


def said(read: int = 0, write: int = 20_000, *, at: int = 1_000_000, model: Model = MODEL) -> AssistantMessage:
    """A reply of an earlier run."""
    usage = Usage(input=10, output=5, cache_read=read, cache_write=write)
    return AssistantMessage((TextContent("ok"),), model.api, model.provider, model.id, usage, "stop", at)


def test_a_cache_that_works_is_not_talked_about() -> None:
    scene = Watched(used(10, 0, 20_000), used(10, 20_000, 300), used(10, 20_300, 200))

    for _ in range(3):
        scene.ask()

    assert scene.told == []
    assert scene.kept == []


def test_small_differences_are_no_miss() -> None:
    """OpenAI keeps prompts in steps of 128 tokens."""
    scene = Watched(used(5_100), used(500, 4_992), model=OTHER)

    scene.ask()
    scene.ask()

    assert scene.told == []


def test_what_nobody_can_explain_was_dropped_by_the_server() -> None:
    scene = Watched(used(10, 0, 20_000), used(10, 0, 20_300))

    scene.ask()
    scene.ask()

    assert (scene.only.cause, scene.only.tokens) == ("unknown", 20_010)
    assert scene.only.cost == pytest.approx((20_010 * 3.75 - 20_010 * 0.3) / 1e6)


def test_input_that_is_not_written_to_the_cache_costs_the_plain_price() -> None:
    scene = Watched(used(20_000), used(5_000, 15_360), used(20_500), model=OTHER)

    for _ in range(3):
        scene.ask()

    last = scene.told[-1]
    assert (last.cause, last.tokens) == ("unknown", 20_360)
    assert last.cost == pytest.approx(20_360 * (3.0 - 0.3) / 1e6)


def test_a_switched_model_has_to_read_everything() -> None:
    scene = Watched(used(10, 0, 20_000), used(20_400))

    scene.ask()
    scene.agent.use(OTHER, scene.provider)
    scene.ask()

    assert scene.only.cause == "model"
    assert scene.only.detail == "the model was switched from anthropic/claude to openai/gpt"


def test_a_switched_thinking_level_counts_where_it_is_part_of_the_prompt() -> None:
    scenes = [Watched(used(10, 20_000), used(20_400, 0), model=model) for model in (MODEL, OTHER)]

    for scene in scenes:
        scene.ask()
        scene.agent.thinking = "high"
        scene.ask()

    assert [scene.only.cause for scene in scenes] == ["thinking", "unknown"]


@pytest.mark.parametrize(("model", "cause"), [(MODEL, "thinking"), (OTHER, "unknown")])
def test_thoughts_that_the_server_forgets_are_told(model: Model, cause: str) -> None:
    thought = Usage(input=10, output=5, cache_read=20_000)
    scene = Watched(
        reply("ok", thinking="hm", usage=thought, tool_calls=[("echo", {"text": "x"})]),
        reply("ok", usage=Usage(input=10, output=5, cache_read=20_010, cache_write=20_000)),
        used(10, 20_000, 20_500),
        model=model,
    )

    scene.ask()
    scene.ask()

    assert (scene.only.cause, scene.only.tokens) == (cause, 20_020)


def test_time_that_passed_is_told() -> None:
    scene = Watched(used(10, 0, 20_000), used(10, 0, 20_300))

    scene.ask()
    scene.now += 12 * 60_000
    scene.ask()

    assert scene.only.cause == "expired"
    assert "12 minutes passed" in scene.only.detail


def test_a_prompt_that_is_kept_for_an_hour_has_not_expired_before() -> None:
    scene = Watched(used(10, 0, 20_000), used(10, 0, 20_300), used(10, 0, 20_600))
    scene.kept_seconds = 3600

    scene.ask()
    scene.now += 12 * 60_000
    scene.ask()
    scene.now += 61 * 60_000
    scene.ask()

    assert [miss.cause for miss in scene.told] == ["unknown", "expired"]
    assert "60 or more" in scene.told[1].detail


def test_what_nobody_asked_to_keep_is_not_missed() -> None:
    scene = Watched(used(10, 0, 20_000), used(20_300, 0, 0))

    scene.ask()
    scene.kept_seconds = None
    scene.ask()

    assert scene.told == []


def test_going_back_costs_nothing_where_the_cache_has_the_beginning() -> None:
    scene = Watched(used(10, 0, 20_000), used(10, 20_010, 300), used(10, 20_000, 100))

    scene.ask("x" * 80_000)
    scene.ask("y")
    scene.agent.replace_history(scene.agent.messages[:2])
    scene.agent.emit(BranchChanged("abcd"))
    scene.ask("z")

    assert scene.told == []


def test_a_history_that_changed_is_told() -> None:
    scene = Watched(used(10, 0, 20_000), used(10, 20_010, 10_300), used(10, 0, 28_000))

    scene.ask("x" * 80_000)
    scene.ask("y" * 40_000)
    (_, first, *rest) = scene.agent.messages
    scene.agent.replace_history([say("summary"), first, *rest])
    scene.agent.emit(BranchChanged("abcd"))
    scene.ask("z")

    assert scene.only.cause == "message"
    assert scene.only.detail == "the conversation continued from another entry of the session"
    assert 8_000 < scene.only.tokens < 13_000, "the long first message is gone, so only the second is paid for again"


def test_a_rewritten_message_is_named() -> None:
    scene = Watched(used(10, 0, 20_000), used(10, 20_010, 10_300), used(10, 0, 28_000))

    scene.ask("x" * 80_000)
    scene.ask("y" * 40_000)
    (first, *rest) = scene.agent.messages
    scene.agent.replace_history([msgspec.structs.replace(first, content="short"), *rest])
    scene.ask("z")

    assert (scene.only.cause, scene.only.detail) == ("message", "message 1 of 3 (of the user) changed")


@pytest.mark.parametrize(("tokens", "cause"), [(3_000, "too_small"), (30_000, "not_cached")])
def test_a_server_without_a_cache_is_told_of_once(tokens: int, cause: str) -> None:
    scene = Watched(*[used(tokens + 100 * turn) for turn in range(4)], model=OTHER)

    for _ in range(4):
        scene.ask()

    assert scene.only.cause == cause
    assert [kept["cause"] for kept in scene.kept] == [cause]


def test_requests_that_were_repeated_or_broke_off_are_no_break() -> None:
    scene = Watched(
        used(10, 0, 20_000), OverloadedError("busy"), used(10, 20_010, 200), reply("half", usage=None), used(10, 20_200)
    )

    for _ in range(4):
        scene.ask()

    assert scene.told == []


def test_a_miss_is_told_when_the_reply_was_seen() -> None:
    scene = Watched(used(10, 0, 20_000), used(10, 0, 20_300, calls=True), used(10, 20_310, 50))

    scene.ask()
    scene.ask()

    place = scene.events.index(scene.only)
    assert [type(event) for event in scene.events[:place]].count(MessageEnd) == 4


class TestAfterARestart:
    def test_a_cache_that_is_still_warm_is_not_talked_about(self) -> None:
        scene = Watched(used(10, 20_000, 50), messages=[EARLIER, said()])

        scene.ask()

        assert scene.told == []

    def test_the_first_request_has_nothing_to_be_compared_with(self) -> None:
        scene = Watched(used(10, 0, 20_100), messages=[EARLIER, said()])

        scene.ask()

        assert scene.only.cause == "first_request"

    def test_the_session_tells_how_long_ago_it_was(self) -> None:
        scene = Watched(used(10, 0, 20_100), messages=[EARLIER, said()])
        scene.now += 3 * 3600_000

        scene.ask()

        assert scene.only.cause == "expired"
        assert "3 hours passed" in scene.only.detail

    def test_the_session_tells_which_model_it_was(self) -> None:
        scene = Watched(used(20_100), messages=[EARLIER, said()], model=OTHER)

        scene.ask()

        assert scene.only.cause == "model"

    def test_what_was_condensed_since_cannot_be_compared(self) -> None:
        summary = msgspec.structs.replace(say("a summary"), timestamp=2_000_000)
        scene = Watched(used(10, 0, 20_100), messages=[summary, said()])

        scene.ask()

        assert scene.told == []


class TestPrices:
    def test_an_unknown_price_stays_unknown(self) -> None:
        scene = Watched(used(20_000), used(8_000, 12_800), used(20_500), model=Model("m", "p", "openai-completions"))

        for _ in range(3):
            scene.ask()

        assert scene.told[-1].cost is None
        assert [data["tokens"] for data in scene.kept] == [7_200, 20_500]

    def test_a_free_model_misses_for_nothing(self) -> None:
        free = Model("m", "p", "openai-completions", cost=ModelRates())
        scene = Watched(used(10, 20_000), used(20_500), model=free)

        scene.ask()
        scene.ask()

        assert scene.only.cost == 0.0

    def test_misses_are_kept_in_the_session(self) -> None:
        scene = Watched(used(10, 0, 20_000), used(10, 0, 20_300))

        scene.ask()
        scene.ask()

        (kept,) = scene.kept
        assert msgspec.convert(kept | {"type": "cache_miss"}, CacheMiss) == scene.only

    def test_cheap_ones_too(self) -> None:
        scene = Watched(used(10, 0, 2_000), used(10, 0, 2_300))

        scene.ask()
        scene.ask()

        assert scene.only.cause == "unknown"
        assert len(scene.kept) == 1
