"""Signed tokens: proofs of who a client is (`private_key_jwt`, RFC 7523 2.2). They come with the extra `kaa[jwt]`."""

import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import msgspec

from kaa.core.messages import Json
from kaa.llm.auth.errors import LoginError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_LIFETIME_SECONDS: Final = 300
_CURVES: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


def client_assertion(private_key: str, key_id: str, client_id: str, audience: str, algorithms: Sequence[str]) -> str:
    """Return a signed JSON Web Token that says who the client is, for one request.

    Args:
        private_key: in PEM; the key decides about the algorithm.
        key_id: how the authorization server calls the public key; empty to say nothing.
        audience: the issuer that reads it, so that it is good for nobody else.
        algorithms: those that it reads; empty if it does not say.

    Raises:
        LoginError: the key cannot be used, or the library is missing.
    """
    try:
        from cryptography.hazmat.primitives import serialization  # lazy: an extra, and slow to import
    except ImportError as error:
        raise LoginError(
            "a login with a private key needs a library that is not installed: pip install 'kaa[jwt]', or set"
            " `clientSecret` instead of the key"
        ) from error
    try:
        key = serialization.load_pem_private_key(private_key.encode(), None)
    except (ValueError, TypeError) as error:
        raise LoginError(
            "the private key of its `oauth` entry cannot be read: write it as PEM without a passphrase"
        ) from error  # the library names no part of the key
    algorithm = _algorithm(key, algorithms)
    now = int(time.time())
    header: dict[str, Json] = {"alg": algorithm, "typ": "JWT"} | ({"kid": key_id} if key_id else {})
    claims: dict[str, Json] = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now,
        "exp": now + _LIFETIME_SECONDS,
        "jti": str(uuid4()),
    }
    return signed(key, header, claims)


def signed(key: "PrivateKeyTypes", header: Mapping[str, Json], claims: Mapping[str, Json]) -> str:
    """Return a signed JSON Web Token (RFC 7515 3.1).

    Args:
        key: signs it; it fits to the algorithm.
        header: with the algorithm in `alg`.
    """
    content = b".".join((_encoded(msgspec.json.encode(header)), _encoded(msgspec.json.encode(claims))))
    return b".".join((content, _encoded(_signature(key, str(header["alg"]), content)))).decode()


def _algorithm(key: "PrivateKeyTypes", known: Sequence[str]) -> str:
    """RFC 7518 3.1 and RFC 8037 3.1: what the key can do."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # lazy: as above

    match key:
        case ec.EllipticCurvePrivateKey() if key.curve.name in _CURVES:
            return _CURVES[key.curve.name]
        case rsa.RSAPrivateKey():
            return "PS256" if "PS256" in known and "RS256" not in known else "RS256"
        case ed25519.Ed25519PrivateKey():
            return "EdDSA"
        case _:
            raise LoginError(
                "kaa cannot sign with the private key of its `oauth` entry: use a key of EC (P-256, P-384, P-521), RSA"
                " or Ed25519"
            )


def _signature(key: "PrivateKeyTypes", algorithm: str, content: bytes) -> bytes:
    from cryptography.hazmat.primitives import hashes  # lazy: as above
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

    digest = {"ES384": hashes.SHA384, "ES512": hashes.SHA512}.get(algorithm, hashes.SHA256)()
    match key:
        case ec.EllipticCurvePrivateKey():
            size = (key.key_size + 7) // 8  # RFC 7518 3.4: both numbers, not in DER
            one, other = utils.decode_dss_signature(key.sign(content, ec.ECDSA(digest)))
            return one.to_bytes(size, "big") + other.to_bytes(size, "big")
        case rsa.RSAPrivateKey() if algorithm == "PS256":
            return key.sign(content, padding.PSS(padding.MGF1(digest), padding.PSS.DIGEST_LENGTH), digest)
        case rsa.RSAPrivateKey():
            return key.sign(content, padding.PKCS1v15(), digest)
        case ed25519.Ed25519PrivateKey():
            return key.sign(content)
        case _:
            raise AssertionError(algorithm)


def _encoded(content: bytes) -> bytes:
    return urlsafe_b64encode(content).rstrip(b"=")
