"""Logins without a person: as a client with a secret or a key, and with a workload's token."""

import json
import sys
from base64 import urlsafe_b64decode
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kaa.llm.auth.errors import LoginError
from kaa.llm.http.authorized import AuthorizedTransport
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from kaa.mcp.errors import McpError
from kaa.mcp.oauth.machine import MachineAuthorizer, log_in_alone
from kaa.mcp.oauth.settings import OAuthEntry
from kaa.mcp.oauth.tokens import TokenStore
from tests.support.agents import run
from tests.support.mcp_oauth import McpOAuthServer
from tests.support.oauth_server import Fields, OAuthServer, Reply, json_reply, refusal

_Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
_Verify: TypeAlias = Callable[[bytes, bytes], None]

SECRET = OAuthEntry(client_id="svc", client_secret="s3cret", grant_type="client_credentials")


@pytest.fixture(autouse=True)
def clients(server: McpOAuthServer) -> None:
    server.clients["svc"] = "s3cret"


def ask(
    server: McpOAuthServer, store: TokenStore, settings: OAuthEntry, *headers: tuple[str, str], times: int = 1
) -> list[int]:
    """The statuses of some requests of a kaa that starts now."""

    async def scenario() -> list[int]:
        live = LiveTransport()
        transport = AuthorizedTransport(live, MachineAuthorizer(server.mcp, settings, store, LiveTransport))
        statuses = []
        try:
            for _ in range(times):
                async with transport.send(HttpRequest("POST", server.mcp, headers, b"{}")) as response:
                    statuses.append(response.status)
        finally:
            await live.close()
        return statuses

    return run(scenario())


def log_in(server: McpOAuthServer, store: TokenStore, settings: OAuthEntry, *, users_own: bool = True) -> None:
    async def scenario() -> None:
        live = LiveTransport()
        try:
            await log_in_alone(server.mcp, settings, store, live, users_own=users_own)
        finally:
            await live.close()

    run(scenario())


def sent(server: McpOAuthServer) -> Fields:
    """The form of the only request for a token."""
    (form,) = server.asked("/token")
    return form


def test_a_refused_request_logs_in_and_later_kaas_use_the_token(
    server: McpOAuthServer, store: TokenStore, tmp_path: Path
) -> None:
    server.conditions.scope = "files:read"

    assert ask(server, store, SECRET, times=2) == [200, 200]
    assert ask(server, store, SECRET) == [200]

    assert sent(server) == {
        "grant_type": "client_credentials",
        "client_id": "svc",
        "resource": server.mcp,
        "scope": "files:read",
    }
    assert server.asked("/register") == []
    entry = json.loads((tmp_path / "mcp-auth.json").read_text())[server.mcp]
    assert (entry["access"], entry["refresh"]) == ("access-1", "")
    assert (tmp_path / "mcp-auth.json").stat().st_mode & 0o777 == 0o600


def test_the_secret_is_in_the_form_where_the_server_wants_it(server: McpOAuthServer, store: TokenStore) -> None:
    server.conditions.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]

    assert ask(server, store, SECRET) == [200]

    assert sent(server)["client_secret"] == "s3cret"


def test_a_server_without_a_login_page_will_do(server: McpOAuthServer, store: TokenStore) -> None:
    server.conditions.metadata["authorization_endpoint"] = None

    assert ask(server, store, SECRET) == [200]


@pytest.mark.parametrize("lifetime", [30, "soon"])
def test_a_token_that_ended_is_replaced(server: McpOAuthServer, store: TokenStore, lifetime: object) -> None:
    server.lifetime = lifetime  # the second: nobody says when
    assert ask(server, store, SECRET) == [200]
    server.access_token = "another"  # what was given before is refused

    assert ask(server, store, SECRET) == [200]
    assert len(server.asked("/token")) == 2


def test_the_token_of_another_client_is_not_used(server: McpOAuthServer, store: TokenStore) -> None:
    server.clients["other"] = "s3cret"
    ask(server, store, SECRET)

    ask(server, store, OAuthEntry(client_id="other", client_secret="s3cret", grant_type="client_credentials"))

    assert [form["client_id"] for form in server.asked("/token")] == ["svc", "other"]


@pytest.mark.parametrize("users_own", [True, False])
def test_the_login_of_another_client_stays(server: McpOAuthServer, store: TokenStore, users_own: bool) -> None:
    server.clients["other"] = "s3cret"
    log_in(server, store, SECRET)

    log_in(server, store, msgspec.structs.replace(SECRET, client_id="other"), users_own=users_own)

    kept = store.details(server.mcp)
    assert kept is not None
    assert kept.client.id == "svc"


def test_the_scope_of_the_entry_is_the_limit(server: McpOAuthServer, store: TokenStore) -> None:
    log_in(server, store, msgspec.structs.replace(SECRET, scope="read"))

    assert sent(server)["scope"] == "read"


