"""Questions to a server on this machine, which may answer with anything."""

from typing import Final, TypeVar

import msgspec

from kaa.core.errors import ProviderError
from kaa.llm.http.transport import HttpRequest, Transport

_LONGEST_ANSWER_BYTES: Final = 4 << 20

T = TypeVar("T")

JSON_HEADERS: Final = (("accept", "application/json"), ("content-type", "application/json"))


async def get(url: str, shape: type[T], transport: Transport) -> T | None:
    """What the server has at `url`; None as in `ask`."""
    return await ask(HttpRequest("GET", url, JSON_HEADERS), shape, transport)


async def ask(request: HttpRequest, shape: type[T], transport: Transport) -> T | None:
    """The answer to a question; None if nobody answers, or with something else."""
    try:
        async with transport.send(request) as response:
            if response.status != 200:
                return None
            body = await response.beginning(_LONGEST_ANSWER_BYTES)
        if len(body) > _LONGEST_ANSWER_BYTES:
            return None
        return msgspec.json.decode(body, type=shape)
    except (ProviderError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
