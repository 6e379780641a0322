"""Logins in auth.json: read, kept, and renewed by one process at a time, however many need that at once."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import msgspec

from kaa.host.private_file import PrivateFileError
from kaa.llm.auth.auth_file import AuthFile
from kaa.llm.auth.errors import LoginError, LoginRefusedError
from kaa.llm.auth.oauth.config import OAuthConfig
from kaa.llm.auth.oauth.exchange import LoginTokens, ask, tokens_of
from kaa.llm.auth.oauth.metadata import addresses_of
from kaa.llm.http.transport import Transport, host_of

# Clocks differ, and a request takes its time to arrive.
_MARGIN_SECONDS: Final = 60.0

NewTransport = Callable[[], Transport]


def is_fresh(tokens: LoginTokens, margin: float = _MARGIN_SECONDS) -> bool:
    """Whether the access token holds for `margin` more seconds, as far as is known."""
    return not tokens.expires or tokens.expires / 1000 - time.time() > margin


def kept_tokens(file: AuthFile, provider: str) -> LoginTokens:
    """The login of `provider` as it is on disk now.

    Raises:
        LoginError: there is none, or it cannot be read.
    """
    try:
        raw = file.read().get(provider)
    except PrivateFileError as error:
        raise LoginError(str(error)) from error
    return _tokens(raw, provider)


def keep_login(file: AuthFile, provider: str, tokens: LoginTokens) -> None:
    """Keep a new login for `provider`, instead of what is there.

    Raises:
        PrivateFileError: the file cannot be written.
    """
    with file.rewriting() as entries:
        entries[provider] = _entry({}, tokens)


def renew(file: AuthFile, provider: str, config: OAuthConfig, refused: str, new_transport: NewTransport) -> LoginTokens:
    """Have new tokens, kept in the file. Blocks: call it in a thread.

    It goes on when nobody waits for it any more: what the server gives once must be kept.

    Args:
        file: where the login is.
        provider: whose it is.
        config: how to renew it.
        refused: the access token that will not do; if there is another one by now, that is it.
        new_transport: to the server, on an event loop of its own.

    Raises:
        LoginError: one has to log in again, or the login cannot be kept.
        ProviderError: the server cannot be reached; the login stays as it is.
    """
    try:
        with file.renewing():
            held = kept_tokens(file, provider)
            if held.access != refused and is_fresh(held):
                return held  # another one was quicker
            if not held.refresh:
                raise _log_in_again(provider, "it has no refresh token")
            try:
                tokens = asyncio.run(_refreshed(config, held.refresh, new_transport))
            except LoginRefusedError as error:
                raise _log_in_again(provider, str(error)) from error
            return _replace(file, provider, held, tokens)
    except PrivateFileError as error:
        raise LoginError(f"the renewed login of {provider} cannot be kept: {error}") from error


async def _refreshed(config: OAuthConfig, refresh: str, new_transport: NewTransport) -> LoginTokens:
    """RFC 6749 6. Servers that rotate refresh tokens give a new one; others leave the old one in force."""
    transport = new_transport()
    try:
        addresses = await addresses_of(config, transport)
        fields = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": config.client_id}
        answer = await ask(transport, addresses.token, fields)
        return tokens_of(answer, host_of(addresses.token), before=refresh)
    finally:
        await transport.close()


def _replace(file: AuthFile, provider: str, before: LoginTokens, tokens: LoginTokens) -> LoginTokens:
    """Keep renewed tokens, unless the user has logged in or out meanwhile: that counts."""
    with file.rewriting() as entries:
        raw = entries.get(provider)
        now = _tokens(raw, provider)
        if raw is None or now.refresh != before.refresh:
            return now
        entries[provider] = _entry(msgspec.json.decode(raw, type=dict[str, msgspec.Raw]), tokens)
    return tokens


def _entry(rest: dict[str, msgspec.Raw], tokens: LoginTokens) -> msgspec.Raw:
    """The entry in pi's format: what else stands in the entry stays."""
    fields = {"type": "oauth", "access": tokens.access, "refresh": tokens.refresh, "expires": tokens.expires}
    return msgspec.Raw(msgspec.json.encode(rest | fields))


def _tokens(raw: msgspec.Raw | None, provider: str) -> LoginTokens:
    if raw is None:
        raise _log_in_again(provider, "the login was removed")
    try:
        return msgspec.json.decode(raw, type=_Kept).tokens
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _log_in_again(provider, f"auth.json holds no login: {error}") from None


class _Kept(msgspec.Struct, tag_field="type", tag="oauth", frozen=True):
    access: str
    refresh: str = ""
    expires: float = 0

    @property
    def tokens(self) -> LoginTokens:
        return LoginTokens(self.access, self.refresh, self.expires)


def _log_in_again(provider: str, why: str) -> LoginError:
    return LoginError(f"the login of {provider} cannot be used ({why}): log in again with  kaa login {provider}")