def test_a_secret_goes_where_it_went_the_last_time(server: McpOAuthServer, store: TokenStore) -> None:
    log_in(server, store, SECRET)
    known = store.details(server.mcp)
    tokens = store.of(server.mcp).tokens()
    assert known is not None
    assert tokens is not None
    store.keep(server.mcp, msgspec.structs.replace(known, token_url="http://127.0.0.1:1/token"), tokens)

    with pytest.raises(LoginError, match="the last login got its token at"):
        log_in(server, store, SECRET)

    assert len(server.asked("/token")) == 1


def test_what_others_configured_is_not_kept(server: McpOAuthServer, store: TokenStore) -> None:
    log_in(server, store, SECRET, users_own=False)

    assert not store.has(server.mcp)


def test_a_configured_header_is_sent_instead(server: McpOAuthServer, store: TokenStore) -> None:
    assert ask(server, store, SECRET, ("Authorization", "Bearer mine")) == [401]

    assert server.asked("/token") == []


def test_a_refused_client_is_named_and_asks_once(server: McpOAuthServer, store: TokenStore) -> None:
    server.clients["svc"] = "changed"

    async def scenario() -> list[str]:
        live = LiveTransport()
        transport = AuthorizedTransport(live, MachineAuthorizer(server.mcp, SECRET, store, LiveTransport))
        said = []
        for _ in range(2):
            with pytest.raises(McpError, match="does not know this client") as failed:
                async with transport.send(HttpRequest("POST", server.mcp, (), b"{}")):
                    pass
            said.append(str(failed.value))
        await live.close()
        return said

    said = run(scenario())

    assert len(server.asked("/token")) == 1
    assert "s3cret" not in "".join(said)


def test_another_domain_gets_no_secret_unless_its_metadata_are_configured(
    server: McpOAuthServer, store: TokenStore
) -> None:
    server.conditions.metadata["token_endpoint"] = f"{server.url}/token".replace("127.0.0.1", "localhost")

    with pytest.raises(LoginError, match="set `authServerMetadataUrl`"):
        log_in(server, store, SECRET)
    assert server.asked("/token") == []

    place = f"{server.url}/.well-known/oauth-authorization-server"
    log_in(
        server,
        store,
        OAuthEntry(
            client_id="svc",
            client_secret="s3cret",
            grant_type="client_credentials",
            auth_server_metadata_url=place,
        ),
    )
    assert store.has(server.mcp)


def _part(text: str) -> dict[str, object]:
    return dict(json.loads(_bytes(text)))


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _ec(curve: ec.EllipticCurve, digest: hashes.HashAlgorithm) -> tuple[_Key, _Verify]:
    key = ec.generate_private_key(curve)

    def verify(signature: bytes, content: bytes) -> None:
        half = len(signature) // 2
        assert half == (curve.key_size + 7) // 8
        both = utils.encode_dss_signature(int.from_bytes(signature[:half]), int.from_bytes(signature[half:]))
        key.public_key().verify(both, content, ec.ECDSA(digest))

    return key, verify


def _rsa(pad: padding.AsymmetricPadding) -> tuple[_Key, _Verify]:
    key = rsa.generate_private_key(65537, 2048)
    return key, lambda signature, content: key.public_key().verify(signature, content, pad, hashes.SHA256())


def _ed25519() -> tuple[_Key, _Verify]:
    key = ed25519.Ed25519PrivateKey.generate()
    return key, key.public_key().verify


@pytest.mark.parametrize(
    ("algorithm", "made"),
    [
        ("ES256", lambda: _ec(ec.SECP256R1(), hashes.SHA256())),
        ("ES384", lambda: _ec(ec.SECP384R1(), hashes.SHA384())),
        ("ES512", lambda: _ec(ec.SECP521R1(), hashes.SHA512())),
        ("RS256", lambda: _rsa(padding.PKCS1v15())),
        ("PS256", lambda: _rsa(padding.PSS(padding.MGF1(hashes.SHA256()), 32))),
        ("EdDSA", _ed25519),
    ],
)
def test_a_private_key_signs_who_the_client_is_for_the_issuer_alone(
    server: McpOAuthServer, store: TokenStore, tmp_path: Path, algorithm: str, made: Callable[[], tuple[_Key, _Verify]]
) -> None:
    server.clients["svc"] = ""
    server.conditions.metadata["token_endpoint_auth_signing_alg_values_supported"] = [algorithm]
    key, verify = made()
    file = tmp_path / "key.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    settings = OAuthEntry(client_id="svc", grant_type="client_credentials", private_key_file=str(file), key_id="key-1")
    assert ask(server, store, settings) == [200]

    form = sent(server)
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    header, claims, signature = form["client_assertion"].split(".")
    assert _part(header) == {"alg": algorithm, "typ": "JWT", "kid": "key-1"}
    said = _part(claims)
    assert (said["iss"], said["sub"], said["aud"]) == ("svc", "svc", server.url)
    assert said["jti"]
    verify(_bytes(signature), f"{header}.{claims}".encode())
    assert "client_secret" not in form
    assert "PRIVATE" not in (tmp_path / "mcp-auth.json").read_text()


