"""Logging in with a code that is entered on another machine."""

import msgspec
import pytest

from kaa.llm.auth.errors import LoginError, LoginRefusedError
from kaa.llm.auth.oauth.config import OAuthConfig
from kaa.llm.auth.oauth.device import log_in_with_device
from kaa.llm.auth.oauth.exchange import LoginTokens
from kaa.llm.http.live import LiveTransport
from tests.support.agents import run
from tests.support.login_screen import Person
from tests.support.oauth_server import USER_CODE, OAuthServer, Reply, json_reply, refusal


def log_in(server: OAuthServer, person: Person, slept: list[float], **changes: object) -> LoginTokens:
    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def scenario() -> LoginTokens:
        transport = LiveTransport()
        try:
            config = msgspec.convert(server.config(**changes), OAuthConfig)
            return await log_in_with_device(config, transport, person, sleep=sleep)
        finally:
            await transport.close()

    return run(scenario())


def test_it_asks_until_the_code_is_entered(server: OAuthServer) -> None:
    server.instead["/token"] = [
        refusal("authorization_pending"),
        refusal("slow_down"),
        refusal("authorization_pending"),
    ]
    person, slept = Person(), list[float]()

    tokens = log_in(server, person, slept, scopes=["inference"])

    assert tokens.access == "access-1"
    assert (person.addresses, person.codes) == ([f"{server.url}/enter"], [USER_CODE])
    assert slept == [1, 1, 6, 6]
    assert server.asked("/device") == [{"client_id": "kaa-of-the-tests", "scope": "inference"}]


def test_a_server_that_fails_meanwhile_is_asked_less_often(server: OAuthServer) -> None:
    server.instead["/token"] = [Reply(502), Reply(502)]
    slept: list[float] = []

    assert log_in(server, Person(), slept).access == "access-1"
    assert slept == [1, 2, 4]


@pytest.mark.parametrize(
    ("code", "told"),
    [("access_denied", "access was denied"), ("expired_token", "in time"), ("invalid_grant", "log in again")],
)
def test_a_no_ends_it(server: OAuthServer, code: str, told: str) -> None:
    server.instead["/token"] = [refusal("authorization_pending"), refusal(code)]

    with pytest.raises(LoginRefusedError, match=told):
        log_in(server, Person(), [])


def test_it_does_not_ask_for_ever(server: OAuthServer) -> None:
    answer = {"device_code": "device-1", "user_code": USER_CODE, "verification_uri": f"{server.url}/enter"}
    server.instead["/device"] = [json_reply(answer | {"expires_in": 40, "interval": 2})]
    server.instead["/token"] = [refusal("authorization_pending") for _ in range(100)]
    slept: list[float] = []

    with pytest.raises(LoginError, match="in time"):
        log_in(server, Person(), slept)

    assert slept == [2] * 20


@pytest.mark.parametrize(
    "changes",
    [
        {"device_code": None},
        {"user_code": ""},
        {"user_code": "x" * 1000},
        {"user_code": "A\x1b[2JB"},
        {"verification_uri": "http://evil.example/"},
        {"verification_uri": "javascript:alert(1)"},
        {"verification_uri": "https://fine.example/\x1b[2J"},
        {"verification_uri": None},
    ],
)
def test_what_nobody_should_be_shown_is_not_shown(server: OAuthServer, changes: dict[str, object]) -> None:
    answer = {"device_code": "d", "user_code": "U", "verification_uri": "https://fine.example/"}
    server.instead["/device"] = [json_reply(answer | changes)]
    person = Person()

    with pytest.raises(LoginError):
        log_in(server, person, [])

    assert not person.addresses


@pytest.mark.parametrize(("interval", "waits"), [(0, 1), (-5, 1), (1e9, 60), (10**400, 60), ("soon", 5), (None, 5)])
def test_an_interval_that_makes_no_sense(server: OAuthServer, interval: object, waits: float) -> None:
    answer = {"device_code": "device-1", "user_code": "U", "verification_uri": "https://fine.example/"}
    server.instead["/device"] = [json_reply({**answer, "interval": interval})]
    slept: list[float] = []

    log_in(server, Person(), slept)

    assert slept == [waits]


def test_a_server_without_device_login_says_so(server: OAuthServer) -> None:
    with pytest.raises(LoginError, match="no login with a code"):
        log_in(server, Person(), [], deviceUrl=None)
