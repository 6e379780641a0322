"""Asks a server which models it has, for those who gave kaa nothing but its address."""

from typing import Final

import msgspec

from kaa.core.errors import ProviderError
from kaa.llm.http.authorized import authorized
from kaa.llm.http.transport import HttpRequest, Transport
from kaa.llm.registry import ModelChoice, ModelRegistry, ResolvedModel, UnlistedServer

# A list has some hundred bytes per model; the largest routers have about a thousand models.
_LONGEST_LIST_BYTES: Final = 4 << 20
# Part of the window must stay for the question.
_OUTPUT_PART_OF_WINDOW: Final = 4


async def find_model(registry: ModelRegistry, choice: ModelChoice, transport: Transport) -> ResolvedModel:
    """The model that `choice` means, asking the server for it if need be.

    Raises:
        NoModelError: nothing fits, the key is missing, or the server does not say what it has.
        CredentialError: a key cannot be read.
    """
    # Not in a thread: a conversation that opens has nothing else to do, and a thread costs more than most keys.
    resolved = registry.resolve(choice)
    return resolved if isinstance(resolved, ResolvedModel) else await ask_server(registry, resolved, transport)


async def ask_server(registry: ModelRegistry, server: UnlistedServer, transport: Transport) -> ResolvedModel:
    """The model to use of a server of which only the address is known: one that kaa knows, or its first.

    Raises:
        NoModelError: the server does not say what it has.
    """
    try:
        listed = await _listed_models(server, transport)
    except ProviderError as error:
        if server.known:
            return server.known[0]
        raise registry.no_model(
            f"{server.endpoint.host or 'the server'} was asked which models it has, but: {error} "
            "Or name one with --model."
        ) from error
    by_id = {model.id: model for model in listed}
    for known in server.known:
        if known.model.id in by_id:
            return known
    first = listed[0]
    model = server.model.model
    if first.window:
        output = min(model.max_tokens, first.window // _OUTPUT_PART_OF_WINDOW)
        model = msgspec.structs.replace(model, context_window=first.window, max_tokens=output)
    return msgspec.structs.replace(server.model, model=msgspec.structs.replace(model, id=first.id, name=first.id))


class _Meta(msgspec.Struct, frozen=True):
    n_ctx: int | None = None


class _ListedModel(msgspec.Struct, frozen=True):
    """A model of the list; servers tell its window in different fields: vLLM, OpenRouter, llama.cpp."""

    id: str
    max_model_len: int | None = None
    context_length: int | None = None
    meta: _Meta | None = None

    @property
    def window(self) -> int | None:
        """The context window in tokens, if the server tells it."""
        return self.max_model_len or self.context_length or (self.meta.n_ctx if self.meta else None)


class _ModelList(msgspec.Struct, frozen=True):
    data: tuple[_ListedModel, ...]


async def _listed_models(server: UnlistedServer, transport: Transport) -> tuple[_ListedModel, ...]:
    """The models the server says it has, at least one.

    Raises:
        ProviderError: it does not answer, or not with a list of models.
    """
    endpoint = server.endpoint
    anthropic = server.model.model.api == "anthropic-messages"
    versioned = not anthropic or endpoint.base_url.rstrip("/").endswith("/v1")
    headers = endpoint.request_headers(
        "x-api-key" if anthropic else "bearer",
        [("accept", "application/json"), *([("anthropic-version", "2023-06-01")] if anthropic else [])],
    )
    request = HttpRequest("GET", endpoint.url("/models" if versioned else "/v1/models"), headers)
    body = bytearray()
    async with authorized(transport, endpoint.authorizer).send(request) as response:
        async for chunk in response.chunks():
            body += chunk
            if len(body) > _LONGEST_LIST_BYTES:
                raise ProviderError("it does not stop sending its list.")
        if response.status != 200:
            raise ProviderError(f"it answered with status {response.status}.", status=response.status)
    try:
        models = msgspec.json.decode(body, type=_ModelList).data
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProviderError("its answer is not a list of models.") from error
    if not models:
        raise ProviderError("it has none: load one there.")
    return models
