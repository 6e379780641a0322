"""TLS settings: which authorities are trusted, and the client certificate."""

import contextlib
import os
import ssl
from typing import Final

from kaa.llm.http.network_variables import ClientCertificate

# Where systems keep the CAs, for a Python whose OpenSSL was built for another one.
_CA_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)

_MAX_KEY_BYTES: Final = 64 * 1024


class CertificateError(Exception):
    """The client certificate cannot be used; the message says why."""


def tls_context(certificate: ClientCertificate | None) -> ssl.SSLContext:
    """TLS with the CAs of the system and those of SSL_CERT_FILE and SSL_CERT_DIR.

    Raises:
        CertificateError: it cannot be read.
    """
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        bundle = next((path for path in _CA_BUNDLES if os.path.exists(path)), None)
        if bundle is not None:
            context.load_verify_locations(bundle)
    if certificate is not None:
        _load(context, certificate)
    return context


def _load(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    file, key_file = os.path.expanduser(certificate.file), os.path.expanduser(certificate.key_file)
    try:
        # Always with a password: without one OpenSSL asks for it at the terminal.
        context.load_cert_chain(file, key_file or None, password=certificate.password)
    except (OSError, ValueError) as error:  # SSLError is an OSError
        raise CertificateError(
            f"the client certificate {file} cannot be used ({_reason(error, key_file or file)}): check KAA_CLIENT_CERT,"
            " KAA_CLIENT_KEY and KAA_CLIENT_KEY_PASSWORD"
        ) from None  # the cause may quote the password


def _reason(error: OSError | ValueError, key_file: str) -> str:
    """Why a certificate cannot be loaded; OpenSSL says "PEM lib" of everything."""
    if not isinstance(error, ssl.SSLError):
        return getattr(error, "strerror", None) or str(error)
    with contextlib.suppress(OSError), open(key_file, "rb") as file:
        key = file.read(_MAX_KEY_BYTES)
        if b"PRIVATE KEY-----" not in key:
            return f"there is no private key in {key_file}"
        if b"ENCRYPTED" in key:
            return "its key is encrypted, and the password is missing or wrong"
    return error.reason or str(error)
