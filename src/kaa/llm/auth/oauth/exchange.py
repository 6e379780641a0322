"""Requests to an authorization server: what is sent, and what may be believed of the answer."""

import asyncio
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from kaa.core.errors import NetworkError, OverloadedError
from kaa.core.messages import Json
from kaa.llm.auth.errors import LoginError, LoginRefusedError
from kaa.llm.http.routes import Login, basic_authorization
from kaa.llm.http.transport import HttpRequest, Transport, host_of

# Tokens have some kilobytes; what sends more is no authorization server.
_LONGEST_ANSWER_BYTES: Final = 256 * 1024
_TIMEOUT_SECONDS: Final = 30.0
# Ten years. What holds longer is renewed then.
_LONGEST_LIFETIME_SECONDS: Final = 10 * 365 * 86_400.0
_SHOWN_CHARACTERS: Final = 200
_TOO_MANY_REQUESTS: Final = 429
_JSON: Final = ("accept", "application/json")


class LoginTokens(msgspec.Struct, frozen=True):
    """What a login is made of.

    Attributes:
        access: is sent with each request.
        refresh: becomes new tokens; empty if there is none.
        expires: when `access` ends, in milliseconds of Unix time; 0 if nobody said so.
        key: the private key that they are bound to (DPoP); empty if they are good without one.
    """

    access: str
    refresh: str = ""
    expires: float = 0
    key: str = ""

    def __repr__(self) -> str:
        return f"LoginTokens(expires={self.expires!r})"


async def ask(
    transport: Transport, url: str, fields: Mapping[str, str], client: Login | None = None
) -> dict[str, Json]:
    """Send `fields` as a form and return the JSON object that comes back.

    Args:
        client: id and secret of a client that proves in a header who it is (RFC 6749 2.3.1).

    Raises:
        LoginRefusedError: the server said no, with a reason.
        LoginError: the answer makes no sense.
        NetworkError: the server cannot be reached, or takes too long.
        OverloadedError: it cannot answer just now.
    """
    return await _answer(transport, *_form(url, fields, client))


async def revoke(transport: Transport, url: str, fields: Mapping[str, str], client: Login | None = None) -> None:
    """Have a token revoked (RFC 7009 2): a yes has no content. Arguments and errors as those of `ask`."""
    request, secrets = _form(url, fields, client)
    status, body = await _received(transport, request)
    if status >= 400:
        _refuse(_decoded(request.host, status, body), request.host, status, secrets)


async def ask_in_json(transport: Transport, url: str, fields: Mapping[str, Json]) -> dict[str, Json]:
    """The same with the fields as a JSON object, for who departs from the standard."""
    request = HttpRequest("POST", url, (("content-type", "application/json"), _JSON), msgspec.json.encode(fields))
    return await _answer(transport, request, tuple(value for value in fields.values() if isinstance(value, str)))


async def read(transport: Transport, url: str) -> dict[str, Json]:
    """The JSON object at an address. Raises as `ask` does."""
    return await _answer(transport, HttpRequest("GET", url, (_JSON,)), ())


def tokens_of(answer: Mapping[str, Json], host: str, *, before: str = "", key: str = "") -> LoginTokens:
    """The tokens in an answer of a token endpoint (RFC 6749 5.1).

    Args:
        before: the refresh token that stays where none comes.
        key: the private key of the proof that was sent (DPoP); empty for none.

    Raises:
        LoginError: there are none, or they cannot be used.
    """
    kind = answer.get("token_type", "bearer")
    if key and isinstance(kind, str) and kind.lower() == "bearer":
        raise LoginError(
            f"{host} gave a token that is good for everybody, although kaa asked for one that is bound to its key"
            ' (DPoP): kaa does not use it. If that is right, set `"dpop": "off"` in the `oauth` entry'
        )
    if not isinstance(kind, str) or kind.lower() != ("dpop" if key else "bearer"):
        raise LoginError(f"{host} sent a token of a type that kaa does not support: use an API key")
    refresh = answer.get("refresh_token") or before
    if not isinstance(refresh, str):
        raise LoginError(f"{host} sent a refresh token that is not text: use an API key")
    lifetime = _seconds(answer.get("expires_in"))
    expires = int((time.time() + lifetime) * 1000) if lifetime is not None else 0
    return LoginTokens(secret_of(answer, "access_token", host), refresh, expires, key)


