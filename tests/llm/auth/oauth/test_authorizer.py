"""Tokens are renewed before they end and when they are refused, once for all processes, and never lost."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from kaa.core.errors import NetworkError
from kaa.llm.auth.auth_file import AuthFile
from kaa.llm.auth.credentials import CredentialStore
from kaa.llm.auth.errors import LoginError
from kaa.llm.auth.oauth.config import OAuthConfig
from kaa.llm.auth.oauth.exchange import LoginTokens
from kaa.llm.auth.oauth.renewal import ConfiguredRenewer, KeptLogin, OAuthAuthorizer
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from tests.support.agents import run
from tests.support.oauth_server import OAuthServer, Reply, refusal
from tests.support.patience import HANG_SECONDS

_HOUR_MS = 3_600_000

_PROCESS = """
import asyncio, sys
from pathlib import Path
import msgspec
from kaa.llm.auth.auth_file import AuthFile
from kaa.llm.auth.oauth.renewal import OAuthAuthorizer
from kaa.llm.auth.oauth.config import OAuthConfig
from kaa.llm.auth.oauth.renewal import ConfiguredRenewer, KeptLogin
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest

renewer = ConfiguredRenewer(msgspec.json.decode(sys.argv[2], type=OAuthConfig), LiveTransport)
authorizer = OAuthAuthorizer(KeptLogin(AuthFile(Path(sys.argv[1])), "lab"), renewer)
print("ready", flush=True)
sys.stdin.readline()
print(dict(asyncio.run(authorizer.authorize(HttpRequest("GET", "https://lab.example"))).headers)["authorization"])
"""


@pytest.fixture
def auth(tmp_path: Path) -> Path:
    return tmp_path / "auth.json"


def write(auth: Path, expires_in_ms: float, **more: object) -> None:
    entry = {"type": "oauth", "access": "access-0", "refresh": "refresh-0", "expires": now_ms() + expires_in_ms, **more}
    other = {"type": "api_key", "key": "$OTHER", "env": {"A": "b"}}
    auth.write_text(json.dumps({"lab": entry, "other": other}))
    auth.chmod(0o600)


def now_ms() -> float:
    return time.time() * 1000


def authorizer_of(auth: Path, server: OAuthServer | None, **changes: object) -> OAuthAuthorizer:
    config = msgspec.convert(server.config(**changes), OAuthConfig) if server else None
    return OAuthAuthorizer(
        KeptLogin(AuthFile(auth), "lab"), ConfiguredRenewer(config, LiveTransport) if config else None
    )


async def sent(authorizer: OAuthAuthorizer) -> str:
    """The authorization of a request."""
    request = HttpRequest("POST", "https://lab.example", (("x", "y"), ("Authorization", "Bearer old")))
    headers = (await authorizer.authorize(request)).headers
    assert headers[0] == ("x", "y")
    assert len(headers) == 2
    return headers[1][1]


def test_a_token_that_holds_is_sent(auth: Path, server: OAuthServer) -> None:
    write(auth, _HOUR_MS)

    assert run(sent(authorizer_of(auth, server))) == "Bearer access-0"
    assert not server.requests


def test_one_that_ends_soon_is_renewed_and_the_rest_of_the_file_stays(auth: Path, server: OAuthServer) -> None:
    write(auth, 1000, accountId="mine", nested={"a": [1.50]})

    assert run(sent(authorizer_of(auth, server))) == "Bearer access-1"
    kept = json.loads(auth.read_text())
    assert kept["other"] == {"type": "api_key", "key": "$OTHER", "env": {"A": "b"}}
    assert (kept["lab"]["accountId"], kept["lab"]["nested"]) == ("mine", {"a": [1.50]})
    assert (kept["lab"]["access"], kept["lab"]["refresh"]) == ("access-1", "refresh-1")
    assert kept["lab"]["expires"] > now_ms() + _HOUR_MS / 2
    assert auth.stat().st_mode & 0o777 == 0o600


def test_a_server_that_does_not_rotate_leaves_the_refresh_token(auth: Path, server: OAuthServer) -> None:
    server.rotates = False
    write(auth, 0)

    run(sent(authorizer_of(auth, server)))

    assert json.loads(auth.read_text())["lab"]["refresh"] == "refresh-0"


def test_one_that_is_refused_is_renewed(auth: Path, server: OAuthServer) -> None:
    write(auth, _HOUR_MS)
    authorizer = authorizer_of(auth, server)

    async def scenario() -> str:
        first = await authorizer.authorize(HttpRequest("POST", "https://lab.example"))
        assert await authorizer.renew(first)
        second = await sent(authorizer)
        assert await authorizer.renew(first)  # its refusal comes late
        assert await sent(authorizer) == second
        return second

    assert run(scenario()) == "Bearer access-1"


def test_many_requests_at_once_renew_once(auth: Path, server: OAuthServer) -> None:
    write(auth, 0)
    authorizer = authorizer_of(auth, server)

    async def scenario() -> list[str]:
        return await asyncio.gather(*(sent(authorizer) for _ in range(20)))

    assert set(run(scenario())) == {"Bearer access-1"}
    assert len(server.asked("/token")) == 1


def test_many_processes_at_once_renew_once(auth: Path, server: OAuthServer) -> None:
    write(auth, 0)
    arguments = [sys.executable, "-c", _PROCESS, str(auth), json.dumps(server.config())]
    processes = [
        subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(4)
    ]
    answer = server.answer

    def slowly(path: str, fields: dict[str, str]) -> Reply:
        time.sleep(0.5)  # meanwhile all of them have found out that the token has ended
        return answer(path, fields)

    server.answer = slowly  # type: ignore[method-assign]

    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=HANG_SECONDS)[0].strip() for process in processes]

    assert said == ["Bearer access-1"] * 4
    assert [fields["refresh_token"] for fields in server.asked("/token")] == ["refresh-0"]


def test_a_login_that_ended_says_what_to_do_and_stays(auth: Path, server: OAuthServer) -> None:
    write(auth, 0)
    before = auth.read_text()
    server.instead["/token"] = [refusal("invalid_grant", "refresh-0 was revoked")]

    with pytest.raises(LoginError, match=r"kaa login lab") as raised:
        run(sent(authorizer_of(auth, server)))

    assert "refresh-0" not in str(raised.value)
    assert auth.read_text() == before


def test_a_server_that_is_away_leaves_the_login(auth: Path, server: OAuthServer) -> None:
    write(auth, 0)
    before = auth.read_text()

    with pytest.raises(NetworkError):
        run(sent(authorizer_of(auth, server, tokenUrl="http://127.0.0.1:1/")))

    assert auth.read_text() == before


def test_a_token_that_still_holds_is_used_while_the_server_is_away(auth: Path, server: OAuthServer) -> None:
    write(auth, 30_000)
    server.instead["/token"] = [Reply(503)]
    authorizer = authorizer_of(auth, server)

    async def scenario() -> list[str]:
        return [await sent(authorizer), await sent(authorizer)]

    assert run(scenario()) == ["Bearer access-0", "Bearer access-1"]


def test_who_logs_out_meanwhile_stays_logged_out(auth: Path, server: OAuthServer) -> None:
    write(auth, 0)
    store = CredentialStore(auth, {})
    answer = server.answer

    def slowly(path: str, fields: dict[str, str]) -> Reply:
        store.remove("lab")
        return answer(path, fields)

    server.answer = slowly  # type: ignore[method-assign]

    with pytest.raises(LoginError, match="the login was removed"):
        run(sent(authorizer_of(auth, server)))

    assert "lab" not in json.loads(auth.read_text())


def test_who_logs_in_anew_meanwhile_keeps_the_new_login(auth: Path, server: OAuthServer) -> None:
    write(auth, 0)
    answer = server.answer

    def slowly(path: str, fields: dict[str, str]) -> Reply:
        KeptLogin(AuthFile(auth), "lab").keep(LoginTokens("access-new", "refresh-new", now_ms() + _HOUR_MS))
        return answer(path, fields)

    server.answer = slowly  # type: ignore[method-assign]

    assert run(sent(authorizer_of(auth, server))) == "Bearer access-new"
    assert json.loads(auth.read_text())["lab"]["refresh"] == "refresh-new"


def test_what_the_server_gave_is_kept_though_nobody_waits_for_it(auth: Path, server: OAuthServer) -> None:
    write(auth, 0)
    authorizer = authorizer_of(auth, server)

    async def scenario() -> None:
        task = asyncio.create_task(sent(authorizer))
        while not server.requests:
            await asyncio.sleep(0)
        task.cancel()

    run(scenario())  # ends when its threads have ended

    assert json.loads(auth.read_text())["lab"]["refresh"] == "refresh-1"


def test_without_a_way_to_renew_another_login_is_looked_for(auth: Path) -> None:
    write(auth, _HOUR_MS)
    authorizer = authorizer_of(auth, None)

    async def scenario() -> str:
        first = await authorizer.authorize(HttpRequest("POST", "https://lab.example"))
        assert not await authorizer.renew(first)
        write(auth, _HOUR_MS, access="access-of-another-kaa")
        assert await authorizer.renew(first)
        return await sent(authorizer)

    assert run(scenario()) == "Bearer access-of-another-kaa"


def test_one_that_ended_and_cannot_be_renewed_says_what_to_do(auth: Path) -> None:
    write(auth, -1000)

    with pytest.raises(LoginError, match="write `oauth`"):
        run(sent(authorizer_of(auth, None)))


def test_a_new_login_is_kept_privately(auth: Path) -> None:
    KeptLogin(AuthFile(auth), "lab").keep(LoginTokens("a", "r", 5))

    assert json.loads(auth.read_text()) == {"lab": {"type": "oauth", "access": "a", "refresh": "r", "expires": 5}}
    assert auth.stat().st_mode & 0o777 == 0o600


def test_tokens_are_in_no_repr(auth: Path, server: OAuthServer) -> None:
    write(auth, 0)
    authorizer = authorizer_of(auth, server)
    run(sent(authorizer))

    shown = repr((authorizer, authorizer._tokens, CredentialStore(auth, {}).get("lab")))

    assert "access-1" not in shown
    assert "refresh-1" not in shown
