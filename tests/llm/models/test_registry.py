"""Which model a choice means, where it is, and with which key; and what is said if there is none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kaa.core.messages import Json
from kaa.llm.auth.errors import CredentialError
from kaa.llm.catalogue import known_models
from kaa.llm.http.live import LiveTransport
from kaa.llm.models.adapters import create_provider
from kaa.llm.models.registry import ModelChoice, ModelRegistry, NoModelError
from kaa.llm.models.resolved import ResolvedModel, UnlistedServer
from kaa.llm.wire import Endpoint

_ANTHROPIC = {"ANTHROPIC_API_KEY": "key-a"}
_OPENAI = {"OPENAI_API_KEY": "key-o"}
_LOCAL = {"OPENAI_BASE_URL": "http://localhost:8080/v1"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def _models_json(home: Path, **providers: Json) -> None:
    (home / "models.json").write_text(json.dumps({"providers": providers}))


def _auth_json(home: Path, **keys: str) -> None:
    path = home / "auth.json"
    path.write_text(json.dumps({name: {"type": "api_key", "key": key} for name, key in keys.items()}))
    path.chmod(0o600)


def _resolve(home: Path, environ: dict[str, str], query: str | None = None, **choice: str) -> ResolvedModel:
    resolved = ModelRegistry(home, environ).resolve(ModelChoice(query, **choice))  # type: ignore[arg-type] # test data
    assert isinstance(resolved, ResolvedModel)
    return resolved


def _name(resolved: ResolvedModel) -> str:
    return f"{resolved.model.provider}/{resolved.model.id}"


@pytest.mark.parametrize(
    ("environ", "query", "name"),
    [
        (_ANTHROPIC, None, "anthropic/claude-opus-5-5"),
        (_OPENAI, None, "openai/gpt-6.2-sol"),
        (_ANTHROPIC | _OPENAI, "openai/gpt-4.1", "openai/gpt-4.1"),
        (_ANTHROPIC | _OPENAI, "sonnet", "anthropic/claude-sonnet-5-5"),
        (_ANTHROPIC | _OPENAI, "anthropic/haiku", "anthropic/claude-haiku-5-5"),
        (_ANTHROPIC | _OPENAI, "openai/gpt-6", "openai/gpt-6"),
        (_ANTHROPIC | _OPENAI, "OpenAI/gpt-4.1", "openai/gpt-4.1"),
        (_ANTHROPIC | {"OPENROUTER_API_KEY": "k"}, "sonnet", "anthropic/claude-sonnet-5-5"),
        ({"OPENROUTER_API_KEY": "k"}, "sonnet", "openrouter/anthropic/claude-sonnet-5.5"),
        ({"OPENROUTER_API_KEY": "k"}, "openai/gpt-oss-120b", "openrouter/openai/gpt-oss-120b"),
        (_OPENAI | {"GROQ_API_KEY": "k"}, "openai/gpt-oss-120b", "openai/gpt-oss-120b"),
        ({"GROQ_API_KEY": "k"}, "gpt-oss-120b", "groq/openai/gpt-oss-120b"),
        (_ANTHROPIC | _OPENAI, "openai/o3:high", "openai/o3"),
        (_ANTHROPIC, "claude-opus-4-1", "anthropic/claude-opus-4-1"),
        (_ANTHROPIC, "claude-next-9", "anthropic/claude-next-9"),
        (_OPENAI, "gpt-9-mini", "openai/gpt-9-mini"),
        (_OPENAI, "o9", "openai/o9"),
        ({"GEMINI_API_KEY": "k"}, "gemini-9-flash", "google/gemini-9-flash"),
        ({"GROQ_API_KEY": "k"}, "llama-9-versatile", "groq/llama-9-versatile"),
        (_ANTHROPIC | _LOCAL, "qwen3:8b", "openai/qwen3:8b"),
        (_ANTHROPIC | _LOCAL, "openai/some/path", "openai/some/path"),
    ],
)
def test_what_is_asked_for_is_found(home: Path, environ: dict[str, str], query: str | None, name: str) -> None:
    assert _name(_resolve(home, environ, query)) == name


def test_the_provider_can_be_given_apart(home: Path) -> None:
    assert _name(_resolve(home, _ANTHROPIC | _OPENAI, provider="openai")) == "openai/gpt-6.2-sol"
    assert _name(_resolve(home, _ANTHROPIC | _OPENAI, "mini", provider="openai")) == "openai/gpt-5.4-mini"
    assert _name(_resolve(home, _ANTHROPIC | _OPENAI, "openai/new-1", provider="openai")) == "openai/new-1"


def test_settings_give_the_default_that_a_wish_overrides(home: Path) -> None:
    environ = _ANTHROPIC | _OPENAI
    default = {"default_provider": "openai", "default_model": "gpt-4.1:low"}

    assert _name(_resolve(home, environ, **default)) == "openai/gpt-4.1"
    assert _name(_resolve(home, environ, provider="openai", **default)) == "openai/gpt-4.1"
    assert _name(_resolve(home, environ, provider="anthropic", **default)) == "anthropic/claude-opus-5-5"
    assert _name(_resolve(home, environ, "sonnet", **default)) == "anthropic/claude-sonnet-5-5"


def test_a_model_nobody_knows_is_taken_at_its_word(home: Path) -> None:
    claude = _resolve(home, _ANTHROPIC, "anthropic/claude-next-9").model
    gpt = _resolve(home, _OPENAI, "openai/gpt-9").model

    assert (claude.api, claude.reasoning, claude.input, claude.cost) == (
        "anthropic-messages",
        True,
        ("text", "image"),
        None,
    )
    assert (gpt.api, gpt.reasoning, gpt.cost) == ("openai-responses", True, None)


@pytest.mark.parametrize(
    ("query", "choice", "level"),
    [
        ("gpt-5.2", {}, "medium"),
        ("gpt-5.2:high", {}, "high"),
        ("gpt-5.2:high", {"thinking": "low"}, "low"),
        ("gpt-5.2", {"default_thinking": "xhigh"}, "xhigh"),
        ("gpt-5.2", {"thinking": "minimal"}, "low"),
        ("gpt-5.2", {"thinking": "max"}, "xhigh"),
        ("gpt-5-mini", {"thinking": "off"}, "minimal"),
        ("gpt-6-sol:max", {}, "max"),
        ("gpt-4.1:high", {}, "off"),
        (None, {"default_model": "gpt-5.2:low"}, "low"),
        (None, {"default_model": "gpt-5.2:low", "thinking": "high"}, "high"),
    ],
)
def test_the_thinking_level_is_the_nearest_the_model_has(
    home: Path, query: str | None, choice: dict[str, str], level: str
) -> None:
    assert _resolve(home, _OPENAI, query, **choice).thinking == level


def test_keys_come_from_flag_file_environment_and_models_json_in_this_order(home: Path) -> None:
    _models_json(home, openai={"apiKey": "${FROM}-models"})
    environ = {"FROM": "key"}

    found = [_resolve(home, environ, provider="openai")]
    found.append(_resolve(home, environ | _OPENAI, provider="openai"))
    _auth_json(home, openai="key-file")
    found.append(_resolve(home, environ | _OPENAI, provider="openai"))
    found.append(_resolve(home, environ | _OPENAI, provider="openai", api_key="key-flag"))

    keys = [resolved.endpoint.api_key for resolved in found]
    assert keys == ["key-models", "key-o", "key-file", "key-flag"]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (_ANTHROPIC, Endpoint("https://api.anthropic.com", "key-a")),
        (_ANTHROPIC | {"ANTHROPIC_AUTH_TOKEN": "token"}, Endpoint("https://api.anthropic.com", "key-a")),
        ({"ANTHROPIC_AUTH_TOKEN": "token"}, Endpoint("https://api.anthropic.com", "token", auth="bearer")),
        (
            _ANTHROPIC | {"ANTHROPIC_BASE_URL": "http://gateway/x"},
            Endpoint("http://gateway/x", "key-a"),
        ),
    ],
)
def test_the_environment_is_read_as_the_sdk_reads_it(home: Path, environ: dict[str, str], expected: Endpoint) -> None:
    endpoint = _resolve(home, environ, "anthropic/opus").endpoint

    assert (endpoint.base_url, endpoint.api_key, endpoint.auth) == (expected.base_url, expected.api_key, expected.auth)


def test_models_json_sets_address_headers_and_compat(home: Path) -> None:
    _models_json(
        home,
        openai={"baseUrl": "http://proxy/v1", "headers": {"x-team": "$TEAM"}, "compat": {"supportsStore": True}},
        box={
            "baseUrl": "http://box/v1",
            "api": "anthropic-messages",
            "apiKey": "k",
            "authHeader": True,
            "headers": {"x-a": "1", "x-b": "1"},
            "models": [{"id": "m", "headers": {"x-b": "2"}, "compat": {"allowEmptySignature": True}}],
        },
    )
    environ = _OPENAI | {"TEAM": "blue", "OPENAI_BASE_URL": "http://ignored/v1"}

    proxied = _resolve(home, environ, "openai/gpt-5.2").endpoint
    box = _resolve(home, environ, "box/m").endpoint

    assert (proxied.base_url, proxied.headers) == ("http://proxy/v1", (("x-team", "blue"),))
    assert proxied.compat.supports_store
    assert proxied.thinking_levels["off"] == "none"
    assert (box.base_url, box.auth, box.headers) == ("http://box/v1", "bearer", (("x-a", "1"), ("x-b", "2")))
    assert box.compat.allow_empty_signature


def test_a_server_without_models_must_be_asked(home: Path) -> None:
    local = ModelRegistry(home, _LOCAL).resolve(ModelChoice(thinking="high"))
    gateway = ModelRegistry(home, _LOCAL | _OPENAI).resolve(ModelChoice())

    assert isinstance(local, UnlistedServer)
    assert isinstance(gateway, UnlistedServer)
    assert (local.endpoint.base_url, local.endpoint.api_key) == ("http://localhost:8080/v1", None)
    assert local.known == ()
    assert [known.model.id for known in gateway.known] == [known.model.id for known in known_models("openai")]


def test_the_user_s_own_model_is_the_default_of_the_user_s_own_server(home: Path) -> None:
    _models_json(home, openai={"models": [{"id": "mine"}]}, box={"baseUrl": "http://box/v1", "models": [{"id": "m"}]})

    assert _name(_resolve(home, _LOCAL)) == "openai/mine"
    assert _name(_resolve(home, {})) == "box/m"
    assert _name(_resolve(home, _ANTHROPIC, "box/m")) == "box/m"


def test_available_models_are_those_with_a_key_or_without_need_of_one(home: Path) -> None:
    _models_json(
        home,
        box={"baseUrl": "http://box/v1", "models": [{"id": "free"}, {"id": "foreign", "api": "telepathy"}]},
        paid={"baseUrl": "http://paid/v1", "apiKey": "$PAID", "models": [{"id": "paid-1"}]},
        vault={"baseUrl": "http://vault/v1", "apiKey": "!exit 1", "models": [{"id": "vault-1"}]},
    )

    available = {model.id for model in ModelRegistry(home, _ANTHROPIC).available()}

    assert available == {*(known.model.id for known in known_models("anthropic")), "free", "vault-1"}


@pytest.mark.parametrize(
    ("environ", "query", "choice", "reason"),
    [
        ({}, None, {}, "no API key, and no local server"),
        (
            {},
            "sonnet",
            {},
            "no API key for anthropic: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or run  kaa login anthropic",
        ),
        ({}, "openai/gpt-5.2", {}, "no API key for openai: set OPENAI_API_KEY, or run  kaa login openai"),
        ({}, None, {"default_provider": "openai"}, "no API key for openai"),
        (_OPENAI, None, {"provider": "nobody"}, "there is no provider 'nobody': `kaa models --all` lists those"),
        (_OPENAI, None, {"provider": "opnai"}, "there is no provider 'opnai': did you mean openai"),
        (
            _ANTHROPIC | _OPENAI,
            "gpt-6",
            {},
            "'gpt-6' fits several models, write one of them: openai/gpt-6.2-sol, openai/gpt-6.2-astra",
        ),
        (_ANTHROPIC | _OPENAI, "gpt-9", {}, "no model is called 'gpt-9'"),
        (_ANTHROPIC, "gpt-5", {}, "gpt-5 is a model of openai, but there is no API key for openai: set OPENAI_API_KEY"),
        ({"GROQ_API_KEY": "k"}, "gpt-5", {}, "gpt-5 is a model of openai"),
        (_OPENAI, "sonnet", {}, "but there is no API key for anthropic"),
        (_ANTHROPIC, "gpt5", {}, "no model is called 'gpt5': did you mean openai/gpt-5 "),
        (_OPENAI, "gpt5", {}, "no model is called 'gpt5': did you mean openai/gpt-5 "),
        (_ANTHROPIC, "claude-sonet-5-5", {}, "did you mean anthropic/claude-sonnet-5-5"),
        (
            _ANTHROPIC,
            "sonnet:hihg",
            {},
            "'sonnet:hihg' does not end in a thinking level: did you mean sonnet:high? The levels",
        ),
        (_ANTHROPIC, "anthropic/sonnet:hihg", {}, "did you mean sonnet:high?"),
        (_ANTHROPIC, "nonsense", {}, "needs its provider: anthropic/nonsense"),
    ],
)
def test_without_a_model_the_reason_is_told(
    home: Path, environ: dict[str, str], query: str | None, choice: dict[str, str], reason: str
) -> None:
    with pytest.raises(NoModelError) as caught:
        _resolve(home, environ, query, **choice)

    assert reason in caught.value.reason
    assert caught.value.auth_file == home / "auth.json"
    assert caught.value.models_file == home / "models.json"


def test_a_misspelt_model_is_met_with_suggestions(home: Path) -> None:
    with pytest.raises(NoModelError) as caught:
        _resolve(home, _ANTHROPIC | _OPENAI, "claude-sonet-5-5")

    assert "anthropic/claude-sonnet-5-5" in caught.value.suggestions


def test_problems_of_models_json_are_kept_and_told(home: Path) -> None:
    _models_json(home, broken={"baseUrl": 1}, empty={"models": [{"id": "m"}]}, box={"baseUrl": "http://box/v1"})
    registry = ModelRegistry(home, {})

    with pytest.raises(NoModelError) as caught:
        registry.resolve(ModelChoice("broken/m", provider="broken"))

    assert [problem.partition("models.json: ")[2] for problem in registry.problems] == [
        "providers.broken.baseUrl: Expected `str | null`, got `int`",
        "providers.empty.baseUrl: Expected the address of the server, such as http://localhost:8080/v1",
    ]
    assert caught.value.problems == registry.problems
    assert "providers.broken.baseUrl" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "mode", "obstacle"),
    [
        ('{"openai": {"type": "api_key", "key": "k"}}', 0o644, "auth.json (mode 644): run  chmod 600"),
        ('{"openai": ', 0o600, "auth.json is not a JSON object with"),
        ('{"openai": "k"}', 0o600, "auth.json: openai: Expected `object`"),
        ('{"openai": {"type": "api_key", "key": "$NOT_SET"}}', 0o600, "uses $NOT_SET, but that variable is not set"),
    ],
)
def test_keys_that_are_there_but_of_no_use_are_told(home: Path, content: str, mode: int, obstacle: str) -> None:
    (home / "auth.json").write_text(content)
    (home / "auth.json").chmod(mode)

    with pytest.raises(NoModelError) as caught:
        _resolve(home, {})

    (told,) = caught.value.problems
    assert obstacle in told


def test_an_empty_key_in_auth_json_is_a_mistake(home: Path) -> None:
    _auth_json(home, openai="")

    with pytest.raises(CredentialError, match=r"auth\.json: openai\.key is empty"):
        _resolve(home, {})


def test_servers_of_models_json_that_cannot_be_used_are_told(home: Path) -> None:
    box = {"baseUrl": "http://box/v1", "apiKey": "$NOT_SET", "models": [{"id": "m"}]}
    _models_json(home, box=box, gem={"baseUrl": "http://g", "api": "smoke", "models": [{"id": "g-1"}]})

    with pytest.raises(NoModelError) as caught:
        _resolve(home, {})

    assert [problem.partition("models.json: ")[2] or problem for problem in caught.value.problems] == [
        "providers.box.apiKey uses $NOT_SET, but that variable is not set: set it, or write the value",
        "gem speaks the wire format 'smoke'; this kaa speaks openai-completions, anthropic-messages, anthropic-vertex, "
        "openai-responses, azure-openai-responses, google-generative-ai, google-vertex",
    ]


def test_a_wire_format_kaa_does_not_speak_is_refused_only_when_asked_for(home: Path) -> None:
    _models_json(home, gem={"baseUrl": "http://g", "api": "telepathy", "models": [{"id": "g-1"}]})

    assert _name(_resolve(home, _OPENAI)) == "openai/gpt-6.2-sol"
    with pytest.raises(NoModelError, match="'telepathy'; this kaa speaks openai-completions, "):
        _resolve(home, _OPENAI, "gem/g-1")


def test_a_key_that_cannot_be_read_is_an_error_of_its_own(home: Path) -> None:
    _auth_json(home, openai="$UNSET")

    with pytest.raises(CredentialError, match=r"auth\.json: openai\.key uses \$UNSET"):
        _resolve(home, {}, "openai/gpt-5.2")


def test_listing_runs_no_command(home: Path) -> None:
    command = f"!touch {home}/ran; echo k"
    entries = {
        "azure": {"type": "api_key", "key": command},  # whose address depends on a variable that is not set
        "google-vertex": {"type": "api_key", "key": "k", "env": {"GOOGLE_CLOUD_PROJECT": command}},
    }
    (home / "auth.json").write_text(json.dumps(entries))
    (home / "auth.json").chmod(0o600)
    models = ModelRegistry(home, {})

    models.obstacles()
    models.available()
    models.listed(usable=False)

    assert not (home / "ran").exists()


def test_no_secret_is_shown(home: Path) -> None:
    resolved = _resolve(home, {}, "openai/gpt-5.2", api_key="very-secret")

    assert "very-secret" not in repr((resolved, ModelChoice(api_key="very-secret"), ModelRegistry(home, {})))


@pytest.mark.parametrize(
    ("query", "environ", "adapter"),
    [
        ("openai/gpt-5.2", _OPENAI, "OpenAIResponses"),
        ("openai/gpt-5.2", _LOCAL, "WrittenCalls"),  # which looks for calls in the text of the adapter's replies
        ("anthropic/opus", _ANTHROPIC, "AnthropicMessages"),
        ("deepseek/deepseek-v4-pro", {"DEEPSEEK_API_KEY": "k"}, "OpenAICompletions"),
    ],
)
def test_the_adapter_is_chosen_by_the_wire_format(
    home: Path, query: str, environ: dict[str, str], adapter: str
) -> None:
    provider = create_provider(_resolve(home, environ, query), LiveTransport())

    assert type(provider).__name__ == adapter


def test_a_gateway_is_asked_in_the_format_that_such_servers_speak(home: Path) -> None:
    """OpenAI's own format is spoken to OpenAI; there, its newer models do not think while they have tools."""
    gateway = _resolve(home, _LOCAL | _OPENAI, "openai/gpt-6-sol:high")
    _models_json(home, openai={"api": "openai-responses"})
    told = _resolve(home, _LOCAL | _OPENAI, "openai/gpt-6-sol:high")

    assert (gateway.model.api, gateway.thinking) == ("openai-completions", "off")
    assert (told.model.api, told.thinking) == ("openai-responses", "high")


