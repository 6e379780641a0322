"""Requests are sent as their authorizer lets them in."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import pytest

from kaa.core.errors import AuthError
from kaa.llm.http.authorized import authorized
from kaa.llm.http.transport import Headers, HttpRequest, HttpResponse


async def _nothing() -> AsyncIterator[bytes]:
    pieces: tuple[bytes, ...] = ()
    for piece in pieces:
        yield piece


@dataclass
class Server:
    """Lets in who has the right token."""

    token: str
    seen: list[str] = field(default_factory=list)
    open: int = 0

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        given = dict(request.headers)["authorization"]
        self.seen.append(given)
        self.open += 1
        yield HttpResponse(200 if given == self.token else 401, Headers(), _nothing())
        self.open -= 1

    async def close(self) -> None:
        raise AssertionError("others use it too")


@dataclass
class Tokens:
    tokens: list[str]

    async def authorize(self, request: HttpRequest) -> HttpRequest:
        return msgspec.structs.replace(request, headers=(("authorization", self.tokens[0]),))

    async def renew(self, refused: HttpRequest) -> bool:
        assert dict(refused.headers)["authorization"] == self.tokens[0]
        self.tokens = self.tokens[1:] or self.tokens
        return True


REQUEST = HttpRequest("POST", "https://api.example.org/v1")


@pytest.mark.parametrize(
    ("tokens", "sent", "status"),
    [
        (["right"], ["right"], 200),
        (["old", "right"], ["old", "right"], 200),
        (["old", "older", "right"], ["old", "older"], 401),
    ],
)
def test_a_refused_token_is_renewed_once(tokens: list[str], sent: list[str], status: int) -> None:
    asyncio.run(_renewed_once(tokens, sent, status))


async def _renewed_once(tokens: list[str], sent: list[str], status: int) -> None:
    server = Server("right")
    transport = authorized(server, Tokens(tokens))

    async with transport.send(REQUEST) as response:
        assert response.status == status
        assert server.open == 1
    await transport.close()

    assert server.seen == sent
    assert server.open == 0


def test_what_a_server_complains_of_holds_no_token() -> None:
    async def refused() -> str:
        transport = authorized(Server("right"), Tokens(["old-opaque-token", "new-opaque-token"]))
        with pytest.raises(AuthError) as caught:
            async with transport.send(REQUEST):
                raise AuthError("no such token: new-opaque-token", status=401)
        assert caught.value.status == 401
        return str(caught.value)

    assert asyncio.run(refused()) == "no such token: [redacted]"


def test_without_an_authorizer_nothing_is_between() -> None:
    server = Server("right")

    assert authorized(server, None) is server
