"""Tokens that are bound to a key of kaa's (DPoP): asked for, kept, sent with proofs, renewed, and never without."""

import json
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from kaa.llm.auth.errors import LoginError
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from kaa.mcp.errors import McpError
from kaa.mcp.oauth.bound import McpServerAuthorizer, let_in
from kaa.mcp.oauth.dpop import DpopKey
from kaa.mcp.oauth.machine import MachineAuthorizer
from kaa.mcp.oauth.settings import OAuthEntry
from kaa.mcp.oauth.tokens import McpAuthorizer, TokenStore
from tests.mcp.oauth.conftest import LogIn
from tests.support.agents import run
from tests.support.dpop_server import DpopServer
from tests.support.login_screen import Person
from tests.support.mcp_browsing import visit
from tests.test_import_budget import modules_after


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[DpopServer]:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with DpopServer() as running:
        yield running


def statuses(server: DpopServer, store: TokenStore, times: int = 1, settings: OAuthEntry | None = None) -> list[int]:
    """The statuses of some requests of a kaa that starts now."""

    async def scenario() -> list[int]:
        live = LiveTransport()
        authorizer: McpServerAuthorizer = McpAuthorizer(server.mcp, store, LiveTransport)
        if settings is not None:
            authorizer = MachineAuthorizer(server.mcp, settings, store, LiveTransport)
        transport = let_in(live, authorizer)
        found = []
        try:
            for _ in range(times):
                async with transport.send(HttpRequest("POST", server.mcp, (), b"{}")) as response:
                    found.append(response.status)
        finally:
            await live.close()
        return found

    return run(scenario())


def kept(tmp_path: Path, server: DpopServer) -> dict[str, object]:
    entry = json.loads((tmp_path / "mcp-auth.json").read_text())[server.mcp]
    assert isinstance(entry, dict)
    return entry


def change(tmp_path: Path, server: DpopServer, **changes: object) -> None:
    file = tmp_path / "mcp-auth.json"
    file.write_text(json.dumps({server.mcp: kept(tmp_path, server) | changes}))