def secret_of(answer: Mapping[str, Json], field: str, host: str) -> str:
    """A token or key in an answer, fit to be sent in a header.

    Raises:
        LoginError: it is not there, or has characters that no header may have.
    """
    secret = answer.get(field)
    if not isinstance(secret, str) or not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise LoginError(f"{host} answered without a usable {field}: try again, or use an API key")
    return secret


def refusal(code: str, description: Json, host: str, secrets: tuple[str, ...] = ()) -> LoginRefusedError:
    """The error for an OAuth error code, with what the server says about it made harmless."""
    said = description if isinstance(description, str) else ""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        code, said = code.replace(secret, "…"), said.replace(secret, "…")
    reason = _harmless(said) or _harmless(code)
    match code:
        case "access_denied":
            message = f"{host} reports that access was denied: log in again and agree"
        case "expired_token":
            message = "the code was not entered in time: log in again"
        case "invalid_grant":
            message = f"{host} no longer accepts this login ({reason}): log in again"
        case "invalid_client" | "unauthorized_client":
            message = (
                f"{host} does not know this client ({reason}): check `clientId` and its secret in the `oauth` entry"
            )
        case "invalid_scope":
            message = f"{host} refuses these scopes ({reason}): check the scopes in its `oauth` entry"
        case _:
            message = f"{host} refused ({reason}): try again, or use an API key"
    return LoginRefusedError(message, code)


def _harmless(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)[:_SHOWN_CHARACTERS].strip()


def _form(url: str, fields: Mapping[str, str], client: Login | None) -> tuple[HttpRequest, tuple[str, ...]]:
    """The request of a form, and what in it is secret."""
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/x-www-form-urlencoded"), _JSON)
    secrets = tuple(fields.values())
    if client is not None:  # both are encoded as in a form first
        encoded = Login(quote(client.user, ""), quote(client.password, ""))
        headers = (*headers, ("authorization", basic_authorization(encoded)))
        secrets = (*secrets, client.password)
    return HttpRequest("POST", url, headers, urlencode(fields).encode()), secrets


async def _answer(transport: Transport, request: HttpRequest, secrets: tuple[str, ...]) -> dict[str, Json]:
    host = host_of(request.url)
    status, body = await _received(transport, request)
    fields = _decoded(host, status, body)
    _refuse(fields, host, status, secrets)
    return fields


def _decoded(host: str, status: int, body: bytes) -> dict[str, Json]:
    try:
        return msgspec.json.decode(body, type=dict[str, Json])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LoginError(
            f"{host} did not answer with JSON (status {status}): check the addresses in its `oauth` entry"
        ) from None  # the cause may quote a token


def _refuse(fields: Mapping[str, Json], host: str, status: int, secrets: tuple[str, ...]) -> None:
    """Raise what the server refused, if it did."""
    code = fields.get("error")
    if isinstance(code, str):  # GitHub says so with status 200
        raise refusal(code, fields.get("error_description"), host, secrets)
    if status >= 400:
        raise refusal(f"status {status}", _said(code), host, secrets)


def _said(error: Json) -> Json:
    """What servers say that have error objects of their own: `{"error": {"message": …}}`."""
    return error.get("message") if isinstance(error, dict) else None


async def _received(transport: Transport, request: HttpRequest) -> tuple[int, bytes]:
    """Status and body of an answer that came in time, from where it was asked."""
    host = host_of(request.url)
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS), transport.send(request) as response:
            status, body = response.status, await response.beginning(_LONGEST_ANSWER_BYTES)
    except TimeoutError as error:
        raise NetworkError(f"{host} did not answer within {_TIMEOUT_SECONDS:g} s. Try again.") from error
    if len(body) > _LONGEST_ANSWER_BYTES:
        raise LoginError(
            f"{host} sent an answer of more than {_LONGEST_ANSWER_BYTES // 1024} KiB: check the addresses "
            "in its `oauth` entry"
        )
    if status >= 500 or status == _TOO_MANY_REQUESTS:
        raise OverloadedError(f"{host} cannot answer now (status {status}). Try again later.", status=status)
    if 300 <= status < 400:  # a token goes only where the user said
        raise LoginError(f"{host} redirects kaa (status {status}): check the addresses in its `oauth` entry")
    return status, body


def _seconds(value: Json) -> float | None:
    """A lifetime as servers write it: a number, or one in quotes. What is none counts as not given."""
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        return None
    return min(seconds, _LONGEST_LIFETIME_SECONDS) if seconds is not None and seconds >= 0 else None
