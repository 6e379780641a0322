"""The providers kaa knows: what makes each usable, where it is, how its key goes, and what nobody asked for costs."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.messages import Json, UserMessage
from kaa.core.provider import Model, Request
from kaa.llm.anthropic.request import messages_request
from kaa.llm.auth.aws import SigV4Authorizer
from kaa.llm.auth.errors import CredentialError
from kaa.llm.auth.google import GoogleAuthorizer
from kaa.llm.http.live import LiveTransport
from kaa.llm.models.adapters import create_provider
from kaa.llm.models.keys import filled, missing
from kaa.llm.models.provider_table import BUILTINS
from kaa.llm.models.registry import ModelChoice, ModelRegistry, NoModelError
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.wire import Endpoint
from tests.support.model_server import ModelServer, say
from tests.test_import_budget import modules_after

# What an account needs besides its key.
_ACCOUNT = {
    "AZURE_OPENAI_RESOURCE_NAME": "mine",
    "CLOUDFLARE_ACCOUNT_ID": "acc",
    "CLOUDFLARE_GATEWAY_ID": "gate",
    "AWS_REGION": "eu-west-1",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def _registry(home: Path, environ: Mapping[str, str]) -> ModelRegistry:
    return ModelRegistry(home, {"HOME": str(home), **environ})


def _resolve(
    home: Path, environ: Mapping[str, str], query: str | None = None, provider: str | None = None
) -> ResolvedModel:
    resolved = _registry(home, environ).resolve(ModelChoice(query, provider=provider))
    assert isinstance(resolved, ResolvedModel)
    return resolved


def _auth_json(home: Path, **entries: Json) -> None:
    path = home / "auth.json"
    path.write_text(json.dumps(entries))
    path.chmod(0o600)


@pytest.mark.parametrize("name", sorted(BUILTINS))
def test_a_key_in_the_environment_is_all_a_provider_needs(home: Path, name: str) -> None:
    variable, _ = BUILTINS[name].key_variables[0]
    environ = {**_ACCOUNT, variable: "key-of-the-user"}

    resolved = _resolve(home, environ, provider=name)

    parts = urlsplit(resolved.endpoint.base_url)
    assert resolved.model.provider == name
    assert (parts.scheme, "{" in resolved.endpoint.base_url, bool(parts.hostname)) == ("https", False, True)
    assert resolved.endpoint.api_key == "key-of-the-user"
    assert resolved.endpoint.authorizer is None
    create_provider(resolved, LiveTransport())


@pytest.mark.parametrize("name", sorted(BUILTINS))
def test_without_a_key_a_provider_is_not_usable_and_says_what_it_wants(home: Path, name: str) -> None:
    registry = _registry(home, {})

    assert registry.available() == []
    with pytest.raises((NoModelError, CredentialError), match=r"[A-Z]+_[A-Z_]+"):
        registry.resolve(ModelChoice("some-model", provider=name))


def test_every_wish_for_the_default_goes_to_the_first_provider_with_a_key(home: Path) -> None:
    keys = {builtin.key_variables[0][0]: "k" for builtin in BUILTINS.values()}

    def default(*left_out: str) -> str:
        environ = {name: value for name, value in keys.items() if name not in left_out}
        return _resolve(home, {**_ACCOUNT, **environ}).model.provider

    assert default() == "anthropic"
    assert default("ANTHROPIC_API_KEY") == "openai"
    assert default("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY") == "ant-ling"
    assert _resolve(home, {"MISTRAL_API_KEY": "k", "GROQ_API_KEY": "k"}).model.provider == "groq"
    assert _resolve(home, {"AWS_PROFILE": "deploy", "AWS_REGION": "x", "GROQ_API_KEY": "k"}).model.provider == "groq"


@pytest.mark.parametrize(
    ("name", "header", "value"),
    [
        ("anthropic", "x-api-key", "k"),
        ("openrouter", "authorization", "Bearer k"),
        ("azure", "api-key", "k"),
        ("google", "x-goog-api-key", "k"),
        ("cloudflare-ai-gateway", "cf-aig-authorization", "Bearer k"),
        ("amazon-bedrock", "authorization", "Bearer k"),
    ],
)
def test_the_key_goes_where_the_provider_looks_for_it(home: Path, name: str, header: str, value: str) -> None:
    resolved = _resolve(home, {**_ACCOUNT, BUILTINS[name].key_variables[0][0]: "k"}, provider=name)

    async def ask(base_url: str) -> None:
        transport = LiveTransport()
        endpoint = msgspec.structs.replace(resolved.endpoint, base_url=base_url)
        provider = create_provider(msgspec.structs.replace(resolved, endpoint=endpoint), transport)
        try:
            async for _ in provider.stream(Request(resolved.model, "", [UserMessage("q")])):
                pass
        finally:
            await transport.close()

    with ModelServer([say("hi")]) as server:
        asyncio.run(ask(f"{server.url}/v1"))
        headers = server.requests[0].headers

    assert {key: given for key, given in headers if given in {"k", "Bearer k"}} == {header: value}


def test_the_account_may_be_in_auth_json_and_counts_before_the_environment(home: Path) -> None:
    entry = {"type": "api_key", "key": "k", "env": {"CLOUDFLARE_ACCOUNT_ID": "$MINE"}}
    _auth_json(home, **{"cloudflare-workers-ai": entry})

    resolved = _resolve(home, {"MINE": "own", "CLOUDFLARE_ACCOUNT_ID": "other"})

    assert resolved.endpoint.base_url == "https://api.cloudflare.com/client/v4/accounts/own/ai/v1"


def test_where_no_account_is_needed_a_damaged_auth_json_does_not_matter(home: Path) -> None:
    (home / "auth.json").write_text("{")
    (home / "auth.json").chmod(0o600)

    registry = _registry(home, {"GROQ_API_KEY": "k"})

    assert {model.provider for model in registry.available()} == {"groq"}
    assert isinstance(registry.resolve(ModelChoice("groq/x", api_key="given")), ResolvedModel)


def test_a_missing_account_makes_a_provider_unusable_and_is_named_when_it_is_asked_for(home: Path) -> None:
    environ = {"CLOUDFLARE_API_KEY": "k", "CLOUDFLARE_ACCOUNT_ID": "acc"}

    assert {model.provider for model in _registry(home, environ).available()} == {"cloudflare-workers-ai"}
    with pytest.raises(CredentialError, match="depends on CLOUDFLARE_GATEWAY_ID: set it"):
        _resolve(home, environ, provider="cloudflare-ai-gateway")


@pytest.mark.parametrize(
    ("query", "api", "base_url"),
    [
        (
            "us.anthropic.claude-next-9",
            "anthropic-messages",
            "https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic",
        ),
        ("openai.gpt-oss-999b", "openai-completions", "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1"),
    ],
)
def test_bedrock_speaks_the_format_of_the_model(home: Path, query: str, api: str, base_url: str) -> None:
    environ = {"AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_DEFAULT_REGION": "eu-west-1"}

    resolved = _resolve(home, environ, f"amazon-bedrock/{query}")

    assert (resolved.model.api, resolved.endpoint.base_url, resolved.endpoint.auth) == (api, base_url, "bearer")


def test_aws_credentials_sign_what_has_no_key(home: Path) -> None:
    _auth_json(home, **{"amazon-bedrock": {"type": "api_key", "env": {"AWS_PROFILE": "work"}}})

    resolved = _resolve(home, {"AWS_REGION": "eu-west-1"})

    assert resolved.model.provider == "amazon-bedrock"
    assert resolved.endpoint.api_key is None
    assert isinstance(resolved.endpoint.authorizer, SigV4Authorizer)


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("us-east5", "us-east5-aiplatform.googleapis.com"),
    ],
)
def test_vertex_is_reached_with_googles_credentials(home: Path, location: str, host: str) -> None:
    file = home / "adc.json"
    file.write_text("{}")
    environ = {
        "GOOGLE_APPLICATION_CREDENTIALS": str(file),
        "GOOGLE_CLOUD_PROJECT": "mine",
        "GOOGLE_CLOUD_LOCATION": location,
    }
    base = f"https://{host}/v1/projects/mine/locations/{location}/publishers"

    gemini = _resolve(home, environ)
    claude = _resolve(home, environ, "google-vertex/claude-opus-4-6")

    assert (gemini.model.api, gemini.endpoint.base_url) == ("google-vertex", f"{base}/google")
    assert (claude.model.api, claude.endpoint.base_url) == ("anthropic-vertex", f"{base}/anthropic")
    assert isinstance(gemini.endpoint.authorizer, GoogleAuthorizer)
    assert isinstance(claude.endpoint.authorizer, GoogleAuthorizer)


def test_vertex_takes_a_key_without_a_project(home: Path) -> None:
    resolved = _resolve(home, {"GOOGLE_CLOUD_API_KEY": "k"})

    assert resolved.endpoint.base_url == "https://aiplatform.googleapis.com/v1/publishers/google"
    assert resolved.endpoint.authorizer is None


def test_claude_at_vertex_is_asked_as_google_wants() -> None:
    endpoint = Endpoint("https://h/v1/projects/p/locations/l/publishers/anthropic", api_key="t")
    request = Request(Model("claude-opus-4-5@20251101", "google-vertex", "anthropic-vertex"), "", [UserMessage("q")])

    sent = messages_request(request, endpoint)

    body = json.loads(sent.body)
    assert sent.url == f"{endpoint.base_url}/models/claude-opus-4-5@20251101:streamRawPredict"
    assert (body["anthropic_version"], body["stream"], "model" in body) == ("vertex-2023-10-16", True, False)
    assert ("authorization", "Bearer t") in sent.headers
    assert "anthropic-version" not in dict(sent.headers)


def test_an_own_address_of_azure_is_azures(home: Path) -> None:
    environ = {"AZURE_OPENAI_BASE_URL": "https://mine.openai.azure.com/openai/v1"}

    with pytest.raises(NoModelError, match="AZURE_OPENAI_API_KEY"):
        _resolve(home, environ, provider="azure")


def test_where_the_user_moves_a_provider_no_model_stays_behind(home: Path) -> None:
    moved = {"baseUrl": "http://localhost:9/x", "api": "anthropic-messages"}
    (home / "models.json").write_text(json.dumps({"providers": {"openrouter": moved, "amazon-bedrock": moved}}))
    registry = _registry(home, {"OPENROUTER_API_KEY": "k", "AWS_REGION": "eu-west-1"})

    for model in registry.models():
        if model.provider in ("openrouter", "amazon-bedrock"):
            resolved = registry.resolve(ModelChoice(model.id, provider=model.provider))
            assert isinstance(resolved, ResolvedModel)
            assert resolved.endpoint.base_url == "http://localhost:9/x"


@given(st.text(min_size=1).filter(str.strip))
def test_a_variable_never_becomes_another_host_or_path(value: str) -> None:
    url = filled("https://{ACCOUNT}.example.com/v1/{ACCOUNT}/x", {"ACCOUNT": value})

    parts = urlsplit(url)
    assert parts.netloc.endswith(".example.com")
    assert "@" not in parts.netloc
    assert (parts.path.count("/"), parts.query, parts.fragment) == (3, "", "")


def test_what_is_missing_in_an_address_is_listed_once() -> None:
    assert missing("https://{A}/{B}/{A}", {"B": "b"}) == ("A",)
    assert missing("https://{A}", {"A": " "}) == ("A",)
    assert missing("https://{GOOGLE_VERTEX_HOST}", {}) == ("GOOGLE_CLOUD_LOCATION",)
    assert missing("http://localhost/{not a variable}", {}) == ()


def test_a_default_reads_the_catalogue_of_one_provider_and_no_signing_library(home: Path) -> None:
    loaded = modules_after(
        "from pathlib import Path\n"
        "from kaa.llm import catalogue\n"
        "from kaa.llm.models.registry import ModelChoice, ModelRegistry\n"
        f"registry = ModelRegistry(Path({str(home)!r}), {{'GROQ_API_KEY': 'k'}})\n"
        "registry.resolve(ModelChoice())\n"
        "assert catalogue.known_models.cache_info().misses == 1, catalogue.known_models.cache_info()\n"
    )

    assert not loaded & {"botocore", "google", "google.auth", "requests", "kaa.llm.auth.aws", "kaa.llm.auth.ambient"}
