"""A long session over real HTTP in each wire format: what was sent once is sent again byte for byte, whatever happens.

Providers keep the beginning of a prompt; a single byte that changes in it costs the whole conversation again.
"""

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from kaa.core.events import Event, MessageUpdate
from kaa.core.messages import Json, user_message
from kaa.shell.conversation import Conversation
from kaa.shell.options import ConversationOptions
from tests.support.model_script import OVERLOADED, Answer, Call, Fault, ScriptItem, call, say
from tests.support.model_server import Received
from tests.support.model_wire import Wire
from tests.support.prefix_cache import PrefixCache
from tests.support.stage import Stage
from tests.support.wire_formats import FORMATS, without_marks

_TURNS = 50
_DOCUMENT = Path(__file__).parents[2] / "docs/caching.md"

_LATE_TOOL = """
from kaa.ext.api import Command
import msgspec
from kaa.core.tool import TypedTool, text_result

class Nothing(msgspec.Struct):
    "No arguments."

async def aardvark(arguments, run):
    return text_result("found")

async def activate(arguments, context):
    context.activate_tool("aardvark")

def extend(api):
    api.register_tool(TypedTool("aardvark", "Comes late, its name first.", Nothing, aardvark), exposure="deferred")
    api.register_command("activate", "Activate the late tool", activate)
"""


def _set_up(stage: Stage, wire: Wire) -> None:
    """Two models: the one whose requests are looked at, and a guest of another format. And a tool for later."""
    guest: Wire = "anthropic-messages" if wire != "anthropic-messages" else "openai-completions"
    model = {"reasoning": True, "input": ["text", "image"], "contextWindow": 1_000_000, "maxTokens": 64_000}
    providers = {
        name: {"baseUrl": _base_url(stage, api), "api": api, "apiKey": "k", "models": [{"id": name, **model}]}
        for name, api in (("host", wire), ("guest", guest))
    }
    stage.home.mkdir(parents=True, exist_ok=True)
    (stage.home / "models.json").write_text(json.dumps({"providers": providers}))
    (stage.home / "settings.json").write_text(
        json.dumps(
            {
                "retry": {"baseDelayMs": 1},
                "compaction": {"enabled": False},
                "features": {"resultMasking": False},  # it and compaction are what may change what was sent
            }
        )
    )
    stage.environ = {}
    stage.install(_LATE_TOOL)
    stage.files["notes.txt"] = b"".join(b"line %d of notes that go on and on\n" % number for number in range(60))


def _base_url(stage: Stage, wire: Wire) -> str:
    return f"{stage.server.url}/v1" if wire.startswith("openai") else stage.server.url


def _reads(count: int = 1) -> Answer:
    """Thinks, says something and reads the notes, several times side by side."""
    calls = tuple(Call("read", json.dumps({"path": "notes.txt", "offset": number + 1})) for number in range(count))
    return Answer(text=("I will ", "look."), thinking=("Where ", "is it?"), calls=calls)


_ORDINARY: tuple[ScriptItem, ...] = (_reads(), _reads(3), say("Found it."))
# What else can happen in a turn; others are ordinary.
_SCRIPTS: dict[int, tuple[ScriptItem, ...]] = {
    3: (OVERLOADED, *_ORDINARY),
    5: (Answer(text=("Half an ", "answer"), fault=Fault("reset")), *_ORDINARY),
    7: (call("no_such_tool"), Answer(calls=(Call("read", '{"path": "notes.t'),)), say("I see.")),
    9: (call("read", path="missing.txt"), say("It is missing.")),
    11: (_reads(12), say("That was much.")),
    13: (Answer(text=("Half ", "a wo"), fault=Fault("stall")),),
    15: (Answer(text=("As far as it", " goes"), stop="length"),),
    45: (call("aardvark"), say("Late, but there.")),
}


async def _turn(conversation: Conversation, stage: Stage, number: int) -> Sequence[Received]:
    """One message of the user's and all it leads to; returns the requests."""
    stage.server.begin(_SCRIPTS.get(number, _ORDINARY))
    match number:
        case 17:
            conversation.naming.set_name("another name")
        case 19:
            await conversation.reload()
        case 21 | 22:  # the guest answers in between, with its own tools running
            await conversation.models.choose("guest/guest")
        case 23:
            await conversation.models.choose("host/host")
        case 25:
            await conversation.steer(user_message("before that, one thing"))
            await conversation.steer(user_message("and another, while you work"))
        case 27:
            await conversation.follow_up(user_message("and when you are done, this"))
            stage.server.begin([*_ORDINARY, say("Done too.")])
        case 29:
            stage.files["notes.txt"] += b"changed"
        case 44:
            await conversation.submit("/activate")
        case _:
            pass
    await conversation.submit(f"Question {number}: what does it say?")
    assert stage.server.remaining == 0
    return list(stage.server.requests)


def _session(stage: Stage, wire: Wire) -> list[Received]:
    """All requests of the session to the host's model."""
    _set_up(stage, wire)

    async def scene(conversation: Conversation) -> list[Received]:
        def stop_what_stalls(event: Event) -> None:
            if turn == 13 and isinstance(event, MessageUpdate) and "half" in str(event).lower():
                conversation.abort()

        conversation.subscribe(stop_what_stalls)
        requests: list[Received] = []
        for turn in range(1, _TURNS + 1):
            requests += await _turn(conversation, stage, turn)
        return requests

    requests = stage.play(scene, ConversationOptions(model="host/host:high"))
    stage.server.release()
    return [request for request in requests if b"guest" not in _addressed(request)]


def _addressed(request: Received) -> bytes:
    """Where a request names its model."""
    return request.path.encode() + str(request.json.get("model")).encode()


@pytest.mark.parametrize("wire", get_args(Wire))
def test_nothing_that_was_sent_ever_changes(stage: Stage, wire: Wire) -> None:
    said = FORMATS[wire].said
    bodies = [request.json for request in _session(stage, wire)]

    cache = PrefixCache(wire)
    late = 0
    for body in bodies:
        cache.ask(body)
    for old, new in pairwise(map(without_marks, bodies)):
        assert msgspec.json.encode(new[said]).startswith(msgspec.json.encode(old[said]).removesuffix(b"]"))
        assert _tools(new)[: len(_tools(old))] == _tools(old)
        assert _rest(old, said) == _rest(new, said)
        late += len(_tools(new)) - len(_tools(old))
    assert late == 1
    assert len(bodies) > 2 * _TURNS
    _is_as_documented(wire, cache, bodies)


def _tools(body: Json) -> list[Json]:
    tools: list[Json] = body["tools"]
    return list(tools[0]["functionDeclarations"]) if "functionDeclarations" in tools[0] else tools


def _rest(body: Json, said: str) -> dict[str, Json]:
    return {key: value for key, value in body.items() if key not in ("tools", said)}


def _is_as_documented(wire: Wire, cache: PrefixCache, bodies: Sequence[Json]) -> None:
    """The table in the documentation says what is measured here."""
    first = len(msgspec.json.encode(bodies[0]))
    row = re.search(rf"\| `{wire}` \| ([\d,]+) \| [\d,]+ \| ([\d.]+) %", _DOCUMENT.read_text("utf-8"))
    assert row is not None, f"{wire}: first request {first:,} bytes, {cache.share:.1%} of {len(bodies)} from the cache"
    size, share = int(row[1].replace(",", "")), float(row[2]) / 100
    assert first == pytest.approx(size, rel=0.1)
    assert cache.share == pytest.approx(share, abs=0.01)
