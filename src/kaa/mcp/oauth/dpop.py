"""Tokens that are good for nobody but kaa (DPoP, RFC 9449, SEP-1932): each request proves that kaa has a key.

A login has a key of its own, which is kept with its tokens. The signatures come with the extra `kaa[jwt]`.
"""

import asyncio
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import msgspec

from kaa.core.messages import Json
from kaa.llm.auth.errors import LoginError, LoginRefusedError
from kaa.llm.auth.oauth.exchange import LoginTokens, ask, tokens_of
from kaa.llm.http.routes import Login
from kaa.llm.http.transport import Headers, HttpRequest, HttpResponse, Transport, host_of, origin_of
from kaa.mcp.oauth.challenge import Challenge, challenge_header, parse_challenge
from kaa.mcp.oauth.discovery import Discovered
from kaa.mcp.oauth.settings import OAuthEntry

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ALGORITHM: Final = "ES256"
_SIZE: Final = 32  # of a number of the curve P-256, in bytes
_UNAUTHORIZED: Final = 401
_WANTS_NONCE: Final = "use_dpop_nonce"
_LONGEST_NONCE: Final = 1024
_SCHEME: Final = "DPoP "


class DpopKey:
    """The key of a login.

    Args:
        private: its number, in Base64 for URLs, as `text` gives it.

    Attributes:
        text: the private number, to be kept.

    Raises:
        LoginError: this is no key, or the library is missing.
    """

    def __init__(self, private: str) -> None:
        self.text = private
        self._key = _loaded(private)
        numbers = self._key.public_key().public_numbers()
        self._public: dict[str, Json] = {
            "crv": "P-256",
            "kty": "EC",
            "x": _encoded(numbers.x.to_bytes(_SIZE, "big")),
            "y": _encoded(numbers.y.to_bytes(_SIZE, "big")),
        }

    @classmethod
    def new(cls) -> "DpopKey":
        """Make a key.

        Raises:
            LoginError: the library is missing.
        """
        try:
            from cryptography.hazmat.primitives.asymmetric import ec  # lazy: an extra, and slow to import
        except ImportError as error:
            raise _missing_library() from error
        number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
        return cls(_encoded(number.to_bytes(_SIZE, "big")))

    def __repr__(self) -> str:
        return f"DpopKey({self.thumbprint!r})"

    @property
    def thumbprint(self) -> str:
        """What names the public key (RFC 7638)."""
        return _encoded(sha256(msgspec.json.encode(self._public, order="sorted")).digest())

    def proof(self, method: str, url: str, *, access: str = "", nonce: str = "") -> str:
        """Return a proof for one request (RFC 9449 4.2).

        Args:
            url: its address; query and fragment do not count.
            access: the access token that it carries; empty for none.
            nonce: what the server wants to find in it; empty for nothing.
        """
        from kaa.mcp.oauth.signing import signed  # lazy: it needs the library

        parts = urlsplit(url)
        claims: dict[str, Json] = {
            "jti": str(uuid4()),
            "htm": method,
            "htu": urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path or "/", "", "")),
            "iat": int(time.time()),
        }
        if access:
            claims["ath"] = _encoded(sha256(access.encode()).digest())
        if nonce:
            claims["nonce"] = nonce
        return signed(self._key, {"typ": "dpop+jwt", "alg": ALGORITHM, "jwk": self._public}, claims)


