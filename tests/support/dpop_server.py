"""An MCP server whose tokens are bound to a key (DPoP, RFC 9449), with its authorization server: both check proofs."""

import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from tests.support.mcp_oauth import McpOAuthServer
from tests.support.oauth_server import Fields, Reply, json_reply, refusal

_PUBLIC = {"kty", "crv", "x", "y"}


class DpopServer(McpOAuthServer):
    """Both servers.

    Attributes:
        nonces: what proofs have to contain, by path; others need nothing.
        binds: the authorization server binds tokens to keys.
        thumbprint: of the key that the last tokens are bound to.
        refused: why proofs were refused, in order.
        proofs: the claims of all proofs that were accepted, with the path.
        challenges: the schemes that the server takes, as it says.
    """

    def __init__(self) -> None:
        super().__init__()
        self.nonces: dict[str, str] = {}
        self.binds = True
        self.thumbprint = ""
        self.refused: list[str] = []
        self.proofs: list[tuple[str, dict[str, Any]]] = []
        self.challenges: tuple[str, ...] = ("DPoP",)

    def metadata(self) -> dict[str, object]:
        """See `OAuthServer`."""
        known = super().metadata()
        return {"dpop_signing_alg_values_supported": ["RS256", "ES256"], **known} if self.binds else known

    def _token(self, fields: Fields) -> Reply:
        access, refresh = self.access_token, self.refresh_token
        key = ""
        if self.binds and (self.headers.get("dpop") or ""):
            key = self._checked("/token", "")
            if not key:
                return refusal("invalid_dpop_proof", self.refused[-1])
            if (reply := self._nonce_missing("/token")) is not None:
                return reply
            if fields.get("grant_type") == "refresh_token" and key != self.thumbprint:
                return refusal("invalid_grant", "the proof has another key")
        reply = super()._token(fields)
        if reply.status == 200:
            self.thumbprint = key
            given = json.loads(reply.body)
            assert (given["access_token"], given.get("refresh_token")) != (access, refresh)
            return json_reply(given | ({"token_type": "DPoP"} if key else {}))
        return reply

    def _mcp(self, fields: Fields) -> Reply:
        kind, _, token = self.authorization.partition(" ")
        if token == self.access_token and self.thumbprint:
            if kind != "DPoP":
                return self._refusal(401, "invalid_token")
            if self._checked("/mcp", token) != self.thumbprint:
                return self._refusal(401, "invalid_dpop_proof")
            if (reply := self._nonce_missing("/mcp")) is not None:
                return reply
            return self._behind_the_door(fields) if self.behind is not None else Reply()
        return super()._mcp(fields)

    def _refusal(self, status: int, error: str) -> Reply:
        reply = super()._refusal(status, error)
        said = reply.headers.pop("www-authenticate").removeprefix("Bearer ")
        return Reply(
            status, reply.body, {"www-authenticate": ", ".join(f"{scheme} {said}" for scheme in self.challenges)}
        )

    def _nonce_missing(self, path: str) -> Reply | None:
        wanted = self.nonces.get(path, "")
        if self.proofs[-1][1].get("nonce", "") == wanted:
            return None
        headers = {"dpop-nonce": wanted, "content-type": "application/json"}
        if path == "/token":
            return Reply(400, b'{"error": "use_dpop_nonce"}', headers)
        return Reply(401, b"{}", headers | {"www-authenticate": 'DPoP error="use_dpop_nonce"'})

    def _checked(self, path: str, access: str) -> str:
        """The thumbprint of the key of the proof; empty if the proof is none."""
        try:
            return self._proven(path, access)
        except (AssertionError, ValueError, KeyError, InvalidSignature) as error:
            self.refused.append(f"{type(error).__name__}: {error}")
            return ""

    def _proven(self, path: str, access: str) -> str:
        [proof] = self.headers.get_all("dpop") or [""]
        head, body, signature = proof.split(".")
        header, claims = json.loads(_decoded(head)), json.loads(_decoded(body))
        key = header["jwk"]
        assert (header["typ"], header["alg"]) == ("dpop+jwt", "ES256"), header
        assert set(key) == _PUBLIC, sorted(key)
        x, y = (int.from_bytes(_decoded(key[name]), "big") for name in ("x", "y"))
        numbers = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1())
        raw = _decoded(signature)
        assert len(raw) == 64
        der = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        numbers.public_key().verify(der, f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256()))
        assert (claims["htm"], claims["htu"]) == ("POST", f"{self.url}{path}"), claims
        assert abs(claims["iat"] - time.time()) < 60
        assert claims["jti"] not in [known["jti"] for _, known in self.proofs], "the proof was used before"
        assert claims.get("ath", "") == (_encoded(sha256(access.encode()).digest()) if access else ""), claims
        self.proofs.append((path, claims))
        return _encoded(sha256(json.dumps(key, sort_keys=True, separators=(",", ":")).encode()).digest())


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")