def test_a_token_of_a_workload_is_read_at_each_login(server: McpOAuthServer, store: TokenStore, tmp_path: Path) -> None:
    server.clients["svc"] = ""
    file = tmp_path / "token"
    settings = OAuthEntry(client_id="svc", grant_type="jwt-bearer", assertion_file=str(file))

    for token in ("first", "second"):
        file.write_text(f"{token}\n")
        log_in(server, store, settings)

    grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert [(one["grant_type"], one["assertion"]) for one in server.asked("/token")] == [
        (grant, "first"),
        (grant, "second"),
    ]


def _of_enterprise(idp: OAuthServer) -> OAuthEntry:
    return OAuthEntry(
        client_id="svc",
        client_secret="s3cret",
        grant_type="jwt-bearer",
        idp_token_url=f"{idp.url}/token",
        idp_client_id="kaa-at-idp",
        id_token="identity",
    )


def test_the_identity_provider_of_an_enterprise_gives_the_grant(server: McpOAuthServer, store: TokenStore) -> None:
    server.conditions.scope = "files:read"
    kind = "urn:ietf:params:oauth:token-type:id-jag"
    with OAuthServer() as idp:
        idp.instead["/token"] = [json_reply({"access_token": "grant", "issued_token_type": kind, "token_type": "N_A"})]

        assert ask(server, store, _of_enterprise(idp)) == [200]

        (exchanged,) = idp.asked("/token")
    assert exchanged == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": kind,
        "audience": server.url,
        "resource": server.mcp,
        "scope": "files:read",
        "subject_token": "identity",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "client_id": "kaa-at-idp",
    }
    form = sent(server)
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert (form["assertion"], "identity" in str(form)) == ("grant", False)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (json_reply({"access_token": "grant", "issued_token_type": "another"}), "gave a token of another type"),
        (refusal("invalid_grant", "identity has ended"), "… has ended"),
    ],
)
def test_a_grant_that_an_enterprise_refuses_is_asked_for_nowhere_else(
    server: McpOAuthServer, store: TokenStore, answer: Reply, problem: str
) -> None:
    with OAuthServer() as idp:
        idp.instead["/token"] = [answer]

        with pytest.raises(LoginError, match=problem):
            log_in(server, store, _of_enterprise(idp))

    assert server.asked("/token") == []


def test_the_entry_of_somebody_else_sends_no_identity(server: McpOAuthServer, store: TokenStore) -> None:
    with OAuthServer() as idp:
        with pytest.raises(LoginError, match=r"`idpTokenUrl` counts in your own mcp\.json only"):
            log_in(server, store, _of_enterprise(idp), users_own=False)

        assert idp.asked("/token") == []


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (OAuthEntry(grant_type="client_credentials", client_secret="x"), "needs `clientId`"),
        (OAuthEntry(grant_type="client_credentials", client_id="svc"), "`clientSecret` or `privateKey`"),
        (OAuthEntry(grant_type="client_credentials", client_id="svc", private_key="nonsense"), "write it as PEM"),
        (OAuthEntry(grant_type="jwt-bearer", client_id="svc"), "needs `assertion` or `assertionFile`"),
        (OAuthEntry(grant_type="jwt-bearer", idp_token_url="http://idp.example"), "only to addresses with https"),
        (OAuthEntry(grant_type="jwt-bearer", idp_token_url="https://idp.example"), "needs `idToken` or `idTokenFile`"),
        (OAuthEntry(grant_type="jwt-bearer", assertion_file="/nowhere/token"), "`assertionFile` .* cannot be read"),
    ],
)
def test_what_an_entry_lacks_is_named(
    server: McpOAuthServer, store: TokenStore, settings: OAuthEntry, problem: str
) -> None:
    with pytest.raises(LoginError, match=problem):
        log_in(server, store, settings)

    assert server.asked("/token") == []


def test_the_entry_of_somebody_else_reads_no_file(server: McpOAuthServer, store: TokenStore, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("mine")
    settings = OAuthEntry(client_id="svc", grant_type="jwt-bearer", assertion_file=str(file))

    with pytest.raises(LoginError, match=r"in your own mcp\.json only"):
        log_in(server, store, settings, users_own=False)

    assert server.asked("/token") == []


def test_a_missing_library_is_named_with_its_extra(
    server: McpOAuthServer, store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    settings = OAuthEntry(client_id="svc", grant_type="client_credentials", private_key="x")

    with pytest.raises(LoginError, match=r"pip install 'kaa\[jwt\]'"):
        log_in(server, store, settings)


def test_a_refusal_repeats_no_secret(server: McpOAuthServer, store: TokenStore) -> None:
    server.instead["/token"] = [refusal("invalid_request", "s3cret is wrong")]
    server.conditions.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]

    with pytest.raises(LoginError, match="… is wrong"):
        log_in(server, store, SECRET)
