"""The questions of the live suite themselves, put to a scripted server: they must be able to pass and to fail."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from kaa.core.messages import Usage
from kaa.core.provider import Model
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import Transport
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.wire import Endpoint
from tests.live import probe
from tests.support.model_server import ModelServer, ScriptItem, Tokens, call, say
from tests.support.tables import each

_APIS = ("openai-completions", "anthropic-messages", "openai-responses", "google-generative-ai")


def _resolved(server: ModelServer, api: str) -> ResolvedModel:
    base_url = server.url if api in ("anthropic-messages", "google-generative-ai") else f"{server.url}/v1"
    return ResolvedModel(Model("m", "p", api, input=("text", "image")), Endpoint(base_url))


def _ask(
    api: str, script: list[ScriptItem], question: Callable[[ResolvedModel, Transport], Awaitable[object]]
) -> object:
    async def run(server: ModelServer) -> object:
        transport = LiveTransport()
        try:
            return await question(_resolved(server, api), transport)
        finally:
            await transport.close()

    with ModelServer(script) as server:
        return asyncio.run(run(server))


@pytest.mark.parametrize("api", _APIS)
def test_what_a_good_model_answers_passes(api: str) -> None:
    warm = msgspec.structs.replace(say("pong"), usage=Tokens(prompt=9000, cached=8000))

    _ask(api, [say("Pong")], probe.text)
    _ask(api, [call("weather", city="Oslo"), say("Frogs, 7 degrees.")], probe.tool)
    _ask(api, [say("Red.")], probe.image)
    usage = _ask(api, [say("pong"), warm], probe.cache)

    assert isinstance(usage, Usage)
    assert usage.cache_read == 8000


@each("api", _APIS)
@each(
    ("script", "question"),
    [
        ([say("I cannot.")], probe.text),
        ([say("It is sunny.")], probe.tool),
        ([call("weather", city="Bergen")], probe.tool),
        ([call("weather", city="Oslo"), say("It is sunny.")], probe.tool),
        ([say("Blue.")], probe.image),
    ],
)
def test_what_a_bad_one_answers_does_not(
    api: str, script: list[ScriptItem], question: Callable[[ResolvedModel, Transport], Awaitable[object]]
) -> None:
    with pytest.raises(AssertionError):
        _ask(api, script, question)


def test_the_long_prompt_is_longer_than_any_vendor_wants() -> None:
    with ModelServer([say("pong"), say("pong")]) as server:

        async def ask() -> None:
            transport = LiveTransport()
            await probe.cache(_resolved(server, "openai-completions"), transport)
            await transport.close()

        asyncio.run(ask())
        first = server.requests[0].json["messages"][0]["content"]

    assert len(first) > 4096 * 5