def test_a_gateway_gets_all_that_is_meant_for_its_vendor(home: Path) -> None:
    """Some vendors serve a part of their models at another address, where the user's gateway is not."""
    _models_json(home, fireworks={"baseUrl": "http://gateway/v1", "apiKey": "k"})
    known = {known_models("fireworks")[0].model.id, known_models("fireworks")[-1].model.id}

    assert {_resolve(home, {}, f"fireworks/{name}").endpoint.base_url for name in known} == {"http://gateway/v1"}


@pytest.mark.parametrize(
    ("query", "name", "level"),
    [
        ("box/qwen3:8b", "box/qwen3:8b", "medium"),
        ("qwen3:8b:low", "box/qwen3:8b", "low"),
        ("box/odd:high", "box/odd:high", "medium"),
        ("odd:high", "box/odd:high", "medium"),
        ("odd:high:low", "box/odd:high", "low"),
        ("box/new:high", "box/new", "off"),
    ],
)
def test_an_id_with_a_colon_is_no_thinking_level(home: Path, query: str, name: str, level: str) -> None:
    models: list[Json] = [{"id": "qwen3:8b", "reasoning": True}, {"id": "odd:high", "reasoning": True}]
    _models_json(home, box={"baseUrl": "http://box/v1", "models": models})

    resolved = _resolve(home, {}, query)

    assert (_name(resolved), resolved.thinking) == (name, level)


