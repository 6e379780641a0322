"""Logging out: the login is forgotten whatever the authorization server does, and its tokens are revoked there."""

import json
from pathlib import Path

import pytest

from kaa.llm.http.live import LiveTransport
from kaa.mcp.oauth.login import log_out
from kaa.mcp.oauth.tokens import TokenStore
from tests.mcp.oauth.conftest import LogIn
from tests.support.agents import run
from tests.support.mcp_oauth import McpOAuthServer
from tests.support.oauth_server import Reply, refusal


@pytest.fixture(autouse=True)
def revocable(server: McpOAuthServer) -> None:
    server.conditions.metadata["revocation_endpoint"] = f"{server.url}/revoke"


def logged_out(server: McpOAuthServer, store: TokenStore) -> str | None:
    return run(log_out(server.mcp, store, LiveTransport))


def test_both_tokens_are_revoked_by_the_client_that_got_them(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn
) -> None:
    server.conditions.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    server.conditions.client = {"client_secret": "s3cret"}
    logging_in()

    said, again = logged_out(server, store), logged_out(server, store)

    assert said == f"Its tokens were revoked at {server.url.removeprefix('http://')}."
    assert server.asked("/revoke") == [
        {"token": server.refresh_token, "token_type_hint": "refresh_token", "client_id": "client-1"},
        {"token": server.access_token, "token_type_hint": "access_token", "client_id": "client-1"},
    ]
    assert store.details(server.mcp) is None
    assert again is None


def test_a_server_that_refuses_the_access_token_after_the_refresh_token_has_revoked_both(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn
) -> None:
    server.instead["/revoke"] = [Reply(200, b""), refusal("unsupported_token_type")]
    logging_in()

    assert "were revoked" in str(logged_out(server, store))


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (refusal("invalid_client", "who is that?", 401), "who is that?"),
        (Reply(503), "status 503"),
        (Reply(404, b"<html>"), "status 404"),
        (Reply(302, b"", {"location": "https://elsewhere.example"}), "redirects"),
    ],
)
def test_a_failure_is_told_and_the_login_is_forgotten_anyway(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn, reply: Reply, why: str
) -> None:
    server.instead["/revoke"] = [reply]
    logging_in()

    said = logged_out(server, store)

    assert said is not None
    assert said.startswith("Its tokens could not be revoked and stay valid until they expire: ")
    assert why in said
    assert server.refresh_token not in said
    assert store.details(server.mcp) is None


@pytest.mark.parametrize(
    "address",
    [None, "http://elsewhere.example/revoke", "https://elsewhere.example/revoke", "revoke", 3],
)
def test_tokens_are_sent_to_nobody_but_the_one_who_gave_them(
    server: McpOAuthServer, store: TokenStore, logging_in: LogIn, address: object
) -> None:
    server.conditions.metadata["revocation_endpoint"] = address
    logging_in()

    assert "names no address to revoke them" in str(logged_out(server, store))
    assert store.details(server.mcp) is None


def test_a_login_that_cannot_be_read_is_forgotten(server: McpOAuthServer, store: TokenStore, tmp_path: Path) -> None:
    (tmp_path / "mcp-auth.json").write_text(json.dumps({server.mcp: {"type": "oauth", "refresh": 1}}))
    (tmp_path / "mcp-auth.json").chmod(0o600)

    assert "names no address to revoke them" in str(logged_out(server, store))
    assert logged_out(server, store) is None
