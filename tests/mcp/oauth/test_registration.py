"""How authorization servers know kaa."""

import base64
import socket
import time
from urllib.parse import urlsplit

import pytest

from kaa.llm.auth.errors import LoginError
from kaa.mcp.oauth.registration import Client
from kaa.mcp.oauth.tokens import TokenStore
from tests.mcp.oauth.conftest import LogIn
from tests.mcp.oauth.test_login import asked_of
from tests.support.login_screen import Person
from tests.support.mcp_browsing import visit
from tests.support.mcp_oauth import McpOAuthServer
from tests.support.oauth_server import refusal

_DOCUMENT = "https://kaa.example/client.json"


def test_kaa_registers_itself_once(server: McpOAuthServer, logging_in: LogIn) -> None:
    first, second = asked_of(logging_in()), asked_of(logging_in())

    (sent,) = server.asked("/register")
    assert first["redirect_uri"] in sent["redirect_uris"]
    assert sent["application_type"] == "native"
    assert "refresh_token" in sent["grant_types"]
    assert first["redirect_uri"] == second["redirect_uri"]


def test_it_registers_anew_if_its_port_is_taken(server: McpOAuthServer, logging_in: LogIn) -> None:
    port = urlsplit(asked_of(logging_in())["redirect_uri"]).port
    with socket.create_server(("127.0.0.1", port or 0)):
        logging_in()

    assert len(server.asked("/register")) == 2


def test_it_registers_anew_after_its_secret_has_ended(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    server.conditions.client = {"client_secret": "s3cret", "client_secret_expires_at": int(time.time()) - 1}

    logging_in()
    logging_in()

    assert len(server.asked("/register")) == 2


def test_it_registers_for_the_scopes_that_it_asks_for_and_anew_for_more(
    server: McpOAuthServer, logging_in: LogIn
) -> None:
    server.conditions.client = {"scope": "read"}

    for challenge in ("Bearer scope=read", "Bearer scope=read", 'Bearer error="insufficient_scope", scope="write"'):
        logging_in(challenge=challenge)

    assert [sent["scope"] for sent in server.asked("/register")] == ["read", "read write"]


@pytest.mark.parametrize("proof", ["client_secret_basic", "client_secret_post"])
def test_a_registered_secret_proves_who_kaa_is(server: McpOAuthServer, logging_in: LogIn, proof: str) -> None:
    server.conditions.metadata["token_endpoint_auth_methods_supported"] = [proof]
    server.conditions.client = {"client_secret": "s3cret:/?"}

    logging_in()

    (sent,) = server.asked("/token")
    assert sent.get("client_secret") == ("s3cret:/?" if proof == "client_secret_post" else None)
    assert sent["client_id"] == "client-1"
    assert server.access_token == "access-1"


def test_a_secret_is_sent_in_the_form_where_the_server_reads_both(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic", "client_secret_post"]
    server.conditions.client = {"client_secret": "s3cret"}

    logging_in()

    (registered,), (sent,) = server.asked("/register"), server.asked("/token")
    assert registered["token_endpoint_auth_method"] == "client_secret_post"
    assert sent["client_secret"] == "s3cret"


def test_a_client_of_the_users_own_needs_no_registration(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.metadata |= {"registration_endpoint": None, "token_endpoint_auth_methods_supported": None}
    server.clients["mine"] = "my-secret"

    logging_in(client_id="mine", client_secret="my-secret")

    assert server.access_token == "access-1"
    assert not server.asked("/register")


def test_a_document_describes_kaa_where_the_server_reads_it(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.metadata["client_id_metadata_document_supported"] = True
    server.clients[_DOCUMENT] = ""

    assert asked_of(logging_in(client_id=_DOCUMENT))["client_id"] == _DOCUMENT
    assert not server.asked("/register")


def test_elsewhere_it_registers(server: McpOAuthServer, logging_in: LogIn) -> None:
    assert asked_of(logging_in(client_id=_DOCUMENT))["client_id"] == "client-1"


def test_a_demanded_document_that_the_server_does_not_read_is_an_error(logging_in: LogIn) -> None:
    with pytest.raises(LoginError, match="does not support it"):
        logging_in(client_id=_DOCUMENT, registration="cimd")


def test_without_any_way_the_user_learns_what_to_register(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.metadata["registration_endpoint"] = None

    with pytest.raises(LoginError, match=r"with the address http://127\.0\.0\.1:\d+/callback .* `clientId`"):
        logging_in()


def test_a_refused_registration_says_what_to_do(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.instead["/register"] = [refusal("invalid_client_metadata", "only for partners")]

    with pytest.raises(LoginError, match=r"does not register kaa .*only for partners.*`clientId`"):
        logging_in()


def test_what_one_server_gave_is_not_shown_to_another(
    server: McpOAuthServer, logging_in: LogIn, store: TokenStore
) -> None:
    logging_in()
    before = store.details(server.mcp)
    with McpOAuthServer() as other:
        server.conditions.issuers = [other.url]
        other.clients["client-1"] = ""
        person = Person()
        person.does = lambda address: person.pastes.append(other.agree(address))

        logging_in(person=person)

        after = store.details(server.mcp)
        assert before is not None
        assert after is not None
        assert (before.issuer, after.issuer) == (server.url, other.url)
        assert len(other.asked("/register")) == 1


def test_a_secret_is_in_no_repr() -> None:
    client = Client("me", "s3cret", "client_secret_basic")

    assert "s3cret" not in repr(client)
    assert base64.b64encode(b"me:s3cret").decode() not in repr((client, client.login))


@pytest.mark.parametrize(("secret", "is_sent"), [("mine", False), ("", True)])
def test_a_configured_secret_is_not_sent_to_another_authorization_server(
    server: McpOAuthServer, logging_in: LogIn, secret: str, is_sent: bool
) -> None:
    server.clients["registered"] = secret
    logging_in(client_id="registered", client_secret=secret)
    with McpOAuthServer() as other:
        other.clients["registered"] = secret
        server.conditions.issuers = [other.url]
        person = Person(does=lambda address: visit(other.agree(address)))

        if is_sent:
            logging_in(person=person, client_id="registered", client_secret=secret)
        else:
            with pytest.raises(LoginError, match=r"does not send your `clientSecret` there.*kaa mcp logout"):
                logging_in(person=person, client_id="registered", client_secret=secret)

        assert bool(other.asked("/token")) is is_sent