@pytest.mark.parametrize(
    ("environ", "query", "reason"),
    [
        ({}, "gpt5", "did you mean openai/gpt-5 or"),
        ({}, "sonnet:hihg", "did you mean sonnet:high?"),
        ({}, "qwen3-codr", "did you mean box/qwen3-coder?"),
        ({}, "box/qwen3-coder:hihg", "did you mean qwen3-coder:high?"),
        (_ANTHROPIC, "claude-opsu-4-5", "did you mean anthropic/claude-opus-4-5 or"),
        (_OPENAI, "opsu", "needs its provider: box/opsu"),
        ({}, "gemini-3-flsh", "did you mean google/gemini-3"),
        ({}, "opneai/gpt-5", "there is no provider 'opneai': did you mean openai"),
        ({}, "antropic/x", "did you mean anthropic? If not, write box/antropic/x"),
    ],
)
def test_a_slip_is_not_sent_to_the_only_server(home: Path, environ: dict[str, str], query: str, reason: str) -> None:
    _models_json(home, box={"baseUrl": "http://box/v1", "models": [{"id": "qwen3-coder"}]})

    with pytest.raises(NoModelError) as caught:
        _resolve(home, environ, query)

    assert reason in caught.value.reason
    assert _name(_resolve(home, environ, f"box/{query.replace('hihg', 'q4')}")).startswith("box/")


