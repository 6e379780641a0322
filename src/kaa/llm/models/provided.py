"""Providers that others than the user and kaa add while kaa runs, and replies that come from a function of theirs."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeAlias, get_args

import msgspec

from kaa.core.errors import BadRequestError, MalformedStreamError, NetworkError, ProviderError
from kaa.core.messages import Json
from kaa.core.provider import Request, StreamEvent
from kaa.llm.models.models_file import ProviderConfig, read_provider
from kaa.llm.wire import Endpoint

StreamFunction: TypeAlias = Callable[[Request, Endpoint], AsyncGenerator[StreamEvent, None]]

_EVENTS = get_args(StreamEvent)


class ProvidedProvider(msgspec.Struct, frozen=True):
    """A provider that somebody adds.

    Attributes:
        stream: gets the replies; None where kaa speaks the wire format.
    """

    owner: str
    config: ProviderConfig
    stream: StreamFunction | None = None


def provided_provider(
    owner: str, name: str, entry: Json, stream: StreamFunction | None
) -> tuple[ProvidedProvider | None, list[str]]:
    """A provider of an entry as in models.json, None if that is none, and what is wrong with it, one line each."""
    config, problems = read_provider(owner, name, entry)
    if config is None:
        return None, problems
    if stream is not None:
        return ProvidedProvider(owner, msgspec.structs.replace(config, api=f"{name}'s own"), stream), problems
    if config.base_url is None:
        return None, [*problems, f"{owner}: providers.{name}.baseUrl: Expected the address of the server"]
    return ProvidedProvider(owner, config), problems


class FunctionProvider:
    """Replies that a function gets, which is not trusted to keep to the rules of one.

    Args:
        endpoint: what it may use to reach the server.
    """

    def __init__(self, owner: str, stream: StreamFunction, endpoint: Endpoint) -> None:
        self._owner = owner
        self._stream = stream
        self._endpoint = endpoint

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        try:
            async with aclosing(self._stream(request, self._endpoint)) as reply:
                async for event in reply:
                    yield self._checked(event)
        except ProviderError:
            raise
        except OSError as error:  # also a timeout
            raise NetworkError(f"{self._owner}: {error}") from error
        except Exception as error:  # isolation boundary: the function is an extension's
            raise BadRequestError(f"{self._owner} failed: {type(error).__name__}: {error}") from error

    def _checked(self, event: object) -> StreamEvent:
        try:
            if isinstance(event, _EVENTS):
                checked: StreamEvent = msgspec.convert(msgspec.to_builtins(event), type(event))
                return checked
        except (msgspec.ValidationError, TypeError) as error:
            raise MalformedStreamError(f"{self._owner} yielded an invalid {type(event).__name__}: {error}") from error
        raise MalformedStreamError(
            f"{self._owner} yielded {type(event).__name__}: yield events such as TextChunk, and StreamDone at the end"
        )
