"""Old results of tools are left out in batches: what requests cost, what stays byte for byte, and how it is undone."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kaa.core.events import CacheMiss, Event, ResultsShortened
from kaa.core.messages import Json
from kaa.shell.conversation import Conversation
from kaa.shell.options import ContinueSession, ConversationOptions
from tests.support.coding_session import CodingSession
from tests.support.model_script import Answer, Call, ScriptItem, Tokens, say
from tests.support.prefix_cache import PrefixCache
from tests.support.stage import Stage

_LINE = "[Old result of "


def _tokens(bodies: Sequence[dict[str, Json]]) -> tuple[int, float]:
    """Input of all requests, and with what comes from the cache at a tenth."""
    cache = PrefixCache("openai-completions")
    for body in bodies:
        cache.ask(body)
    return cache.asked, cache.asked - 0.9 * cache.read


def _said(body: dict[str, Json]) -> list[bytes]:
    return [json.dumps(message).encode() for message in body["messages"]]


def _left_out(body: dict[str, Json]) -> int:
    return sum(str(message.get("content")).startswith(_LINE) for message in body["messages"])


# ---- the whole session ---------------------------------------------------------------------------------


def test_a_session_of_60_turns_takes_60_percent_and_breaks_the_prefix_once_per_batch(stage: Stage) -> None:
    session = CodingSession(60)
    session.prepare(stage, {"resultMasking": False})
    whole = session.bodies(stage)
    session = CodingSession(60)
    session.prepare(stage, {})

    masked = session.bodies(stage)

    assert len(whole) == len(masked) == 60
    assert _tokens(masked)[0] <= 0.6 * _tokens(whole)[0]
    assert _tokens(masked)[1] <= 0.85 * _tokens(whole)[1]
    batches = 0
    for before, after in pairwise(masked):
        if _left_out(before) == _left_out(after):
            assert _said(after)[: len(before["messages"])] == _said(before)
        else:
            batches += 1
            first = next(at for at, one in enumerate(_said(after)) if one != _said(before)[at])
            assert str(after["messages"][first]["content"]).startswith(_LINE)
            assert not str(before["messages"][first]["content"]).startswith(_LINE)
    assert 2 <= batches <= 5


def test_without_masking_nothing_that_was_sent_changes(stage: Stage) -> None:
    session = CodingSession(40)
    session.prepare(stage, {"resultMasking": False})

    bodies = session.bodies(stage)

    for before, after in pairwise(bodies):
        assert _said(after)[: len(before["messages"])] == _said(before)


# ---- a small one ---------------------------------------------------------------------------------------


@pytest.fixture
def _small(stage: Stage) -> None:
    """Two results are old at once, and leaving them out costs nothing."""
    stage.home.mkdir(parents=True)
    features = {"maskingTurns": 2, "maskingTokens": 400}
    (stage.home / "settings.json").write_text(json.dumps({"features": features}))
    rates = {"input": 1, "output": 1, "cacheRead": 1, "cacheWrite": 0}
    model = {"id": "m", "contextWindow": 100_000, "maxTokens": 10_000, "cost": rates}
    provider = {"baseUrl": f"{stage.server.url}/v1", "api": "openai-completions", "apiKey": "k", "models": [model]}
    (stage.home / "models.json").write_text(json.dumps({"providers": {"lab": provider}}))
    stage.environ = {}
    stage.files["notes.txt"] = b"remember the milk\n" * 60


_SMALL = ConversationOptions(model="lab/m")
_SMALL_AGAIN = ConversationOptions(model="lab/m", session=ContinueSession())
_READ = Answer(calls=(Call("read", '{"path": "notes.txt"}'),))


def _script(reads: int) -> list[ScriptItem]:
    return [*[_READ] * reads, say("done")]


class Ear:
    """Hears a conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.events: list[Event] = []
        conversation.subscribe(self.events.append)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def _bodies(stage: Stage) -> list[dict[str, Any]]:
    return [request.json for request in stage.server.requests]


