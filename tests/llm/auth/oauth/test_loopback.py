"""The listener for the browser, and what else opens connections to it."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest

from kaa.llm.auth.errors import MixedUpLoginError
from kaa.llm.auth.oauth.browser import Issuer, Loopback


def test_connections_that_a_browser_opens_and_never_uses_end_with_the_login() -> None:
    complaints: list[dict[str, Any]] = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with Loopback("/callback", "the-state", "login.example") as loopback:
            port = urlsplit(loopback.address).port
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET /callback?state=the-state&code=c HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            assert await loopback.code() == "c"
            assert (await reader.readline()).split()[1] == b"200"  # the page is told before the listener goes
        for _, other in [*idle, (reader, writer)]:
            other.close()

    asyncio.run(scenario())

    assert complaints == []


@pytest.mark.parametrize(
    ("named", "says_so", "told"),
    [
        ("&iss=https%3A%2F%2Fother.example", False, "names 'https://other.example' as its sender"),
        ("&iss=https%3A%2F%2Flogin.example%2F", False, "names 'https://login.example/' as its sender"),
        ("", True, "does not name its sender"),
        ("&error=access_denied&iss=https%3A%2F%2Fother.example", True, "names 'https://other.example'"),
    ],
)
def test_an_answer_of_another_server_ends_the_login(named: str, says_so: bool, told: str) -> None:
    issuer = Issuer("https://login.example", says_so)
    loopback = Loopback("/callback", "the-state", "login.example", issuer=issuer)

    with pytest.raises(MixedUpLoginError, match=told):
        loopback.code_in(f"http://127.0.0.1/callback?state=the-state&code=c{named}")


def test_an_answer_of_the_server_that_was_asked_is_used() -> None:
    loopback = Loopback("/callback", "s", "login.example", issuer=Issuer("https://login.example", says_so=True))

    assert loopback.code_in("http://127.0.0.1/callback?state=s&code=c&iss=https%3A%2F%2Flogin.example") == "c"


def test_the_browser_is_told_that_another_server_answered() -> None:
    async def scenario() -> tuple[bytes, BaseException | None]:
        issuer = Issuer("https://login.example", says_so=True)
        async with Loopback("/callback", "s", "login.example", issuer=issuer) as loopback:
            port = urlsplit(loopback.address).port
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET /callback?state=s&code=c HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            status = (await reader.readline()).split()[1]
            writer.close()
            (said,) = await asyncio.gather(loopback.code(), return_exceptions=True)
            return status, said if isinstance(said, BaseException) else None

    status, said = asyncio.run(scenario())

    assert status == b"400"
    assert isinstance(said, MixedUpLoginError)