class ProvingTransport:
    """Sends each request with a proof, and once more if the server wants a nonce of its own in it.

    Closing it leaves `transport` open, which others use too.

    Args:
        transport: to the network.
    """

    def __init__(self, transport: Transport, key: DpopKey) -> None:
        self.key = key
        self._transport = transport
        self._nonces: dict[object, str] = {}  # the last of each origin

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        """See `Transport`. Where a token endpoint wants a nonce, `ask_with_proof` repeats the request."""
        async with self._transport.send(self._proven(request)) as response:
            is_new = self._learn(request.url, response.headers)
            if not (is_new and response.status == _UNAUTHORIZED and _asks_for_nonce(response.headers)):
                yield response
                return
        async with self._transport.send(self._proven(request)) as response:
            self._learn(request.url, response.headers)
            yield response

    async def close(self) -> None: ...

    def _proven(self, request: HttpRequest) -> HttpRequest:
        sent = next((value for name, value in request.headers if name.lower() == "authorization"), "")
        access = sent.removeprefix(_SCHEME) if sent.startswith(_SCHEME) else ""
        nonce = self._nonces.get(origin_of(request.url), "")
        proof = self.key.proof(request.method, request.url, access=access, nonce=nonce)
        return msgspec.structs.replace(request, headers=(*request.headers, ("dpop", proof)))

    def _learn(self, url: str, headers: Headers) -> bool:
        """Remember the nonce for the next proof (RFC 9449 8.2). Returns whether it is another one."""
        nonce = headers.get("dpop-nonce") or ""
        if not nonce or len(nonce) > _LONGEST_NONCE or not nonce.isascii() or not nonce.isprintable():
            return False
        before = self._nonces.get(origin_of(url))
        self._nonces[origin_of(url)] = nonce
        return nonce != before


async def ask_with_proof(
    transport: ProvingTransport, url: str, fields: Mapping[str, str], client: Login | None = None
) -> dict[str, Json]:
    """Ask a token endpoint, and once more if it wants a nonce in the proof (RFC 9449 8).

    Arguments and errors as those of `kaa.llm.auth.oauth.exchange.ask`.
    """
    try:
        return await ask(transport, url, fields, client)
    except LoginRefusedError as error:
        if error.code != _WANTS_NONCE:
            raise
        return await ask(transport, url, fields, client)  # the transport has learnt it


async def refreshed_with_proof(
    transport: Transport, key: str, url: str, fields: Mapping[str, str], client: Login | None = None
) -> LoginTokens:
    """Renew tokens that are bound to a key; the new ones are bound to the same (RFC 9449 5).

    Raises:
        LoginError: the key cannot be used, or as `ask`.
    """
    proving = ProvingTransport(transport, DpopKey(key))
    answer = await ask_with_proof(proving, url, fields, client)
    return tokens_of(answer, host_of(url), before=fields["refresh_token"], key=key)


async def key_for_login(settings: OAuthEntry, asked: Challenge | None, found: Discovered) -> DpopKey | None:
    """Return a new key for a login whose tokens are to be bound to one; None for tokens that everybody can use.

    Args:
        asked: what the server said when it refused a request; None if it let kaa in.
        found: what is known of the server, and of who gives tokens for it.

    Raises:
        LoginError: it has to be, and cannot be.
    """
    known = found.server.proof_algorithms
    is_needed = settings.dpop == "required" or found.binds_tokens or (asked is not None and asked.schemes == ("dpop",))
    if known and ALGORITHM not in known:
        if not is_needed:
            return None
        raise LoginError(
            f"{host_of(found.server.token_url)} reads proofs (DPoP) signed with {', '.join(known)[:200]}, and kaa signs"
            f" with {ALGORITHM}: kaa cannot log in"
        )
    if settings.dpop == "required" and not known:
        raise LoginError(
            f"{host_of(found.server.token_url)} does not bind tokens to a key (DPoP), which `dpop` in its `oauth` entry"
            " requires: kaa does not log in"
        )
    try:
        return await asyncio.to_thread(DpopKey.new)
    except LoginError:
        if is_needed:
            raise
        return None  # the server takes other tokens, too


def _asks_for_nonce(headers: Headers) -> bool:
    return parse_challenge(challenge_header(headers)).error == _WANTS_NONCE


def _loaded(private: str) -> "EllipticCurvePrivateKey":
    try:
        from cryptography.hazmat.primitives.asymmetric import ec  # lazy: as above
    except ImportError as error:
        raise _missing_library() from error
    try:
        number = int.from_bytes(urlsafe_b64decode(private + "=" * (-len(private) % 4)), "big")
        return ec.derive_private_key(number, ec.SECP256R1())
    except ValueError:
        raise LoginError("the key of the login cannot be read: log in again") from None  # the cause may quote it


def _missing_library() -> LoginError:
    return LoginError(
        "the tokens of this server are bound to a key (DPoP), and what signs with it is not installed: pip install"
        " 'kaa[jwt]'"
    )


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()
