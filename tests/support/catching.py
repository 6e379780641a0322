"""Catches the HTTP request that a model would be asked with."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec

from kaa.core.errors import NetworkError
from kaa.core.messages import Json
from kaa.core.provider import Request
from kaa.llm.http.transport import HttpRequest, HttpResponse
from kaa.llm.models.adapters import create_provider
from kaa.llm.models.registry import ModelChoice, ModelRegistry
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.tuning import Tuning

_KEYS = {
    "ANTHROPIC_API_KEY": "k",
    "OPENAI_API_KEY": "k",
    "GEMINI_API_KEY": "k",
    "OPENROUTER_API_KEY": "k",
    "FIREWORKS_API_KEY": "k",
}


class _Catcher:
    """A transport that keeps the request and sends nothing."""

    def __init__(self) -> None:
        self.caught: list[HttpRequest] = []

    def send(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpResponse]:
        self.caught.append(request)
        raise NetworkError("nobody is there")

    async def close(self) -> None:
        pass


def resolved(home: Path, query: str, choice: ModelChoice | None = None, tuning: Tuning | None = None) -> ResolvedModel:
    """The model that `query` means to somebody with keys for the usual vendors.

    Args:
        home: the user's folder.
        query: as `--model` takes it.
        choice: what else is chosen.
        tuning: the user's wishes.
    """
    registry = ModelRegistry(home, _KEYS, tuning or Tuning())
    found = registry.resolve(msgspec.structs.replace(choice or ModelChoice(), query=query))
    assert isinstance(found, ResolvedModel)
    return found


def asked(model: ResolvedModel, request: Request) -> HttpRequest:
    """What `model` would be sent."""
    catcher = _Catcher()

    async def ask() -> None:
        try:
            async for _ in create_provider(model, catcher).stream(request):
                pass
        except NetworkError:
            pass

    asyncio.run(ask())
    return catcher.caught[0]


def body_of(request: HttpRequest) -> dict[str, Json]:
    """The JSON it carries."""
    return msgspec.json.decode(request.body, type=dict[str, Json])
