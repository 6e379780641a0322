"""From the providers that extensions register to those that the registry of models knows."""

from collections.abc import AsyncGenerator, Mapping

from kaa.core.provider import Request, StreamEvent
from kaa.ext.providers import ProviderAccess, ProviderStream, RegisteredProvider
from kaa.llm.models.provided import ProvidedProvider, StreamFunction, provided_provider
from kaa.llm.wire import Endpoint


def provided(registered: Mapping[str, RegisteredProvider]) -> tuple[dict[str, ProvidedProvider], list[str]]:
    """The providers by name, and what is wrong with them or others, one line each."""
    found: dict[str, ProvidedProvider] = {}
    problems: list[str] = []
    for name, one in registered.items():
        stream = None if one.stream is None else _with_endpoint(one.stream)
        provider, wrong = provided_provider(f"extension {one.owner}", name, dict(one.entry), stream)
        problems += wrong
        if provider is not None:
            found[name] = provider
    return found, problems


def _with_endpoint(stream: ProviderStream) -> StreamFunction:
    def from_endpoint(request: Request, endpoint: Endpoint) -> AsyncGenerator[StreamEvent, None]:
        return stream(request, ProviderAccess(endpoint.base_url, endpoint.api_key, endpoint.headers))

    return from_endpoint
