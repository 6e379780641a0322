"""Logins in a file: read, kept, and renewed by one process at a time, however many need that at once.

A request is let in with the token of its login, which is renewed before it ends and when it is refused.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from kaa.core.errors import ProviderError
from kaa.core.messages import Json
from kaa.host.private_file import PrivateFileError
from kaa.host.process import critical
from kaa.llm.auth.auth_file import AuthFile
from kaa.llm.auth.errors import LoginError, LoginRefusedError, UnkeptLoginError
from kaa.llm.auth.oauth.config import OAuthConfig
from kaa.llm.auth.oauth.exchange import LoginTokens, ask, tokens_of
from kaa.llm.auth.oauth.metadata import addresses_of
from kaa.llm.http.routes import Login
from kaa.llm.http.transport import HttpRequest, Transport, host_of

# Clocks differ, and a request takes its time to arrive.
_MARGIN_SECONDS: Final = 60.0
NewTransport = Callable[[], Transport]


def is_fresh(tokens: LoginTokens, margin: float = _MARGIN_SECONDS) -> bool:
    """Whether the access token holds for `margin` more seconds, as far as is known."""
    return not tokens.expires or tokens.expires / 1000 - time.time() > margin


class Renewer(Protocol):
    """Turns refresh tokens into new tokens, on an event loop of its own."""

    async def renewed(self, refresh: str, entry: msgspec.Raw) -> LoginTokens:
        """New tokens.

        Raises:
            LoginRefusedError: the server does not accept it any more.
            ProviderError: the server cannot be reached.
        """


class ConfiguredRenewer:
    """A `Renewer` for the client of an entry `oauth` in models.json."""

    def __init__(self, config: OAuthConfig, new_transport: NewTransport) -> None:
        self._config = config
        self._new_transport = new_transport

    async def renewed(self, refresh: str, entry: msgspec.Raw) -> LoginTokens:
        transport = self._new_transport()
        try:
            addresses = await addresses_of(self._config, transport)
            fields = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": self._config.client_id}
            return await refreshed(transport, addresses.token, fields)
        finally:
            await transport.close()


async def refreshed(
    transport: Transport, url: str, fields: Mapping[str, str], client: Login | None = None
) -> LoginTokens:
    """RFC 6749 6. Servers that rotate refresh tokens give a new one; others leave the old one in force."""
    answer = await ask(transport, url, fields, client)
    return tokens_of(answer, host_of(url), before=fields["refresh_token"])


class KeptLogin:
    """One login in a file, with others.

    Args:
        command: what logs in again, if the name is appended.
    """

    def __init__(self, file: AuthFile, name: str, command: str = "kaa login") -> None:
        self._file = file
        self.name = name
        self._command = command

    def tokens(self) -> LoginTokens:
        """The tokens as they are on disk now.

        Raises:
            LoginError: there is no login, or it cannot be read.
        """
        try:
            return self._tokens(self._file.read().get(self.name))
        except PrivateFileError as error:
            raise LoginError(str(error)) from error

    def keep(self, tokens: LoginTokens, rest: Mapping[str, Json] | None = None) -> None:
        """Keep a new login, instead of what is there.

        Raises:
            PrivateFileError: the file cannot be written.
        """
        with self._file.rewriting() as entries:
            entries[self.name] = _entry(rest or {}, tokens)

    def renew(self, refused: str, renewer: Renewer) -> LoginTokens:
        """Have new tokens, kept in the file. Blocks: call it in a thread.

        It goes on when nobody waits for it any more, and a signal does not end it: what the server gives once must be
        kept.

        Args:
            refused: the access token that will not do; if there is another one by now, that is it.

        Raises:
            LoginError: one has to log in again, or the login cannot be kept.
            ProviderError: the server cannot be reached; the login stays as it is.
        """
        try:
            with self._file.renewing():
                entry = self._file.read().get(self.name)
                held = self._tokens(entry)
                if held.access != refused and is_fresh(held):
                    return held  # another one was quicker
                if entry is None or not held.refresh:
                    raise self._log_in_again("it has no refresh token")
                self._file.check_writable()  # the server gives once what could not be kept then
                with critical():
                    try:
                        tokens = asyncio.run(renewer.renewed(held.refresh, entry))
                    except LoginRefusedError as error:
                        raise self._log_in_again(str(error)) from error
                    return self._replace(held, tokens)
        except PrivateFileError as error:
            raise UnkeptLoginError(f"the renewed login of {self.name} cannot be kept: {error}") from error

    def _replace(self, before: LoginTokens, tokens: LoginTokens) -> LoginTokens:
        """Keep renewed tokens, unless the user has logged in or out meanwhile: that counts."""
        with self._file.rewriting() as entries:
            raw = entries.get(self.name)
            now = self._tokens(raw)
            if raw is None or now.refresh != before.refresh:
                return now
            entries[self.name] = _entry(msgspec.json.decode(raw, type=dict[str, msgspec.Raw]), tokens)
        return tokens

    def _tokens(self, raw: msgspec.Raw | None) -> LoginTokens:
        if raw is None:
            raise self._log_in_again("the login was removed")
        try:
            return msgspec.json.decode(raw, type=_Kept).tokens
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._log_in_again(f"{self._file.path.name} holds no login: {error}") from None

    def _log_in_again(self, why: str) -> LoginError:
        return LoginError(
            f"the login of {self.name} cannot be used ({why}): log in again with  {self._command} {self.name}"
        )


def key_in(entry: msgspec.Raw) -> str:
    """The private key that the tokens of an entry are bound to; empty for none."""
    return msgspec.json.decode(entry, type=_Kept).dpop_key


def _entry(rest: Mapping[str, object], tokens: LoginTokens) -> msgspec.Raw:
    """The entry in pi's format: what else stands in the entry stays."""
    fields = {"type": "oauth", "access": tokens.access, "refresh": tokens.refresh, "expires": tokens.expires}
    bound = {"dpopKey": tokens.key} if tokens.key else {}
    return msgspec.Raw(msgspec.json.encode({**rest, **fields, **bound}))


