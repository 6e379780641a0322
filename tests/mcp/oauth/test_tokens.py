"""Tokens of MCP servers: sent, renewed once for all processes, and kept away from everybody else."""

import asyncio
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kaa.core.errors import NetworkError
from kaa.llm.http.authorized import AuthorizedTransport
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest, Transport
from kaa.mcp.errors import McpError
from kaa.mcp.oauth.tokens import McpAuthorizer, TokenStore, canonical
from tests.mcp.oauth.conftest import LogIn
from tests.support.agents import run
from tests.support.mcp_oauth import McpOAuthServer
from tests.support.oauth_server import refusal
from tests.support.patience import HANG_SECONDS

_PROCESS = """
import asyncio, sys
from pathlib import Path
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from kaa.mcp.oauth.tokens import McpAuthorizer, TokenStore

authorizer = McpAuthorizer(sys.argv[2], TokenStore(Path(sys.argv[1])), LiveTransport)
print("ready", flush=True)
sys.stdin.readline()
print(dict(asyncio.run(authorizer.authorize(HttpRequest("POST", sys.argv[2]))).headers)["authorization"])
"""


def status_of(server: McpOAuthServer, store: TokenStore, *headers: tuple[str, str]) -> int:
    """What the server answers to a request of a kaa that starts now."""

    async def ask(transport: Transport) -> int:
        async with transport.send(HttpRequest("POST", server.mcp, headers, b"{}")) as response:
            return response.status

    return asking(server, store, ask)


def asking(server: McpOAuthServer, store: TokenStore, ask: Callable[[Transport], Awaitable[int]]) -> int:
    async def scenario() -> int:
        live = LiveTransport()
        try:
            return await ask(AuthorizedTransport(live, McpAuthorizer(server.mcp, store, LiveTransport)))
        finally:
            await live.close()

    return run(scenario())


def expire(tmp_path: Path, server: McpOAuthServer, **changes: object) -> None:
    file = tmp_path / "mcp-auth.json"
    entries = json.loads(file.read_text())
    entries[server.mcp] |= {"expires": 1, **changes}
    file.write_text(json.dumps(entries))


def test_the_token_of_a_login_is_sent(server: McpOAuthServer, store: TokenStore, logging_in: LogIn) -> None:
    assert status_of(server, store) == 401

    logging_in()

    assert status_of(server, store) == 200


