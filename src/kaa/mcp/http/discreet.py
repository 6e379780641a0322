"""Answers without the secrets of their requests: some servers repeat headers on error pages, which models then read."""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from msgspec.structs import replace

from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport

_SECRET_NAME: Final = re.compile(r"auth|key|token|secret|cookie|credential|password", re.IGNORECASE)
_SHORTEST: Final = 8
_INSTEAD: Final = b"[redacted]"


class DiscreetTransport:
    """Removes from the body of each answer what headers of its request kept secret.

    Closing it leaves `transport` open, which others use too.

    Args:
        transport: to the network.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        values = {value.rpartition(" ")[2] for name, value in request.headers if _SECRET_NAME.search(name)}
        secrets = _spelled(values)
        async with self._transport.send(request) as response:
            yield replace(response, body=_without(secrets, response.chunks())) if secrets else response

    async def close(self) -> None: ...


def discreetly(values: Iterable[str]) -> Callable[[bytes], bytes]:
    """Return what removes secrets from a text that is whole.

    Args:
        values: the secrets; short ones are left in.
    """
    if not (secrets := _spelled(values)):
        return lambda data: data
    return partial(re.compile(b"|".join(map(re.escape, secrets))).sub, _INSTEAD)


def _spelled(values: Iterable[str]) -> Sequence[bytes]:
    spelled = {spelling for value in values if len(value) >= _SHORTEST for spelling in _spellings(value)}
    return sorted(spelled, key=len, reverse=True)


def _spellings(secret: str) -> Iterator[bytes]:
    """How a secret stands in text, and how encoders of JSON write it: those of PHP, of Go and Gson, and of .NET."""
    yield secret.encode()
    yield secret.replace("/", "\\/").encode()
    yield "".join(f"\\u{ord(one):04x}" if one in "=&<>'" else one for one in secret).encode()
    yield "".join(f"\\u{ord(one):04X}" if one in "+&<>'`\"" else one for one in secret).encode()


async def _without(secrets: Sequence[bytes], chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same at once, but for what may be the beginning of a secret."""
    pattern = re.compile(b"|".join(map(re.escape, secrets)))
    held = b""
    async for chunk in chunks:
        data = pattern.sub(_INSTEAD, held + chunk)
        begun = _begun(secrets, data)
        held = data[len(data) - begun :]
        if len(data) > begun:
            yield data[: len(data) - begun]
    if held:
        yield held


def _begun(secrets: Sequence[bytes], data: bytes) -> int:
    """How many bytes at the end of `data` begin a secret."""
    longest = min(len(data), len(secrets[0]) - 1)
    ends = (data[len(data) - count :] for count in range(longest, 0, -1))
    return next((len(end) for end in ends if any(secret.startswith(end) for secret in secrets)), 0)
