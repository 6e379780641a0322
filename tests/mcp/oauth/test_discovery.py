"""Finding out who gives tokens, and believing only what fits."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
import trustme

from kaa.core.errors import OverloadedError
from kaa.llm.auth.errors import LoginError
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest, HttpResponse
from kaa.mcp.oauth.challenge import Challenge
from kaa.mcp.oauth.discovery import Discovered, discover
from kaa.mcp.oauth.guarded import GuardedTransport, UnsafeAddressError
from kaa.mcp.oauth.settings import OAuthEntry
from tests.mcp.oauth.conftest import LogIn
from tests.mcp.oauth.test_login import asked_of
from tests.support.agents import run
from tests.support.login_screen import Person
from tests.support.mcp_oauth import McpOAuthServer
from tests.support.oauth_server import Reply, json_reply
from tests.support.tables import each


def asked_paths(server: McpOAuthServer) -> list[str]:
    return [path for path, _ in server.requests]


@pytest.mark.parametrize("resource", ["https://evil.example/mcp", "{}/other", "{}/mcp/deeper", "http://[", 7])
def test_a_server_that_says_to_be_another_gets_no_token(
    server: McpOAuthServer, logging_in: LogIn, resource: object
) -> None:
    place = "/.well-known/oauth-protected-resource/mcp"
    said = resource.format(server.url) if isinstance(resource, str) else resource
    server.instead[place] = [json_reply({"resource": said, "authorization_servers": [server.url]})]
    person = Person()

    with pytest.raises(LoginError, match="which is not its address"):
        logging_in(person=person)

    assert not person.addresses


def test_a_server_can_be_a_part_of_the_resource(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.resource = server.url

    assert asked_of(logging_in())["resource"] == server.url


def test_metadata_of_another_issuer_are_refused(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.metadata["issuer"] = "https://evil.example"
    person = Person()

    with pytest.raises(LoginError, match=r"are those of another server \('https://evil.example'\)"):
        logging_in(person=person)

    assert not person.addresses
    assert not server.asked("/register")


@pytest.mark.parametrize(
    ("page", "receiver"),
    [
        ("https://honest.example/authorize", "https://evil.example2/token"),
        ("https://login.honest.example/authorize", "https://login.evil.example/token"),
        ("https://honest.co.uk/authorize", "https://evil.co.uk/token"),
        ("https://10.127.0.1/authorize", "{}/token"),
        ("https://honest.example/authorize", "{}/token"),
    ],
)
def test_a_code_never_goes_to_another_place_than_the_one_of_the_login(
    server: McpOAuthServer, logging_in: LogIn, page: str, receiver: str
) -> None:
    server.conditions.metadata |= {"authorization_endpoint": page, "token_endpoint": receiver.format(server.url)}
    person = Person()

    with pytest.raises(LoginError, match="kaa does not log in"):
        logging_in(person=person)

    assert not person.addresses
    assert not server.asked("/register")


@pytest.mark.parametrize(
    ("page", "receiver"),
    [
        ("https://www.big.example/authorize", "https://api.big.example/token"),
        ("https://login.big.co.uk/authorize", "https://api.big.co.uk/token"),
        ("https://elsewhere.example/authorize", "https://elsewhere.example/token"),
        ("{}/authorize", "https://tokens.example/token"),
    ],
)
def test_a_provider_may_have_several_hosts(server: McpOAuthServer, page: str, receiver: str) -> None:
    endpoints = {"authorization_endpoint": page.format(server.url), "token_endpoint": receiver}
    server.conditions.metadata |= endpoints

    async def scenario() -> Discovered:
        transport = LiveTransport()
        try:
            return await discover(server.mcp, OAuthEntry(), Challenge(), transport)
        finally:
            await transport.close()

    assert run(scenario()).server.token_url == receiver


def test_an_authorization_server_without_metadata_is_an_error(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.has_metadata = False

    with pytest.raises(LoginError, match="publishes no metadata"):
        logging_in()


def test_all_well_known_places_are_tried(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.issuers = [f"{server.url}/tenant"]
    server.conditions.metadata["issuer"] = f"{server.url}/tenant"
    place = "/tenant/.well-known/openid-configuration"
    server.instead[place] = [json_reply(server.metadata())]

    logging_in()

    tried = [path for path in asked_paths(server) if "tenant" in path]
    assert tried == [
        "/.well-known/oauth-authorization-server/tenant",
        "/.well-known/openid-configuration/tenant",
        "/tenant/.well-known/openid-configuration",
    ]


def test_a_server_of_the_revision_2025_03_26_says_nothing(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.has_resource_metadata = False
    server.conditions.has_metadata = False

    person = logging_in()

    assert person.addresses[0].startswith(f"{server.url}/authorize?")
    assert server.access_token == "access-1"


def test_pkce_without_s256_is_refused(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.metadata["code_challenge_methods_supported"] = ["plain"]

    with pytest.raises(LoginError, match="S256"):
        logging_in()


@pytest.mark.parametrize("names_issuer", [True, False])
def test_metadata_that_others_configured_give_no_code_to_another_server(
    server: McpOAuthServer, logging_in: LogIn, names_issuer: bool
) -> None:
    """A plugin's entry has the address of an honest server, and metadata of its own for the login there."""
    with McpOAuthServer() as evil:
        honest = f"{server.url}/authorize"
        evil.conditions.metadata = {"authorization_endpoint": honest, "registration_endpoint": f"{server.url}/register"}
        evil.conditions.metadata["issuer"] = server.url if names_issuer else None
        person = Person()

        with pytest.raises(LoginError, match="would get the code of your login at"):
            logging_in(
                person=person,
                users_own=False,
                auth_server_metadata_url=f"{evil.url}/.well-known/oauth-authorization-server",
            )

        assert not person.addresses
        assert not evil.asked("/token")


