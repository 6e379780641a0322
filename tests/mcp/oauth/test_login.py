"""Logging in to an MCP server, against real servers and over a real listener."""

import json
import socket
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from kaa.llm.auth.errors import LoginError, LoginRefusedError, MixedUpLoginError
from kaa.mcp.oauth.tokens import TokenStore
from tests.mcp.oauth.conftest import LogIn
from tests.support.login_screen import Person
from tests.support.mcp_oauth import McpOAuthServer
from tests.support.oauth_server import json_reply, refusal


def asked_of(person: Person) -> dict[str, str]:
    """The fields of the last address that was shown."""
    return {name: values[0] for name, values in parse_qs(urlsplit(person.addresses[-1]).query).items()}


def kept(tmp_path: Path, server: McpOAuthServer) -> dict[str, object]:
    return dict(json.loads((tmp_path / "mcp-auth.json").read_text())[server.mcp])


def test_a_server_says_all_that_a_login_needs(server: McpOAuthServer, logging_in: LogIn, tmp_path: Path) -> None:
    server.conditions.scope = "files:read"

    person = logging_in()

    asked = asked_of(person)
    assert asked["resource"] == server.mcp
    assert asked["scope"] == "files:read"
    assert asked["code_challenge_method"] == "S256"
    assert asked["client_id"] == "client-1"
    (sent,) = server.asked("/token")
    assert (sent["resource"], sent["client_id"]) == (server.mcp, "client-1")
    entry = kept(tmp_path, server)
    assert (entry["access"], entry["refresh"], entry["issuer"]) == ("access-1", "refresh-1", server.url)
    assert (tmp_path / "mcp-auth.json").stat().st_mode & 0o777 == 0o600


def test_the_address_can_be_pasted_from_another_machine(server: McpOAuthServer, logging_in: LogIn) -> None:
    person = Person()
    person.does = lambda address: person.pastes.extend(["nonsense here", server.agree(address)])

    logging_in(person=person)

    assert len(person.complaints) == 1
    assert server.access_token == "access-1"


def test_a_server_that_wants_no_login_is_not_logged_in_to(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.has_resource_metadata = False
    server.instead["/mcp"] = [json_reply({})]

    with pytest.raises(LoginError, match="does not ask for a login"):
        logging_in()


@pytest.mark.parametrize(
    ("challenge", "supported", "configured", "scope"),
    [
        ("Bearer scope=a", ["b"], "", "a"),
        ("Bearer", ["b", "c"], "", "b c"),
        ("Bearer", [], "", None),
        ("Bearer scope=a", ["b"], "mine", "mine"),
    ],
)
def test_the_scopes_that_are_asked_for(
    server: McpOAuthServer,
    logging_in: LogIn,
    challenge: str,
    supported: list[str],
    configured: str,
    scope: str | None,
) -> None:
    server.conditions.scopes_supported = supported

    assert asked_of(logging_in(challenge=challenge, scope=configured)).get("scope") == scope


def test_a_refresh_token_is_asked_for_where_that_takes_a_scope(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.metadata["scopes_supported"] = ["a", "offline_access"]

    asked = asked_of(logging_in(challenge="Bearer scope=a"))

    assert (asked["scope"], asked["prompt"]) == ("a offline_access", "consent")


def test_a_step_up_asks_for_what_it_had_and_what_is_missing(server: McpOAuthServer, logging_in: LogIn) -> None:
    logging_in(challenge="Bearer scope=read")

    person = logging_in(challenge='Bearer error="insufficient_scope", scope="write"')

    assert asked_of(person)["scope"] == "read write"
    assert len(server.asked("/register")) == 1


@pytest.mark.parametrize(
    ("names", "announced", "told"),
    [
        ("https://evil.example", True, "names 'https://evil.example'"),
        ("https://evil.example", False, "names 'https://evil.example'"),
        (None, True, "does not name its sender"),
    ],
)
def test_a_code_of_another_server_is_not_used(
    server: McpOAuthServer, logging_in: LogIn, names: str | None, announced: bool, told: str
) -> None:
    server.conditions.metadata["authorization_response_iss_parameter_supported"] = announced
    server.conditions.names_itself = names

    with pytest.raises(MixedUpLoginError, match=told):
        logging_in()

    assert not server.asked("/token")


def test_a_server_that_names_itself_is_believed(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.metadata["authorization_response_iss_parameter_supported"] = True
    server.conditions.names_itself = server.url

    logging_in()

    assert server.access_token == "access-1"


def test_a_refusal_keeps_nothing(server: McpOAuthServer, logging_in: LogIn, store: TokenStore) -> None:
    server.instead["/token"] = [refusal("invalid_grant", "code-1 was used")]

    with pytest.raises(LoginRefusedError, match="log in again") as raised:
        logging_in()

    assert "code-1" not in str(raised.value)
    assert store.details(server.mcp) is None


def test_the_configured_address_is_listened_on(server: McpOAuthServer, logging_in: LogIn) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    asked = asked_of(logging_in(callback_url=f"http://localhost:{port}/back"))

    assert asked["redirect_uri"] == f"http://localhost:{port}/back"


@pytest.mark.parametrize("address", ["https://kaa.example/back", "http://localhost/back", "http://10.0.0.1:80/x", "x:"])
def test_an_address_elsewhere_is_refused(logging_in: LogIn, address: str) -> None:
    with pytest.raises(LoginError, match="callbackUrl"):
        logging_in(callback_url=address)


def test_a_file_that_others_can_read_is_found_before_the_browser_opens(
    server: McpOAuthServer, logging_in: LogIn, tmp_path: Path
) -> None:
    (tmp_path / "mcp-auth.json").write_text("{}")
    (tmp_path / "mcp-auth.json").chmod(0o644)
    person = Person()

    with pytest.raises(LoginError, match="chmod 600"):
        logging_in(person=person)

    assert not person.addresses
    assert not server.requests
