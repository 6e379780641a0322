"""Providers that extensions add, in whole programs."""

import json
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, say

pytestmark = pytest.mark.usefixtures("full_access")

_ENTRY = '{"models": [{"id": "large", "contextWindow": 2000000, "cost": {"input": 1, "output": 1}}], "apiKey": "$ACME"}'

_ECHO = f"""
from kaa.ext.api import ArgumentsChunk, CallChunkStart, ReplyInfo, StreamDone, TextChunk, Usage

def extend(kaa):
    @kaa.provider("acme", {_ENTRY})
    async def stream(request, access):
        if len(request.messages) == 1:
            yield CallChunkStart(0, "1", "bash")
            yield ArgumentsChunk(0, '{{"command": "echo run"}}')
            yield StreamDone("toolUse")
        else:
            yield TextChunk(0, f"{{access.api_key}}: ")
            yield TextChunk(0, request.messages[-1].text)
            yield ReplyInfo(usage=Usage(input=1_000_000))
            yield StreamDone("stop")
"""


def extension(kaa: Kaa, source: str) -> str:
    path = kaa.home / "provider.py"
    path.write_text(source)
    return str(path)


def failing(body: str) -> str:
    return f"""
from kaa.ext.api import TextChunk, StreamDone, ProviderError
def extend(kaa):
    @kaa.provider("acme", {_ENTRY})
    async def stream(request, access):
        {body}
        yield TextChunk(0, "x")
"""


def test_a_function_of_an_extension_answers(kaa: Kaa) -> None:
    kaa.setenv(ACME="key-1")

    done = kaa.run("-e", extension(kaa, _ECHO), "--model", "acme/large", "--mode", "json", "-p", "hi")

    assert done.code == 0, done.err
    last = [event["message"] for event in done.events if event["type"] == "message_end"][-1]
    assert last["content"] == [{"type": "text", "text": "key-1: run"}]
    assert (last["provider"], last["model"], last["usage"]["cost"]["total"]) == ("acme", "large", 1.0)


def test_its_sessions_are_resumed(kaa: Kaa) -> None:
    kaa.setenv(ACME="key-1")
    path = extension(kaa, _ECHO)
    kaa.run("-e", path, "--model", "acme/large", "-p", "hi")

    assert kaa.run("-e", path, "-c", "-p", "again").out == "key-1: again\n"


def test_without_a_key_the_message_names_the_provider(kaa: Kaa) -> None:
    done = kaa.run("-e", extension(kaa, _ECHO), "--model", "acme/large", "-p", "hi")

    assert done.code == 2
    assert "provider.py: providers.acme.apiKey uses $ACME, but that variable is not set" in done.err


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError('bug')", "extension {} failed: ValueError: bug"),
        ("yield 'text'", "extension {} yielded str: yield events such as TextChunk, and StreamDone at the end"),
        ("yield TextChunk(0, 5)", "extension {} yielded an invalid TextChunk: Expected `str`, got `int`"),
        ("raise ProviderError('no credit')", "no credit"),
    ],
)
def test_a_function_that_fails_is_named(kaa: Kaa, body: str, message: str) -> None:
    kaa.setenv(ACME="key-1")
    kaa.settings(retry={"enabled": False})
    path = extension(kaa, failing(body))

    done = kaa.run("-e", path, "--model", "acme/large", "-p", "hi")

    assert done.code == 1
    assert message.format(path) in done.err


def test_an_entry_is_enough_where_kaa_speaks_the_wire_format(kaa: Kaa) -> None:
    with ModelServer([say("Hello.")]) as server:
        entry = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "models": [{"id": "large"}]}
        source = f"def extend(kaa):\n    kaa.register_provider('acme', {entry!r})\n"
        done = kaa.run("-e", extension(kaa, source), "--model", "acme/large", "-p", "hi")

        assert (done.out, done.err) == ("Hello.\n", "")
        assert json.loads(server.requests[0].body)["model"] == "large"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"baseUrl": 5}, "extension {}: providers.acme.baseUrl: Expected `str | null`, got `int`"),
        ({"models": [{"id": "m"}]}, "extension {}: providers.acme.baseUrl: Expected the address of the server"),
    ],
)
def test_a_mistake_in_an_entry_is_told(kaa: Kaa, entry: dict[str, object], message: str) -> None:
    source = f"def extend(kaa):\n    kaa.register_provider('acme', {entry!r})\n"
    path = extension(kaa, source)
    with ModelServer([say("Hello.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-e", path, "-p", "hi")

    assert done.out == "Hello.\n"
    assert message.format(path) in done.err


def test_the_user_s_own_provider_of_this_name_stays(kaa: Kaa, tmp_path: Path) -> None:
    source = _ECHO.replace('"acme"', '"openai"')
    path = extension(kaa, source)
    with ModelServer([say("Hello.")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-e", path, "-p", "hi")

    assert done.out == "Hello.\n"
    assert f"extension {path}: the provider 'openai' is not used" in done.err


def test_names_that_no_query_could_mean_are_refused(kaa: Kaa) -> None:
    names = ["", "Acme", "a b", "-a", "a" * 65, "a/b"]
    sources = [f"def extend(kaa):\n    kaa.register_provider({name!r}, {{}})\n" for name in names]
    (kaa.home / "extensions").mkdir()
    for number, source in enumerate(sources):
        (kaa.home / "extensions" / f"provider_{number}.py").write_text(source)
    with ModelServer([say("Hello.")]) as server:
        kaa.use(server, "openai-completions")
        installed = kaa.run("-p", "hi")
    named = kaa.run("-e", extension(kaa, sources[0]), "-p", "hi")

    assert [name for name in names if f"invalid provider name {name!r}" not in installed.err] == []
    assert named.code == 2
    assert "invalid provider name ''" in named.err


def test_its_models_are_listed(kaa: Kaa) -> None:
    kaa.setenv(ACME="key-1")
    (kaa.home / "extensions").mkdir()
    (kaa.home / "extensions" / "acme.py").write_text(_ECHO)

    done = kaa.run("models", "acme", "--json")

    assert done.code == 0, done.err
    (listed,) = done.events
    assert (listed["provider"], listed["id"], listed["usable"]) == ("acme", "large", True)


def test_an_extension_that_fails_leaves_the_list_of_models(kaa: Kaa) -> None:
    (kaa.home / "extensions").mkdir()
    (kaa.home / "extensions" / "acme.py").write_text("# registers a provider\n1 / 0\n")

    done = kaa.run("models", "claude-opus", "--all")

    assert done.code == 0
    assert "acme.py failed to load (line 2): ZeroDivisionError" in done.err