def test_a_login_gets_tokens_that_are_good_with_proofs_only(
    server: DpopServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    addresses: list[str] = []

    def agree(address: str) -> None:
        addresses.append(address)
        visit(server.agree(address))

    logging_in(person=Person(does=agree))

    assert statuses(server, store, times=2) == [200, 200]
    assert server.refused == []
    assert [path for path, _ in server.proofs] == ["/token", "/mcp", "/mcp"]
    assert parse_qs(urlsplit(addresses[0]).query)["dpop_jkt"] == [server.thumbprint]
    assert DpopKey(str(kept(tmp_path, server)["dpopKey"])).thumbprint == server.thumbprint
    assert (tmp_path / "mcp-auth.json").stat().st_mode & 0o777 == 0o600


def test_each_login_has_a_key_of_its_own(
    server: DpopServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    logging_in()
    before = kept(tmp_path, server)["dpopKey"]

    logging_in()

    assert kept(tmp_path, server)["dpopKey"] != before
    assert statuses(server, store) == [200]


def test_nonces_of_both_servers_are_in_the_proofs(
    server: DpopServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    server.nonces = {"/token": "n-1", "/mcp": "n-2"}

    logging_in()

    assert statuses(server, store, times=2) == [200, 200]
    assert [claims.get("nonce") for _, claims in server.proofs] == [None, "n-1", None, "n-2", "n-2"]


def test_a_nonce_and_a_token_that_is_refused_need_one_request(
    server: DpopServer, store: TokenStore, logging_in: LogIn
) -> None:
    logging_in()
    server.nonces = {"/token": "n-1", "/mcp": "n-2"}
    server.access_token = "another"  # what was given before is refused

    assert statuses(server, store) == [200]
    assert server.refused == []


def test_renewed_tokens_are_bound_to_the_same_key(
    server: DpopServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    logging_in()
    before = kept(tmp_path, server)
    change(tmp_path, server, expires=1)

    assert statuses(server, store) == [200]

    after = kept(tmp_path, server)
    assert after["access"] != before["access"]
    assert after["dpopKey"] == before["dpopKey"]


def test_the_token_is_never_sent_without_a_proof(
    server: DpopServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    logging_in()
    asked = len(server.requests)
    change(tmp_path, server, dpopKey="no key")

    with pytest.raises(McpError, match="log in again"):
        statuses(server, store)

    assert len(server.requests) == asked


def test_a_token_that_is_good_for_everybody_is_refused_where_the_server_binds_them(
    server: DpopServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    server.binds = False  # it gives such tokens whatever is sent

    with pytest.raises(LoginError, match="good for everybody"):
        logging_in()

    assert not (tmp_path / "mcp-auth.json").exists()


@pytest.mark.parametrize(("wanted", "is_bound"), [("auto", True), ("required", True), ("off", False)])
def test_the_user_chooses_where_the_server_takes_both(
    server: DpopServer, store: TokenStore, logging_in: LogIn, tmp_path: Path, wanted: str, *, is_bound: bool
) -> None:
    server.challenges = ("Bearer", "DPoP")

    logging_in(dpop=wanted)

    assert ("dpopKey" in kept(tmp_path, server)) == is_bound
    assert statuses(server, store) == [200]


def test_a_server_that_takes_other_tokens_only_gets_these(
    server: DpopServer, store: TokenStore, logging_in: LogIn, tmp_path: Path
) -> None:
    server.challenges = ("Bearer",)  # many authorization servers can bind tokens, and few servers know that

    logging_in()

    assert "dpopKey" not in kept(tmp_path, server)
    assert statuses(server, store) == [200]


def test_no_login_where_what_is_required_is_not_to_be_had(server: DpopServer, logging_in: LogIn) -> None:
    server.challenges = ("Bearer",)
    server.binds = False

    with pytest.raises(LoginError, match="`dpop` in its `oauth` entry requires"):
        logging_in(dpop="required")

    assert server.asked("/token") == []


def test_an_authorization_server_without_our_algorithm_is_named(server: DpopServer, logging_in: LogIn) -> None:
    server.conditions.metadata["dpop_signing_alg_values_supported"] = ["EdDSA"]

    with pytest.raises(LoginError, match="signed with EdDSA, and kaa signs with ES256"):
        logging_in()


def test_a_login_without_a_person_is_bound_too(server: DpopServer, store: TokenStore, tmp_path: Path) -> None:
    server.clients["svc"] = "s3cret"
    server.nonces = {"/token": "n-1", "/mcp": "n-2"}
    settings = OAuthEntry(client_id="svc", client_secret="s3cret", grant_type="client_credentials")

    assert statuses(server, store, 2, settings) == [200, 200]
    assert statuses(server, store, 1, settings) == [200]

    assert "dpopKey" in kept(tmp_path, server)
    assert server.refused == []


@pytest.mark.parametrize("both", [True, False])
def test_without_the_library_a_login_is_bound_only_where_it_need_not_be(
    server: DpopServer, logging_in: LogIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, both: bool
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    server.challenges = ("Bearer", "DPoP") if both else ("DPoP",)

    if both:
        logging_in()
        assert "dpopKey" not in kept(tmp_path, server)
    else:
        with pytest.raises(LoginError, match=r"kaa\[jwt\]"):
            logging_in()


def test_what_signs_is_not_loaded_before_a_server_wants_it() -> None:
    loaded = modules_after("import kaa.mcp.oauth.login, kaa.mcp.oauth.machine, kaa.shell.mcp.reaching")

    assert not loaded & {"kaa.mcp.oauth.dpop", "kaa.mcp.oauth.signing", "cryptography"}


def test_a_proof_names_the_address_without_query_and_the_token_by_its_digest() -> None:
    proof = DpopKey.new().proof("GET", "https://a.example/mcp?x=1#y", access="secret-token", nonce="n")

    header, claims = (json.loads(_decoded(part)) for part in proof.split(".")[:2])
    assert header["typ"] == "dpop+jwt"
    assert "d" not in header["jwk"]
    digest = urlsafe_b64encode(sha256(b"secret-token").digest()).decode().rstrip("=")
    assert (claims["htm"], claims["htu"], claims["ath"], claims["nonce"]) == (
        "GET",
        "https://a.example/mcp",
        digest,
        "n",
    )


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