@pytest.mark.usefixtures("_small")
class TestOneBatch:
    def test_is_an_event(self, stage: Stage) -> None:
        async def scene(conversation: Conversation) -> Ear:
            ear = Ear(conversation)
            stage.server.begin(_script(4))
            await conversation.submit("read")
            return ear

        ear = stage.play(scene, _SMALL)

        (event,) = ear.of(ResultsShortened)
        assert event.results == 2
        assert 400 < event.tokens_saved < 600
        assert event.sentence == (
            f"old results of tools were left out: 2 results, about {event.tokens_saved} tokens less in each request"
        )
        assert [_left_out(body) for body in _bodies(stage)] == [0, 0, 0, 0, 2]

    def test_is_the_same_after_a_restart(self, stage: Stage) -> None:
        async def scene(conversation: Conversation) -> None:
            await conversation.submit("read")

        stage.server.begin(_script(4))
        stage.play(scene, _SMALL)
        before = _said(_bodies(stage)[-1])
        stage.server.begin([say("yes")])

        stage.play(scene, _SMALL_AGAIN)

        assert _said(_bodies(stage)[0])[1 : len(before)] == before[1:]

    def test_is_in_the_session_beside_the_whole_results(self, stage: Stage) -> None:
        async def scene(conversation: Conversation) -> str | None:
            stage.server.begin(_script(4))
            await conversation.submit("read")
            return conversation.session_path

        path = stage.play(scene, _SMALL)

        assert path is not None
        lines = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
        results = [one["id"] for one in lines if one.get("message", {}).get("role") == "toolResult"]
        edits = [one for one in lines if one["type"] == "context_edit"]
        assert [one["targetId"] for one in edits] == results[:2]
        assert all("milk" in json.dumps(one) for one in lines if one["id"] in results)

    def test_going_back_restores_the_results(self, stage: Stage) -> None:
        async def scene(conversation: Conversation) -> None:
            stage.server.begin(_script(2))
            await conversation.submit("first")
            stage.server.begin(_script(1))
            await conversation.submit("second")
            assert _left_out(_bodies(stage)[0]) == 0
            assert _left_out(_bodies(stage)[-1]) == 2
            await conversation.submit("/undo")
            await conversation.submit("/settings features.resultMasking false")
            stage.server.begin(_script(1))
            await conversation.submit("third")

        stage.play(scene, _SMALL)

        assert [_left_out(body) for body in _bodies(stage)] == [0, 0]

    def test_explains_the_cache_miss(self, stage: Stage) -> None:
        stage.files["notes.txt"] = b"remember the milk\n" * 1500
        cached = [Tokens(prompt=8000 * number, cached=8000 * (number - 1)) for number in range(1, 5)]
        asked = [Answer(calls=_READ.calls, usage=tokens) for tokens in cached]

        async def scene(conversation: Conversation) -> Ear:
            ear = Ear(conversation)
            stage.server.begin([*asked, Answer(text=("done",), usage=Tokens(prompt=20_000, cached=1000))])
            await conversation.submit("read")
            return ear

        ear = stage.play(scene, _SMALL)

        (miss,) = ear.of(CacheMiss)
        assert (miss.cause, miss.detail) == ("message", "old results of tools were left out")

    def test_comes_before_a_compaction(self, stage: Stage) -> None:
        stage.files["notes.txt"] = b"remember the milk\n" * 1500  # 6,750 tokens
        long = [Answer(calls=_READ.calls, usage=Tokens(prompt=number)) for number in (7_000, 14_000, 84_000, 90_000)]

        async def scene(conversation: Conversation) -> Ear:
            ear = Ear(conversation)
            stage.server.begin([*long, say("done")])
            await conversation.submit("read")
            return ear

        ear = stage.play(scene, _SMALL)

        assert sum(event.results for event in ear.of(ResultsShortened)) == 2
        assert [type(event).__name__ for event in ear.events if "Compaction" in type(event).__name__] == []


# ---- extensions ----------------------------------------------------------------------------------------

_EXTENSION = """
import msgspec
from kaa.ext.api import ShortenResults, TextContent, ToolResultMessage

def extend(kaa):
    @kaa.tool(risk="read", lasting=True)
    async def rules() -> str:
        "The rules."
        return "never stop " * 20

    @kaa.shorten_results
    async def shorten(request, context):
        results = [one for one in request.messages if isinstance(one, ToolResultMessage)]
        if len(results) < 2 or any(one.text == "short" for one in results):
            return None
        stranger = msgspec.structs.replace(results[0], tool_call_id="stranger")
        shorter = [msgspec.structs.replace(one, content=(TextContent("short"),)) for one in (*results, stranger)]
        return ShortenResults(tuple(shorter), "because")
"""


def test_an_extension_shortens_results_but_not_those_that_last(stage: Stage) -> None:
    stage.install(_EXTENSION)
    stage.server.begin([Answer(calls=(Call("rules"),)), _READ, say("done")])

    async def scene(conversation: Conversation) -> Ear:
        ear = Ear(conversation)
        await conversation.submit("read")
        return ear

    ear = stage.play(scene)

    (event,) = ear.of(ResultsShortened)
    assert (event.results, event.reason) == (1, "because")
    results = [message["content"] for message in _bodies(stage)[-1]["messages"] if message["role"] == "tool"]
    assert results == ["never stop " * 20, "short"]
