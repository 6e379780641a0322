"""Proxies that auth.json names for one provider: used for its requests, and not looked up before they are."""

import asyncio
import json
from pathlib import Path

import pytest

from kaa.core.errors import NetworkError
from kaa.core.messages import Json, UserMessage
from kaa.core.provider import Request, StreamDone
from kaa.llm.auth.errors import CredentialError
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from kaa.llm.models.adapters import create_provider
from kaa.llm.models.registry import ModelChoice, ModelRegistry
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.models.verification import KeyVerdict, verify
from tests.support.model_server import ModelServer, say
from tests.support.patience import HANG_SECONDS

_MODELS = {"lab": {"baseUrl": "http://model.test/v1", "models": [{"id": "m"}]}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    (tmp_path / "models.json").write_text(json.dumps({"providers": _MODELS}))
    return tmp_path


def _auth_json(home: Path, **env: str) -> None:
    _entries(home, lab={"type": "api_key", "key": "k", "env": env})


def _entries(home: Path, **entries: Json) -> None:
    path = home / "auth.json"
    path.write_text(json.dumps(entries))
    path.chmod(0o600)


def _resolve(home: Path, query: str = "lab/m") -> ResolvedModel:
    resolved = ModelRegistry(home, {}).resolve(ModelChoice(query))
    assert isinstance(resolved, ResolvedModel)
    return resolved


async def _ask(resolved: ResolvedModel, *, proxy: str | None = None) -> None:
    transport = LiveTransport(connect_timeout=HANG_SECONDS, proxy=proxy)
    try:
        request = Request(resolved.model, "", [UserMessage("q")])
        events = [event async for event in create_provider(resolved, transport).stream(request)]
        assert events[-1] == StreamDone("stop")
    finally:
        await transport.close()


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_requests_to_the_provider_go_through_its_proxy(
    home: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy" if variable != "ALL_PROXY" else "all_proxy", "http://127.0.0.1:1")
    with ModelServer([say("hi")]) as proxy:
        _auth_json(home, **{variable: proxy.url})

        asyncio.run(_ask(_resolve(home), proxy="http://127.0.0.1:1"))

        assert [request.path for request in proxy.requests] == ["http://model.test/v1/chat/completions"]


def test_an_exemption_of_the_provider_holds_against_the_proxy_of_all(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([say("hi")]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        _auth_json(home, NO_PROXY="model.test")

        with pytest.raises(NetworkError, match=r"cannot connect to model\.test \("):
            asyncio.run(_ask(_resolve(home)))

        assert proxy.requests == []


def test_a_key_is_verified_through_it(home: Path) -> None:
    with ModelServer([say("hi")]) as proxy:
        _auth_json(home, HTTP_PROXY=proxy.url)

        async def check() -> KeyVerdict:
            transport = LiveTransport(connect_timeout=HANG_SECONDS)
            try:
                return await verify(_resolve(home), transport)
            finally:
                await transport.close()

        assert asyncio.run(check()).state == "works"
        assert proxy.requests


def test_other_providers_are_reached_as_ever(home: Path) -> None:
    _entries(home, lab={"type": "api_key", "key": "k", "env": {"HTTPS_PROXY": "http://p"}}, openai=_KEY)

    assert _resolve(home, "openai/gpt-5.2").endpoint.network_variables == {}


_KEY: Json = {"type": "api_key", "key": "k"}


def test_commands_run_when_a_model_is_used_and_not_when_models_are_listed(home: Path) -> None:
    marker = home / "ran"
    account = {"type": "api_key", "key": "k", "env": {"CLOUDFLARE_ACCOUNT_ID": f"!touch {marker}; echo id"}}
    lab = {"type": "api_key", "key": f"!touch {marker}; echo k", "env": {"HTTP_PROXY": f"!touch {marker}; echo p.test"}}
    _entries(home, lab=lab, **{"cloudflare-workers-ai": account})
    registry = ModelRegistry(home, {})

    listed = {one.model.provider for one in registry.listed(usable=True)}
    problems = registry.obstacles()

    assert listed == {"cloudflare-workers-ai", "lab"}
    assert problems == ()
    assert {model.provider for model in registry.available()} == listed
    assert not marker.exists()
    assert _resolve(home).endpoint.network_variables == {"HTTP_PROXY": "p.test"}
    assert marker.exists()


def test_a_proxy_that_cannot_be_told_is_no_reason_to_go_without(home: Path) -> None:
    _auth_json(home, HTTP_PROXY="$NOT_SET")

    with pytest.raises(CredentialError, match=r"lab\.env\.HTTP_PROXY uses \$NOT_SET"):
        _resolve(home)


def test_a_password_of_a_proxy_is_shown_nowhere(home: Path) -> None:
    _auth_json(home, HTTP_PROXY="http://me:hunter2@127.0.0.1:1")
    resolved = _resolve(home)

    with pytest.raises(NetworkError, match=r"127\.0\.0\.1:1") as caught:
        asyncio.run(_ask(resolved))

    request = HttpRequest("GET", "http://x", variables=resolved.endpoint.network_variables)
    shown = f"{caught.value!r} {resolved!r} {request!r}"
    assert "hunter2" not in shown