class _Kept(msgspec.Struct, tag_field="type", tag="oauth", frozen=True, rename="camel"):
    access: str
    refresh: str = ""
    expires: float = 0
    dpop_key: str = ""

    @property
    def tokens(self) -> LoginTokens:
        return LoginTokens(self.access, self.refresh, self.expires, self.dpop_key)


class OAuthAuthorizer:
    """An `Authorizer` for one login.

    Args:
        renewer: how it is renewed; None if nobody said so: then it holds until it ends. It never uses the transport
            of the model's requests, which may be recorded.
    """

    def __init__(self, login: KeptLogin, renewer: Renewer | None) -> None:
        self._login = login
        self._renewer = renewer
        self._tokens: LoginTokens | None = None
        self._renewing = asyncio.Lock()

    def __repr__(self) -> str:
        return f"OAuthAuthorizer({self._login.name!r})"

    @property
    def key(self) -> str:
        """The private key that the present tokens are bound to (DPoP); empty if they are good without one."""
        return self._tokens.key if self._tokens is not None else ""

    async def authorize(self, request: HttpRequest) -> HttpRequest:
        tokens = self._tokens
        if tokens is None:
            tokens = await asyncio.to_thread(self._login.tokens)
        if not is_fresh(tokens):
            tokens = await self._ahead_of_time(tokens)
        self._tokens = tokens
        others = tuple((name, value) for name, value in request.headers if name.lower() != "authorization")
        scheme = "DPoP" if tokens.key else "Bearer"
        headers = (*others, ("authorization", f"{scheme} {tokens.access}"))
        return msgspec.structs.replace(request, headers=headers)

    async def renew(self, refused: HttpRequest) -> bool:
        sent = next((value for name, value in refused.headers if name.lower() == "authorization"), "")
        try:
            self._tokens = await self._renewed(sent.partition(" ")[2])
        except _UnrenewableError:
            return False
        return True

    async def _ahead_of_time(self, tokens: LoginTokens) -> LoginTokens:
        try:
            return await self._renewed(tokens.access)
        except LoginError:
            raise
        except ProviderError:
            if is_fresh(tokens, margin=0):
                return tokens  # it still holds; the next request tries again
            raise

    async def _renewed(self, refused: str) -> LoginTokens:
        async with self._renewing:
            if self._tokens is not None and self._tokens.access != refused and is_fresh(self._tokens):
                return self._tokens
            if self._renewer is None:
                return await asyncio.to_thread(self._logged_in_anew, refused)
            return await asyncio.to_thread(self._login.renew, refused, self._renewer)

    def _logged_in_anew(self, refused: str) -> LoginTokens:
        """Another login that the file has by now."""
        held = self._login.tokens()
        if held.access != refused and is_fresh(held):
            return held
        raise _UnrenewableError(
            f"the login of {self._login.name} has ended, and kaa does not know how to renew it: write `oauth` of this "
            "provider into models.json and log in again, or use an API key"
        )


class _UnrenewableError(LoginError):
    """Nothing but another login helps."""
