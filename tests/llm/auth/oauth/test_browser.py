"""Logging in with a browser, against a real server and over a real listener."""

import asyncio
import threading
import urllib.error
import urllib.request
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from kaa.core.errors import NetworkError, OverloadedError
from kaa.llm.auth.errors import LoginError, LoginRefusedError
from kaa.llm.auth.oauth.browser import challenge_of, get_key_with_browser, log_in_with_browser
from kaa.llm.auth.oauth.config import KeyGrant, OAuthConfig
from kaa.llm.auth.oauth.exchange import LoginTokens
from kaa.llm.http.live import LiveTransport
from tests.support.agents import run
from tests.support.login_screen import Person
from tests.support.oauth_server import OAuthServer, Reply, json_reply, refusal


def visit(address: str, method: str = "GET", **headers: str) -> int:
    """What a browser gets there; 0 if the connection is closed."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers, method=method)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0


def in_a_browser(*addresses: str) -> list[int]:
    """Visit addresses from another thread, one after another; the list has all statuses once that is done."""
    statuses: list[int] = []
    threading.Thread(target=lambda: statuses.extend(map(visit, addresses))).start()
    return statuses


def log_in(server: OAuthServer, person: Person, limit_seconds: float = 60, **changes: object) -> LoginTokens:
    async def scenario() -> LoginTokens:
        transport = LiveTransport()
        try:
            config = msgspec.convert(server.config(**changes), OAuthConfig)
            return await log_in_with_browser(config, transport, person, limit_seconds=limit_seconds)
        finally:
            await transport.close()

    return run(scenario())


def test_the_browser_brings_the_code_back(server: OAuthServer) -> None:
    person = Person(does=lambda address: in_a_browser(server.agree(address)))

    tokens = log_in(server, person, scopes=["inference", "offline"], parameters={"audience": "api"})

    assert (tokens.access, tokens.refresh) == ("access-1", "refresh-1")
    asked = parse_qs(urlsplit(person.addresses[0]).query)
    assert asked["response_type"] == ["code"]
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["scope"] == ["inference offline"]
    assert asked["audience"] == ["api"]
    assert asked["redirect_uri"][0].startswith("http://127.0.0.1:")
    (sent,) = server.asked("/token")
    assert challenge_of(sent["code_verifier"]) == asked["code_challenge"][0]
    assert sent["code_verifier"] not in person.addresses[0]


def test_the_challenge_is_that_of_the_rfc() -> None:
    # RFC 7636, appendix B.
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_strays_are_turned_away_and_break_nothing(server: OAuthServer) -> None:
    statuses: list[int] = []

    def browse(address: str) -> None:
        right = server.agree(address)
        parts = urlsplit(right)
        origin = f"http://{parts.netloc}"
        visitor = threading.Thread(
            target=lambda: statuses.extend(
                [
                    visit(f"{origin}/favicon.ico"),
                    visit(f"{origin}{parts.path}?code=evil&state=guessed"),
                    visit(f"{origin}{parts.path}?code=evil"),
                    visit(f"{origin}{parts.path}?error=access_denied"),
                    visit(f"{origin}{parts.path}?{'&a' * 100}"),
                    visit(right, host="evil.example"),
                    visit(right, method="POST"),
                    visit(f"{origin}/{'x' * 100_000}"),
                    visit(right),
                ]
            )
        )
        visitors.append(visitor)
        visitor.start()

    visitors: list[threading.Thread] = []
    tokens = log_in(server, Person(does=browse))
    visitors[0].join()

    assert tokens.access == "access-1"
    assert [fields["code"] for fields in server.asked("/token")] == ["code-1"]
    assert statuses == [404, 400, 400, 400, 400, 400, 405, 0, 200]


def test_what_is_pasted_counts_too(server: OAuthServer) -> None:
    person = Person()
    person.does = lambda address: person.pastes.extend(
        ["not a code", "http://127.0.0.1:1/callback?code=x&state=of-another-login", server.agree(address)]
    )

    assert log_in(server, person).access == "access-1"
    assert "copy the whole address" in person.complaints[0]
    assert "another login" in person.complaints[1]


def test_a_code_alone_can_be_pasted(server: OAuthServer) -> None:
    person = Person()

    def agree(address: str) -> None:
        server.agree(address, code="bare-code")
        person.pastes.append(" bare-code\n")

    person.does = agree

    assert log_in(server, person).access == "access-1"


def test_a_no_in_the_browser_is_told(server: OAuthServer) -> None:
    def disagree(address: str) -> None:
        parts = urlsplit(server.agree(address))
        in_a_browser(f"http://{parts.netloc}{parts.path}?error=access_denied&{parts.query.partition('&')[2]}")

    with pytest.raises(LoginRefusedError, match="access was denied"):
        log_in(server, Person(does=disagree))


def test_nobody_comes(server: OAuthServer) -> None:
    with pytest.raises(LoginError, match="nobody logged in"):
        log_in(server, Person(), limit_seconds=0.01)


def test_a_port_that_is_taken_is_told(server: OAuthServer) -> None:
    port = urlsplit(server.url).port

    with pytest.raises(LoginError, match=f"port {port}"):
        log_in(server, Person(), redirectPort=port)


def test_the_listener_is_gone_when_the_login_is_aborted(server: OAuthServer) -> None:
    person = Person()

    async def scenario() -> None:
        config = msgspec.convert(server.config(), OAuthConfig)
        task = asyncio.create_task(log_in_with_browser(config, LiveTransport(), person))
        while not person.addresses:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scenario())

    assert visit(server.agree(person.addresses[0])) == 0


def test_the_server_tells_its_addresses(server: OAuthServer) -> None:
    person = Person(does=lambda address: in_a_browser(server.agree(address)))

    tokens = log_in(server, person, issuer=server.url, authorizationUrl=None, tokenUrl=None, deviceUrl=None)

    assert tokens.access == "access-1"


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"issuer": "https://evil.example"}, "another server"),
        ({"issuer": "URL", "token_endpoint": "http://evil.example/token"}, "not an https:// address"),
        ({"issuer": "URL", "token_endpoint": 7}, "not an https:// address"),
        ({"issuer": "URL"}, "names no token endpoint"),
    ],
)
def test_metadata_that_leads_astray_is_refused(server: OAuthServer, metadata: dict[str, object], told: str) -> None:
    content = {name: server.url if value == "URL" else value for name, value in metadata.items()}
    server.instead["/.well-known/oauth-authorization-server"] = [json_reply(content)]

    with pytest.raises(LoginError, match=told):
        log_in(server, Person(), issuer=server.url, authorizationUrl=None, tokenUrl=None)


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        (Reply(200, b"<html>captive portal</html>"), LoginError, "did not answer with JSON"),
        (Reply(200, b"[" * 100_000), LoginError, "did not answer with JSON"),
        (Reply(200, b'{"access_token": "' + b"x" * 2_000_000 + b'"}'), LoginError, "more than 256 KiB"),
        (Reply(302, b"", {"location": "http://evil.example/"}), LoginError, "redirects kaa"),
        (json_reply({}), LoginError, "without a usable access_token"),
        (json_reply({"access_token": "a\r\nx-evil: 1"}), LoginError, "without a usable access_token"),
        (json_reply({"access_token": "a", "token_type": "mac"}), LoginError, "of a type"),
        (json_reply({"access_token": "a", "refresh_token": 7}), LoginError, "not text"),
        (refusal("invalid_grant", "gone\x1b[31m code-1"), LoginRefusedError, r"gone \[31m …\): log in again"),
        (refusal("invalid_client"), LoginRefusedError, "clientId"),
        (json_reply({"error": {"message": "odd"}}, 400), LoginRefusedError, "odd"),
        (Reply(503, b""), OverloadedError, "cannot answer now"),
    ],
)
def test_answers_that_are_no_tokens(server: OAuthServer, answer: Reply, kind: type[Exception], told: str) -> None:
    server.instead["/token"] = [answer]

    with pytest.raises(kind, match=told) as raised:
        log_in(server, Person(does=lambda address: in_a_browser(server.agree(address))))

    (sent,) = server.asked("/token")
    assert sent["code_verifier"] not in str(raised.value)
    assert sent["code"] not in str(raised.value)


def test_a_lifetime_that_makes_no_sense_is_none(server: OAuthServer) -> None:
    for lifetime, ends in (
        ("3600", True),
        (1e300, True),
        ("soon", False),
        ("nan", False),
        (-1, False),
        (10**400, False),
        (True, False),
    ):
        server.lifetime = lifetime
        tokens = log_in(server, Person(does=lambda address: in_a_browser(server.agree(address))))
        assert bool(tokens.expires) == ends


def test_a_server_that_is_not_there(server: OAuthServer) -> None:
    person = Person(does=lambda address: in_a_browser(server.agree(address)))

    with pytest.raises(NetworkError, match="cannot connect"):
        log_in(server, person, tokenUrl="http://127.0.0.1:1/token")


def test_a_key_is_granted_without_registration(server: OAuthServer) -> None:
    person = Person(does=lambda address: in_a_browser(server.agree(address)))

    async def scenario() -> str:
        grant = KeyGrant(f"{server.url}/auth", f"{server.url}/keys")
        return await get_key_with_browser(grant, LiveTransport(), person)

    assert run(scenario()) == "sk-or-1"
    asked = parse_qs(urlsplit(person.addresses[0]).query)
    assert set(asked) == {"callback_url", "code_challenge", "code_challenge_method"}
    # Nobody can guess where the code is awaited.
    assert len(urlsplit(asked["callback_url"][0]).path) > len("/callback/") + 40