def test_an_expired_token_is_refreshed_after_a_restart(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    server.conditions.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    server.conditions.client = {"client_secret": "s3cret"}
    person = logging_in()
    expire(tmp_path, server)

    assert status_of(server, store) == 200
    sent = server.asked("/token")[-1]
    assert (sent["grant_type"], sent["refresh_token"]) == ("refresh_token", "refresh-1")
    assert sent["resource"] == server.mcp
    assert len(person.addresses) == 1
    entry = json.loads((tmp_path / "mcp-auth.json").read_text())[server.mcp]
    assert (entry["access"], entry["refresh"], entry["client"]["secret"]) == ("access-2", "refresh-2", "s3cret")


def test_a_login_survives_a_full_disk(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    logging_in()
    expire(tmp_path, server)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(McpError, match=r"cannot be kept: .*mcp-auth.json cannot be written"):
            status_of(server, store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)

    assert status_of(server, store) == 200


def test_a_refused_token_is_refreshed(server: McpOAuthServer, store: TokenStore, logging_in: LogIn) -> None:
    logging_in()
    server.access_token = "revoked"

    assert status_of(server, store) == 200
    assert server.access_token == "access-2"


@pytest.mark.parametrize(
    "elsewhere",
    ["{}.evil.example/mcp", "http://127.0.0.1:9/mcp", "https://{1}/mcp", "http://[", "//{1}/mcp", "{}@evil/"],
)
def test_another_origin_gets_no_token(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn, elsewhere: str
) -> None:
    logging_in()
    url = elsewhere.format(server.url, server.url.partition("//")[2])
    authorizer = McpAuthorizer(server.mcp, store, LiveTransport)

    request = run(authorizer.authorize(HttpRequest("POST", url)))

    assert request.headers == ()


def test_two_processes_refresh_once(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    logging_in()
    expire(tmp_path, server)
    arguments = [sys.executable, "-c", _PROCESS, str(tmp_path / "mcp-auth.json"), server.mcp]
    processes = [
        subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(2)
    ]

    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=HANG_SECONDS)[0].strip() for process in processes]

    assert said == ["Bearer access-2"] * 2
    assert [fields.get("refresh_token") for fields in server.asked("/token")] == [None, "refresh-1"]


def test_a_login_that_ended_lets_the_server_ask_for_another(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    logging_in()
    expire(tmp_path, server)
    server.instead["/token"] = [refusal("invalid_grant", "gone")]
    statuses: list[int] = []

    async def ask(transport: Transport) -> int:
        for _ in range(3):
            async with transport.send(HttpRequest("POST", server.mcp, (), b"{}")) as response:
                statuses.append(response.status)
            if len(statuses) == 2:
                await asyncio.to_thread(logging_in)  # by another kaa, for all that this one knows
        return statuses[-1]

    asking(server, TokenStore(tmp_path / "mcp-auth.json"), ask)

    assert statuses == [401, 401, 200]
    assert [fields["grant_type"] for fields in server.asked("/token")][1:] == ["refresh_token", "authorization_code"]


def test_an_authorization_server_that_is_away_is_an_error(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    logging_in()
    expire(tmp_path, server, tokenUrl="http://127.0.0.1:1/token")

    with pytest.raises(NetworkError):
        status_of(server, store)


def test_a_configured_header_counts(server: McpOAuthServer, store: TokenStore, logging_in: LogIn) -> None:
    logging_in()

    assert status_of(server, store, ("Authorization", "Bearer of-the-user")) == 401


def test_a_login_with_more_scopes_is_used_at_once(server: McpOAuthServer, store: TokenStore, logging_in: LogIn) -> None:
    logging_in()
    server.conditions.scope = "write"
    statuses: list[int] = []

    async def ask(transport: Transport) -> int:
        for _ in range(2):
            async with transport.send(HttpRequest("POST", server.mcp, (), b"{}")) as response:
                statuses.append(response.status)
                challenge = response.headers.get("www-authenticate")
            if response.status == 403:
                await asyncio.to_thread(logging_in, challenge=challenge)
        return statuses[-1]

    asking(server, store, ask)

    assert statuses == [403, 200]


def test_logging_out_forgets_all_of_it(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    (tmp_path / "mcp-auth.json").write_text('{"input:key": {"type": "input", "value": "v"}}')
    (tmp_path / "mcp-auth.json").chmod(0o600)
    logging_in()

    assert store.remove(server.mcp)
    assert not store.remove(server.mcp)
    assert json.loads((tmp_path / "mcp-auth.json").read_text()) == {"input:key": {"type": "input", "value": "v"}}
    assert status_of(server, store) == 401


def test_a_login_is_for_one_url(server: McpOAuthServer, store: TokenStore, logging_in: LogIn) -> None:
    logging_in()

    async def scenario() -> tuple[tuple[str, str], ...]:
        authorizer = McpAuthorizer(f"{server.url}/other", store, LiveTransport)
        return (await authorizer.authorize(HttpRequest("POST", f"{server.url}/other"))).headers

    assert run(scenario()) == ()


@pytest.mark.parametrize(
    ("url", "spelling"),
    [
        ("HTTPS://Mcp.Example/Path#x", "https://mcp.example/Path"),
        ("https://mcp.example/", "https://mcp.example"),
        ("https://mcp.example:8443/a?b=C", "https://mcp.example:8443/a?b=C"),
    ],
)
def test_a_url_has_one_spelling(url: str, spelling: str) -> None:
    assert canonical(url) == spelling


def test_tokens_are_in_no_repr(server: McpOAuthServer, store: TokenStore, logging_in: LogIn) -> None:
    logging_in()

    assert "access-1" not in repr((store, store.of(server.mcp), store.details(server.mcp)))


def test_many_requests_at_once_refresh_once(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    logging_in()
    expire(tmp_path, server)

    async def ask(transport: Transport) -> int:
        async def once() -> int:
            async with transport.send(HttpRequest("POST", server.mcp, (), b"{}")) as response:
                return response.status

        return max(await asyncio.gather(*(once() for _ in range(8))))

    assert asking(server, store, ask) == 200
    assert len(server.asked("/token")) == 2