def test_metadata_that_others_configured_name_a_page_of_their_own_server_only(
    server: McpOAuthServer, logging_in: LogIn
) -> None:
    server.conditions.metadata["authorization_endpoint"] = "https://honest.example/authorize"
    person = Person()

    with pytest.raises(LoginError, match="kaa does not log in"):
        logging_in(
            person=person,
            users_own=False,
            auth_server_metadata_url=f"{server.url}/.well-known/oauth-authorization-server",
        )

    assert not person.addresses


def test_others_can_configure_the_place_where_an_authorization_server_describes_itself(
    server: McpOAuthServer, logging_in: LogIn
) -> None:
    server.conditions.has_resource_metadata = False

    logging_in(users_own=False, auth_server_metadata_url=f"{server.url}/.well-known/oauth-authorization-server")

    assert server.access_token == "access-1"


def test_a_client_is_not_shown_to_another_server_that_has_the_name_of_the_one_that_registered_it(
    server: McpOAuthServer, logging_in: LogIn
) -> None:
    logging_in()
    with McpOAuthServer() as other:
        other.conditions.metadata = {"issuer": server.url, "authorization_endpoint": f"{server.url}/authorize"}

        with pytest.raises(LoginError):
            logging_in(auth_server_metadata_url=f"{other.url}/.well-known/oauth-authorization-server")

        assert other.asked("/register")


def test_metadata_can_be_configured(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.conditions.has_metadata = False
    server.instead["/elsewhere"] = [json_reply(server.metadata())]

    logging_in(auth_server_metadata_url=f"{server.url}/elsewhere")

    assert server.access_token == "access-1"


def test_a_server_that_fails_is_not_taken_for_one_without_metadata(server: McpOAuthServer, logging_in: LogIn) -> None:
    server.instead["/.well-known/oauth-authorization-server"] = [Reply(503)]

    with pytest.raises(OverloadedError):
        logging_in()


class _ContactedError(Exception):
    """A request would have been sent."""


class _Network:
    """A `Transport` that says when it is used."""

    def send(self, request: HttpRequest) -> "_Network":
        raise _ContactedError

    async def __aenter__(self) -> HttpResponse:
        raise _ContactedError

    async def __aexit__(self, *_: object) -> None:
        """Nothing was opened."""

    async def close(self) -> None:
        """Nothing is open."""


def contact(server: str, address: str) -> None:
    async def scenario() -> None:
        async with GuardedTransport(_Network(), server).send(HttpRequest("GET", address)):
            pass

    run(scenario())


@each(
    "address",
    [
        "https://10.0.0.1/x",
        "https://192.168.1.1/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[fd00::1]/x",
        "https://[::1]/x",
        "https://[::ffff:127.0.0.1]/x",
        "https://127.0.0.1/x",
        "https://localhost/x",
        "http://127.0.0.1/x",
        "http://1.1.1.1/x",
        "file:///etc/passwd",
        "https://",
    ],
)
def test_a_metadata_address_in_the_private_network_is_refused(address: str) -> None:
    with pytest.raises(UnsafeAddressError):
        contact("https://1.1.1.1/mcp", address)


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("https://1.1.1.1/mcp", "https://9.9.9.9/x"),
        ("https://10.0.0.1/mcp", "https://192.168.1.1/x"),
        ("https://10.0.0.1/mcp", "https://1.1.1.1/x"),
        ("http://localhost:80/mcp", "http://127.0.0.1:81/x"),
        ("http://127.0.0.1/mcp", "https://10.0.0.1/x"),
    ],
)
def test_a_server_can_name_what_is_no_more_internal_than_itself(server: str, address: str) -> None:
    with pytest.raises(_ContactedError):
        contact(server, address)


def test_a_server_in_a_private_network_cannot_name_this_machine() -> None:
    with pytest.raises(UnsafeAddressError, match="on this machine"):
        contact("https://10.0.0.1/mcp", "https://127.0.0.1/x")


def test_a_server_is_as_internal_as_the_least_internal_of_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = {"both.example": ["1.1.1.1", "127.0.0.1"], "9.9.9.9": ["9.9.9.9"]}

    def resolved(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 0)) for one in addresses[host]]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)

    with pytest.raises(UnsafeAddressError):
        contact("https://both.example/mcp", "https://10.0.0.1/x")
    with pytest.raises(UnsafeAddressError):
        contact("https://9.9.9.9/mcp", "https://both.example/x")


@pytest.mark.parametrize("name", ["mcp.example", "other.example"])
def test_a_server_is_on_this_machine_if_it_proves_that_by_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whoever owns a name decides where it leads each time that it is asked for; only its server has its key."""
    authority, certificate = trustme.CA(), tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(certificate))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    usual = socket.getaddrinfo

    def resolved(host: str, *rest: object, **more: object) -> list[tuple[object, ...]]:
        asked = "127.0.0.1" if host == name else host
        return list(usual(asked, *rest, **more))  # type: ignore[arg-type] # as it was called

    monkeypatch.setattr(socket, "getaddrinfo", resolved)

    async def scenario() -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("mcp.example").configure_cert(context)
        async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context) as server:
            port = server.sockets[0].getsockname()[1]
            await GuardedTransport(_Network(), f"https://{name}:{port}/mcp").check("https://127.0.0.1/x")

    if name == "mcp.example":
        run(scenario())
    else:
        with pytest.raises(UnsafeAddressError, match="on this machine"):
            run(scenario())


def test_no_other_place_is_tried_after_a_refused_address(server: McpOAuthServer, logging_in: LogIn) -> None:
    with pytest.raises(UnsafeAddressError, match="https://"):
        logging_in(challenge='Bearer resource_metadata="http://1.1.1.1/x"')

    assert not server.requests
