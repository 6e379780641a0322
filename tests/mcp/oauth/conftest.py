"""An MCP server with its authorization server for each test, and a person who agrees."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kaa.llm.http.live import LiveTransport
from kaa.mcp.oauth.login import log_in
from kaa.mcp.oauth.settings import OAuthEntry
from kaa.mcp.oauth.tokens import TokenStore
from tests.support.agents import run
from tests.support.login_screen import Person
from tests.support.mcp_browsing import visit
from tests.support.mcp_oauth import McpOAuthServer

LogIn = Callable[..., Person]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[McpOAuthServer]:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with McpOAuthServer() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "mcp-auth.json")


@pytest.fixture
def logging_in(server: McpOAuthServer, store: TokenStore) -> LogIn:
    """Logs in as a person who agrees in the browser; settings of the server as keywords."""

    def logging_in(
        *, challenge: str | None = None, person: Person | None = None, users_own: bool = True, **settings: str | int
    ) -> Person:
        if person is None:
            person = Person(does=lambda address: visit(server.agree(address)))

        async def scenario() -> None:
            transport = LiveTransport()
            entry = OAuthEntry(**settings)  # type: ignore[arg-type]  # what a test says of it
            try:
                await log_in(
                    server.mcp,
                    entry,
                    store,
                    transport,
                    person,
                    challenge=challenge,
                    users_own=users_own,
                    limit_seconds=60,
                )
            finally:
                await transport.close()

        run(scenario())
        return person

    return logging_in
