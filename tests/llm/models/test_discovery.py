"""Servers that are asked which models they have."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from kaa.core.errors import NetworkError, ProviderError
from kaa.core.messages import Json
from kaa.llm.http.transport import Headers, HttpRequest, HttpResponse
from kaa.llm.models.discovery import find_model
from kaa.llm.models.registry import ModelChoice, ModelRegistry, NoModelError
from kaa.llm.models.resolved import ResolvedModel

_LOCAL = {"OPENAI_BASE_URL": "http://localhost:8080/v1"}


class _Server:
    """Answers every request with one body, or with an error."""

    def __init__(self, answer: Json | bytes | ProviderError, status: int = 200) -> None:
        self._answer = answer
        self._status = status
        self.requests: list[HttpRequest] = []

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        self.requests.append(request)
        if isinstance(self._answer, ProviderError):
            raise self._answer
        yield HttpResponse(self._status, Headers(), self._body())

    async def _body(self) -> AsyncIterator[bytes]:
        yield self._answer if isinstance(self._answer, bytes) else msgspec.json.encode(self._answer)

    async def close(self) -> None:
        pass


def _find(home: Path, environ: dict[str, str], server: _Server, choice: ModelChoice | None = None) -> ResolvedModel:
    return asyncio.run(find_model(ModelRegistry(home, environ), choice or ModelChoice(), server))


def test_the_first_model_of_a_local_server_is_taken(tmp_path: Path) -> None:
    server = _Server({"object": "list", "data": [{"id": "qwen", "owned_by": "me"}, {"id": "other"}]})

    resolved = _find(tmp_path, _LOCAL, server)

    assert (resolved.model.provider, resolved.model.id, resolved.model.name) == ("openai", "qwen", "qwen")
    assert (resolved.endpoint.base_url, resolved.endpoint.api_key) == ("http://localhost:8080/v1", None)
    assert [(request.method, request.url) for request in server.requests] == [
        ("GET", "http://localhost:8080/v1/models")
    ]
    assert "authorization" not in dict(server.requests[0].headers)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("nope/x", ["box is asked for 'nope/x', which is in no list of models"]),
        ("nope/x:high", ["box is asked for 'nope/x', which is in no list of models"]),
        ("box/nope/x", []),
        ("mine", []),
        (None, []),
    ],
)
def test_a_model_that_nobody_lists_is_named(tmp_path: Path, query: str | None, told: list[str]) -> None:
    provider = {"baseUrl": "http://box/v1", "models": [{"id": "mine"}]}
    (tmp_path / "models.json").write_bytes(msgspec.json.encode({"providers": {"box": provider}}))
    notices: list[str] = []

    asyncio.run(
        find_model(ModelRegistry(tmp_path, {}), ModelChoice(query), _Server({"data": []}), notify=notices.append)
    )

    assert notices == told


def test_a_named_model_is_not_asked_for(tmp_path: Path) -> None:
    server = _Server(NetworkError("down"))

    resolved = _find(tmp_path, _LOCAL, server, ModelChoice("qwen3:8b"))

    assert resolved.model.id == "qwen3:8b"
    assert server.requests == []


@pytest.mark.parametrize(
    "fields", [{"max_model_len": 8192}, {"context_length": 8192}, {"meta": {"n_ctx": 8192, "n_ctx_train": 32768}}]
)
def test_the_window_the_server_tells_is_used(tmp_path: Path, fields: Json) -> None:
    model = _find(tmp_path, _LOCAL, _Server({"data": [{"id": "m", **fields}]})).model

    assert (model.context_window, model.max_tokens) == (8192, 2048)


def test_behind_a_gateway_the_best_model_kaa_knows_is_taken(tmp_path: Path) -> None:
    environ = _LOCAL | {"OPENAI_API_KEY": "key"}
    server = _Server({"data": [{"id": "whisper"}, {"id": "gpt-4.1"}, {"id": "gpt-5-mini"}]})

    resolved = _find(tmp_path, environ, server)

    assert resolved.model.id == "gpt-5-mini"
    assert resolved.model.context_window == 272_000
    assert dict(server.requests[0].headers)["authorization"] == "Bearer key"


def test_a_gateway_that_lists_nothing_is_trusted_to_have_the_default(tmp_path: Path) -> None:
    resolved = _find(tmp_path, _LOCAL | {"OPENAI_API_KEY": "key"}, _Server({}, status=404))

    assert resolved.model.id == "gpt-6.2-sol"


@pytest.mark.parametrize("base_url", ["http://box:1", "http://box:1/v1"])
def test_an_anthropic_server_is_asked_in_its_own_way(tmp_path: Path, base_url: str) -> None:
    server = _Server({"data": [{"id": "m", "type": "model"}]})

    resolved = _find(tmp_path, {"ANTHROPIC_BASE_URL": base_url}, server)

    assert (resolved.model.provider, resolved.model.api) == ("anthropic", "anthropic-messages")
    assert server.requests[0].url == "http://box:1/v1/models"
    assert dict(server.requests[0].headers)["anthropic-version"]


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (_Server(NetworkError("cannot connect.")), "cannot connect"),
        (_Server({}, status=500), "it answered with status 500"),
        (_Server({"models": []}), "its answer is not a list of models"),
        (_Server(b"<html>\xff"), "its answer is not a list of models"),
        (_Server(b'{"data": [], "x": ' + b"[" * 100_000), "its answer is not a list of models"),
        (_Server({"data": []}), "it has none"),
        (_Server(b" " * (5 << 20)), "its list is too long"),
    ],
)
def test_a_server_that_does_not_say_is_told_of(tmp_path: Path, server: _Server, reason: str) -> None:
    with pytest.raises(NoModelError) as caught:
        _find(tmp_path, _LOCAL, server)

    assert f"localhost:8080 was asked which models it has, but: {reason}" in caught.value.reason
    assert "--model" in caught.value.reason


def test_a_server_in_googles_format_is_asked_in_its_own_way(tmp_path: Path) -> None:
    models = [
        {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
        {"name": "models/g", "inputTokenLimit": 8192, "supportedGenerationMethods": ["generateContent"]},
    ]
    server = _Server({"models": models})

    resolved = _find(tmp_path, {"GOOGLE_GEMINI_BASE_URL": "http://box:1/v1beta"}, server)

    assert (resolved.model.id, resolved.model.api, resolved.model.context_window) == ("g", "google-generative-ai", 8192)
    assert server.requests[0].url == "http://box:1/v1beta/models"
