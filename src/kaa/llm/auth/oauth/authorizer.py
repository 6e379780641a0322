"""Lets requests in with a login: sends its token, and has it renewed before it ends and when it is refused."""

import asyncio

import msgspec

from kaa.core.errors import ProviderError
from kaa.llm.auth.errors import LoginError
from kaa.llm.auth.oauth.exchange import LoginTokens
from kaa.llm.auth.oauth.renewal import KeptLogin, Renewer, is_fresh
from kaa.llm.http.transport import HttpRequest


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
