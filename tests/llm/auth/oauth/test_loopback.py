"""The listener for the browser, and what else opens connections to it."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

from kaa.llm.auth.oauth.loopback import Loopback


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
