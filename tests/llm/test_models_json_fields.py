"""What models.json says of a model is in its requests, whatever the wire format."""

import json
from pathlib import Path

import pytest

from kaa.core.messages import Json, UserMessage
from kaa.core.provider import Request, ThinkingLevel
from kaa.llm.models.registry import ModelChoice, ModelRegistry
from kaa.llm.models.resolved import ResolvedModel
from tests.support.catching import asked, body_of

_FORMATS = ("openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai")


def _body(home: Path, api: str, level: ThinkingLevel = "off", **fields: Json) -> dict[str, Json]:
    model = {"id": "m", "reasoning": True, "thinkingLevelMap": {"off": "none"}, **fields}
    provider = {"baseUrl": "http://box/v1", "api": api, "models": [model]}
    (home / "models.json").write_text(json.dumps({"providers": {"box": provider}}))
    resolved = ModelRegistry(home, {}).resolve(ModelChoice("box/m", thinking=level))
    assert isinstance(resolved, ResolvedModel)
    return body_of(asked(resolved, Request(resolved.model, "", (UserMessage("hi"),), thinking=level)))


@pytest.mark.parametrize("api", _FORMATS[:3])
def test_a_router_is_told_which_vendors_it_may_use(tmp_path: Path, api: str) -> None:
    private = {"zdr": True, "data_collection": "deny"}

    body = _body(tmp_path, api, compat={"openRouterRouting": private, "vercelGatewayRouting": {"only": ["a"]}})

    assert body["provider"] == private
    assert body["providerOptions"] == {"gateway": {"only": ["a"]}}


@pytest.mark.parametrize("api", _FORMATS)
def test_sampling_parameters_are_sent(tmp_path: Path, api: str) -> None:
    wanted = {"temperature": 0.5, "top_p": 0.9, "model": "another", "stream": False}
    by_level = {"off": {"top_p": 0.8}}

    body = _body(tmp_path, api, samplingParams=wanted, samplingParamsByThinkingLevel=by_level)

    sampling = body.get("generationConfig", body)
    assert (sampling["temperature"], sampling["top_p"]) == (0.5, 0.8)
    assert body.get("model", "m") == "m"
    assert body.get("stream", True) is True


def test_a_claude_that_thinks_or_takes_no_temperature_is_sent_none(tmp_path: Path) -> None:
    api, wanted = "anthropic-messages", {"temperature": 0.5, "top_p": 0.9, "top_k": 5}

    thinking = _body(tmp_path, api, "high", samplingParams=wanted)
    without = _body(tmp_path, api, samplingParams=wanted, compat={"supportsTemperature": False})

    assert {name for name in wanted if name in thinking} == {"top_p"}
    assert {name for name in wanted if name in without} == {"top_p", "top_k"}


@pytest.mark.parametrize(
    ("compat", "field"),
    [
        ({"thinkingTokenBudgetField": "thinking_budget_tokens"}, "thinking_budget_tokens"),
        ({"supportsThinkingTokenBudget": True}, "thinking_token_budget"),
    ],
)
def test_reasoning_has_a_limit_where_the_server_takes_one(tmp_path: Path, compat: Json, field: str) -> None:
    assert _body(tmp_path, _FORMATS[0], "low", compat=compat)[field] == 2048
    assert _body(tmp_path, _FORMATS[0], "high", compat=compat, maxTokens=3000)[field] == 3000 - 1024
    assert field not in _body(tmp_path, _FORMATS[0], "off", compat=compat)


def test_the_lifetime_of_a_cache_is_that_of_the_model(tmp_path: Path) -> None:
    model = {"id": "m", "promptCache": {"short": 30}}
    box = {"baseUrl": "http://box/v1", "models": [model, {"id": "usual"}]}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"box": box}}))

    found = [ModelRegistry(tmp_path, {}).resolve(ModelChoice(f"box/{name}")) for name in ("m", "usual")]

    assert [resolved.endpoint.kept_seconds for resolved in found] == [30, 300]


def test_servers_get_what_their_flags_say(tmp_path: Path) -> None:
    chat = _body(tmp_path, _FORMATS[0], compat={"vllmPriority": -1})
    responses = _body(tmp_path, _FORMATS[1], compat={"supportsMaxOutputTokens": False})

    assert chat["priority"] == -1
    assert "max_output_tokens" not in responses


@pytest.mark.parametrize("api", _FORMATS[:2])
def test_the_key_of_the_cache_is_sent_as_the_user_wants(tmp_path: Path, api: str) -> None:
    (tmp_path / "models.json").write_text(
        json.dumps(
            {"providers": {"box": {"baseUrl": "https://api.openai.com/v1", "api": api, "models": [{"id": "m"}]}}}
        )
    )

    def key(mode: str) -> Json:
        file = json.loads((tmp_path / "models.json").read_text())
        file["providers"]["box"]["models"][0]["compat"] = {"promptCacheKeyMode": mode}
        (tmp_path / "models.json").write_text(json.dumps(file))
        resolved = ModelRegistry(tmp_path, {}).resolve(ModelChoice("box/m"))
        assert isinstance(resolved, ResolvedModel)
        request = Request(resolved.model, "", (UserMessage("hi"),), session_id="s")
        return body_of(asked(resolved, request)).get("prompt_cache_key")

    assert [key(mode) for mode in ("auto", "enabled", "disabled")] == ["s", "s", None]
