"""What is concluded from what servers say to a key, and what it costs to find out."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kaa.llm.http.live import LiveTransport
from kaa.llm.models.registry import ModelChoice, ModelRegistry
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.models.verification import KeyVerdict, verify
from tests.support.agents import run
from tests.support.key_server import KeyServer
from tests.support.patience import HANG_SECONDS

_RIGHT = "sk-right-0123456789"
_WRONG = "sk-wrong-0123456789"
_ANSWER = b'{"choices": [{"message": {"role": "assistant", "content": "Yes"}, "finish_reason": "length"}]}'


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyServer]:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with KeyServer(_RIGHT) as running:
        yield running


def judge(
    server_url: str, home: Path, key: str, api: str = "openai-completions", *, is_named: bool = True
) -> KeyVerdict:
    base_url = server_url if api == "anthropic-messages" else f"{server_url}/v1"
    provider = {"baseUrl": base_url, "api": api, "apiKey": "$NONE", "models": [{"id": "m"}]}
    (home / "models.json").write_bytes(msgspec.json.encode({"providers": {"lab": provider}}))
    model = ModelRegistry(home, {}).resolve(ModelChoice(provider="lab", api_key=key))
    assert isinstance(model, ResolvedModel)

    async def scenario() -> KeyVerdict:
        transport = LiveTransport(idle_timeout=HANG_SECONDS)
        try:
            return await verify(model, transport, is_named=is_named)
        finally:
            await transport.close()

    return run(scenario())


@pytest.mark.parametrize("api", ["openai-completions", "anthropic-messages"])
def test_a_list_that_is_not_for_everybody_tells(server: KeyServer, tmp_path: Path, api: str) -> None:
    assert judge(server.url, tmp_path, _RIGHT, api) == KeyVerdict("works")
    refused = judge(server.url, tmp_path, _WRONG, api)

    assert refused.state == "refused"
    assert _WRONG not in refused.said
    assert refused.said.endswith(")."), "no model and no advice: who asked knows where the key is"
    assert set(server.asked) == {("GET", "/v1/models")}  # costs nothing


def test_where_the_list_is_for_everybody_a_few_words_are_asked_for(server: KeyServer, tmp_path: Path) -> None:
    server.is_public = True
    server.reply = 200, _ANSWER

    assert judge(server.url, tmp_path, _RIGHT).state == "works"
    assert judge(server.url, tmp_path, _WRONG).state == "refused"
    assert ("POST", "/v1/chat/completions") in server.asked


def test_where_there_is_no_list_a_few_words_are_asked_for(server: KeyServer, tmp_path: Path) -> None:
    server.is_public, server.list_status = True, 404
    server.reply = 200, _ANSWER

    assert judge(server.url, tmp_path, _RIGHT).state == "works"
    assert judge(server.url, tmp_path, _WRONG).state == "refused"


def test_a_wrong_key_that_is_called_a_bad_request(server: KeyServer, tmp_path: Path) -> None:
    server.wrong_key = 400, b'{"error": "Incorrect API key provided"}'

    assert judge(server.url, tmp_path, _RIGHT).state == "works"
    assert judge(server.url, tmp_path, _WRONG).state == "refused"


def test_a_key_that_may_not_list_may_still_answer(server: KeyServer, tmp_path: Path) -> None:
    server.is_public, server.list_status = True, 403
    server.reply = 200, _ANSWER

    assert judge(server.url, tmp_path, _RIGHT).state == "works"


@pytest.mark.parametrize("status", [402, 429])
def test_a_key_without_credit_is_a_key(server: KeyServer, tmp_path: Path, status: int) -> None:
    server.is_public = True
    server.reply = status, b'{"error": {"message": "no credit"}}'

    verdict = judge(server.url, tmp_path, _RIGHT)

    assert verdict.state == "works"
    assert verdict.said


@pytest.mark.parametrize(("status", "state"), [(500, "unreachable"), (418, "unverified")])
def test_what_says_nothing_about_the_key(server: KeyServer, tmp_path: Path, status: int, state: str) -> None:
    server.is_public = True
    server.reply = status, b"<html>"

    assert judge(server.url, tmp_path, _RIGHT).state == state


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    assert judge("http://127.0.0.1:1", tmp_path, _RIGHT).state == "unreachable"


def test_a_model_nobody_knows_is_not_asked(server: KeyServer, tmp_path: Path) -> None:
    server.is_public = True

    assert judge(server.url, tmp_path, _RIGHT, is_named=False).state == "unverified"
    assert {method for method, _ in server.asked} == {"GET"}