@pytest.mark.parametrize(
    "query",
    [
        *(
            "qwen3:8b",
            "llama3.1:8b",
            "llama3.2",
            "mistral:7b",
            "mixtral:8x7b",
            "phi3:mini",
            "phi4",
            "gemma3:27b-it-qat",
        ),
        *(
            "deepseek-r1:14b",
            "gpt-oss:20b",
            "devstral",
            "llava",
            "codellama:13b",
            "starcoder2",
            "smollm2",
            "granite3.3",
        ),
        *(
            "my-model",
            "default",
            "local",
            "test-model",
            "custom",
            "tinyllama",
            "command-r",
            "yi:34b",
            "nomic-embed-text",
        ),
        *("gpt-9", "claude-opus-9", "gpt-5", "sonnet", "model.gguf", "magistral", "qwq", "kimi-k2", "glm4", "falcon3"),
        *("vicuna", "wizardcoder", "zephyr", "olmo2", "cogito", "exaone", "hermes3", "orca-mini", "dolphin-mixtral"),
        *(
            "/models/qwen.gguf",
            "Qwen/Qwen3-8B",
            "unsloth/gemma-3-4b-it-GGUF:Q4_K_M",
            "gpt2",
            "meta-llama/Llama-3.3-70B",
            "ministral-3",
        ),
    ],
)
def test_other_names_are_the_only_server_s(home: Path, query: str) -> None:
    _models_json(home, box={"baseUrl": "http://box/v1", "models": [{"id": "qwen3-coder"}]})

    assert _name(_resolve(home, {}, query)) == f"box/{query}"


