"""The models a server says it has: how its list is asked for in each wire format, and how it reads."""

from typing import Final

import msgspec

from kaa.core.errors import ProviderError
from kaa.llm.http.transport import HttpRequest, Transport
from kaa.llm.wire import WIRE_FORMATS, AuthStyle, Endpoint

# A list has some hundred bytes per model; the largest routers have about a thousand models.
_LONGEST_LIST_BYTES: Final = 4 << 20
_ANTHROPIC: Final = "anthropic-messages"
_GOOGLE: Final = "google-generative-ai"


class _Meta(msgspec.Struct, frozen=True):
    n_ctx: int | None = None


class ServedModel(msgspec.Struct, frozen=True):
    """A model of a list; servers tell its window in different fields: vLLM, OpenRouter, llama.cpp."""

    id: str
    max_model_len: int | None = None
    context_length: int | None = None
    meta: _Meta | None = None

    @property
    def window(self) -> int | None:
        """The context window in tokens, if the server tells it."""
        return self.max_model_len or self.context_length or (self.meta.n_ctx if self.meta else None)


class _ModelList(msgspec.Struct, frozen=True):
    data: tuple[ServedModel, ...]


def has_list(api: str) -> bool:
    """Whether servers of a wire format are known to list their models."""
    return _usual_auth(api) is not None


def list_request(endpoint: Endpoint, api: str) -> HttpRequest:
    """The request for the list, as servers of the wire format `api` want it."""
    own = [("accept", "application/json")]
    path = "/models"
    if api == _ANTHROPIC:
        own.append(("anthropic-version", "2023-06-01"))
        path = "/models" if endpoint.base_url.rstrip("/").endswith("/v1") else "/v1/models"
    headers = endpoint.request_headers(_usual_auth(api) or "bearer", own)
    return HttpRequest("GET", endpoint.url(path), headers)


def _usual_auth(api: str) -> AuthStyle | None:
    return known.list_auth if (known := WIRE_FORMATS.get(api)) else None


async def served_models(endpoint: Endpoint, api: str, transport: Transport) -> tuple[ServedModel, ...]:
    """The models the server says it has, at least one.

    Raises:
        ProviderError: it does not answer, or not with a list of models.
    """
    async with endpoint.carried_by(transport).send(list_request(endpoint, api)) as response:
        body = await response.beginning(_LONGEST_LIST_BYTES)
        if len(body) > _LONGEST_LIST_BYTES:
            raise ProviderError("its list is too long.")
        if response.status != 200:
            raise ProviderError(f"it answered with status {response.status}.", status=response.status)
    try:
        models = _google_models(body) if api == _GOOGLE else msgspec.json.decode(body, type=_ModelList).data
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProviderError("its answer is not a list of models.") from error
    if not models:
        raise ProviderError("it has none: load one there.")
    return models


class _GoogleModel(msgspec.Struct, rename="camel", frozen=True):
    """https://ai.google.dev/api/models."""

    name: str
    input_token_limit: int | None = None
    supported_generation_methods: tuple[str, ...] = ("generateContent",)


class _GoogleList(msgspec.Struct, frozen=True):
    models: tuple[_GoogleModel, ...] = ()


def _google_models(body: bytes | bytearray) -> tuple[ServedModel, ...]:
    """The models of the list that can answer; others only embed or draw."""
    listed = msgspec.json.decode(body, type=_GoogleList).models
    return tuple(
        ServedModel(model.name.removeprefix("models/"), context_length=model.input_token_limit)
        for model in listed
        if "generateContent" in model.supported_generation_methods
    )
