"""Where Azure serves a model, as users write it down."""

import asyncio
from pathlib import Path

import pytest

from kaa.core.messages import UserMessage
from kaa.core.provider import Request
from kaa.llm.http.live import LiveTransport
from kaa.llm.models.adapters import create_provider
from kaa.llm.models.registry import ModelChoice, ModelRegistry
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.responses.azure import at_azure
from kaa.llm.wire import Endpoint
from tests.support.model_server import ModelServer, say
from tests.support.tables import each

_PORTAL = "https://res.openai.azure.com"


@each(
    ("base_url", "version", "expected"),
    [
        (_PORTAL, "", f"{_PORTAL}/openai/v1/responses"),
        (f"{_PORTAL}/", "", f"{_PORTAL}/openai/v1/responses"),
        (f"{_PORTAL}/openai", "", f"{_PORTAL}/openai/v1/responses"),
        (f"{_PORTAL}/openai/v1/", "preview", f"{_PORTAL}/openai/v1/responses?api-version=preview"),
        (
            f"{_PORTAL}/openai/v1/responses?api-version=preview",
            "",
            f"{_PORTAL}/openai/v1/responses?api-version=preview",
        ),
        (f"{_PORTAL}/openai/v1", "2025-04-01-preview", f"{_PORTAL}/openai/responses?api-version=2025-04-01-preview"),
        (f"{_PORTAL}?api-version=v1", "preview", f"{_PORTAL}/openai/v1/responses?api-version=preview"),
        ("https://res.services.ai.azure.com", "", "https://res.services.ai.azure.com/openai/v1/responses"),
        ("https://gateway.corp/azure", "", "https://gateway.corp/azure/responses"),
        ("https://openai.azure.com.evil.test", "", "https://openai.azure.com.evil.test/responses"),
    ],
)
def test_the_address(base_url: str, version: str, expected: str) -> None:
    endpoint = at_azure(Endpoint(base_url, "key"), "gpt-5.2", {"AZURE_OPENAI_API_VERSION": version})

    assert endpoint.url("/responses") == expected
    assert endpoint.api_key == "key"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("", None),
        ("gpt-5.2=mine", "mine"),
        (" gpt-4.1 = other , gpt-5.2 = mine,", "mine"),
        ("gpt-5.2=,=mine,gpt-5.2", None),
        ("gpt-4.1=other", None),
    ],
)
def test_the_deployment(names: str, expected: str | None) -> None:
    endpoint = at_azure(Endpoint(_PORTAL), "gpt-5.2", {"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": names})

    assert endpoint.served_as == expected


def test_an_address_that_is_none_is_left_to_the_transport() -> None:
    assert at_azure(Endpoint("https://["), "m", {}).base_url == "https://["


def test_azure_is_spoken_to_as_its_variables_say(tmp_path: Path) -> None:
    environ = {
        "AZURE_OPENAI_API_KEY": "k3y",
        "AZURE_OPENAI_API_VERSION": "preview",
        "AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "gpt-5.2=mine",
    }

    async def ask(resolved: ResolvedModel) -> None:
        transport = LiveTransport()
        try:
            request = Request(resolved.model, "", [UserMessage("hi")])
            async for _ in create_provider(resolved, transport).stream(request):
                pass
        finally:
            await transport.close()

    with ModelServer([say("hello")]) as server:
        registry = ModelRegistry(tmp_path, {**environ, "AZURE_OPENAI_BASE_URL": f"{server.url}/v1"})
        resolved = registry.resolve(ModelChoice("azure/gpt-5.2"))
        assert isinstance(resolved, ResolvedModel)
        asyncio.run(ask(resolved))

    [received] = server.requests
    assert received.path == "/v1/responses?api-version=preview"
    assert (received.header("api-key"), received.header("authorization")) == ("k3y", None)
    assert received.json["model"] == "mine"