def test_a_server_that_lists_no_models_gets_any_name_but_a_slip_for_a_vendor_with_a_key(home: Path) -> None:
    for name in ("gpt5", "claude-opsu-4-5", "sonet"):
        assert _name(_resolve(home, _LOCAL, name)) == f"openai/{name}"
    with pytest.raises(NoModelError, match="did you mean anthropic/claude-opus-4-5"):
        _resolve(home, _ANTHROPIC | _LOCAL, "claude-opsu-4-5")


def test_a_key_that_is_given_makes_the_provider_usable_that_is_named(home: Path) -> None:
    """Otherwise it would be sent to a gateway that has a model of the same name."""
    resolved = _resolve(home, {"OPENROUTER_API_KEY": "k"}, "openai/gpt-oss-120b", api_key="given")

    assert (resolved.model.provider, resolved.endpoint.api_key) == ("openai", "given")


def test_several_gateways_with_the_same_model_are_told_apart(home: Path) -> None:
    environ = {"OPENROUTER_API_KEY": "k", "GROQ_API_KEY": "k"}

    with pytest.raises(NoModelError, match="fits several models") as caught:
        _resolve(home, environ, "openai/gpt-oss-120b")

    assert set(caught.value.suggestions) == {"openrouter/openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"}


def test_a_list_of_names_in_a_message_can_still_be_read(home: Path) -> None:
    with pytest.raises(NoModelError) as caught:
        _resolve(home, {"OPENROUTER_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, "4.")

    assert len(caught.value.suggestions) <= 8
    assert len(caught.value.reason) < 500


def test_free_is_what_is_known_to_cost_nothing(home: Path) -> None:
    cost: Json = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    models: list[Json] = [{"id": "gift", "cost": cost}, {"id": "unpriced"}]
    _models_json(home, box={"baseUrl": "http://box/v1", "models": models})
    registry = ModelRegistry(home, {})

    free = [name for name in ("gift", "unpriced", "nobody") if registry.is_free("box", name)]

    assert free == ["gift"]
    assert not registry.is_free("openai", "gpt-5.2")
    assert not registry.is_free("nobody", "gift")


def test_what_is_said_of_a_provider_counts_less_than_what_is_said_of_its_model(home: Path) -> None:
    _models_json(
        home,
        deepseek={
            "compat": {"supportsStore": True, "maxTokensField": "max_completion_tokens"},
            "modelOverrides": {"deepseek-v4-pro": {"compat": {"maxTokensField": "max_tokens"}}},
        },
    )

    compat = _resolve(home, {"DEEPSEEK_API_KEY": "k"}, "deepseek/deepseek-v4-pro").endpoint.compat

    assert (compat.supports_store, compat.max_tokens_field) == (True, "max_tokens")


def test_loading_imports_neither_adapters_nor_clients(home: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from kaa.llm.models.registry import ModelRegistry, ModelChoice\n"
        f"ModelRegistry(Path({str(home)!r}), {{'OPENAI_API_KEY': 'k'}}).resolve(ModelChoice('mini'))\n"
        "print(*sys.modules, sep='\\n')"
    )
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )

    heavy = {"httptools", "ssl", "subprocess", "difflib", "kaa.llm.completions.provider", "kaa.llm.anthropic.provider"}
    assert not heavy & loaded


def test_values_use_the_variables_of_their_entry_before_those_of_the_environment(home: Path) -> None:
    _models_json(
        home,
        openai={"headers": {"x-team": "$TEAM", "x-all": "${ALL}"}},
        box={"baseUrl": "http://box/v1", "apiKey": "$BOX_KEY", "models": [{"id": "m"}]},
    )
    path = home / "auth.json"
    path.write_text(
        json.dumps(
            {
                "openai": {"type": "api_key", "key": "sk-$PART", "env": {"PART": "own", "TEAM": "!echo blue"}},
                "box": {"type": "api_key", "env": {"BOX_KEY": "of-the-box"}},
            }
        )
    )
    path.chmod(0o600)
    environ = {"TEAM": "red", "ALL": "us", "PATH": "/usr/bin:/bin"}

    proxied, box = (_resolve(home, environ, name).endpoint for name in ("openai/gpt-4.1", "box/m"))

    assert (proxied.api_key, proxied.headers) == ("sk-own", (("x-team", "blue"), ("x-all", "us")))
    assert box.api_key == "of-the-box"
