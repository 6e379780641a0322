"""Logging in with a browser: authorization code with PKCE (RFC 6749 4.1, RFC 7636), brought back to this machine.

Where the browser runs on another machine, the person pastes the address it ended at, or the code in it.
"""

import asyncio
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from kaa.llm.auth.errors import LoginError, LoginRefusedError, MixedUpLoginError
from kaa.llm.auth.oauth.config import KeyGrant, OAuthConfig
from kaa.llm.auth.oauth.exchange import LoginTokens, ask, ask_in_json, secret_of, tokens_of
from kaa.llm.auth.oauth.loopback import Loopback
from kaa.llm.auth.oauth.metadata import addresses_of
from kaa.llm.auth.oauth.screen import LoginScreen
from kaa.llm.http.transport import Transport, host_of

# Long enough to create an account on the way.
_LIMIT_SECONDS: Final = 600.0


async def log_in_with_browser(
    config: OAuthConfig, transport: Transport, screen: LoginScreen, *, limit_seconds: float = _LIMIT_SECONDS
) -> LoginTokens:
    """Log in and return the tokens. Cancelling it ends the login.

    Args:
        screen: shows the address to open, and takes what is pasted.

    Raises:
        LoginError: the person or the server said no, or it took too long.
        ProviderError: the server cannot be reached.
    """
    addresses = await addresses_of(config, transport)
    if addresses.authorization is None:
        raise LoginError("this server has no login in the browser: log in with --device")
    host = host_of(addresses.authorization)
    fields = {**config.parameters, "client_id": config.client_id}
    if config.scopes:
        fields["scope"] = " ".join(config.scopes)
    async with Loopback(
        config.redirect_path, new_state(), host, config.redirect_host, config.redirect_port
    ) as loopback:
        grant = await get_grant(loopback, addresses.authorization, fields, screen, limit_seconds=limit_seconds)
        answer = await ask(transport, addresses.token, {**grant, "client_id": config.client_id})
    return tokens_of(answer, host_of(addresses.token))


def new_state() -> str:
    """What ties an answer to the login it belongs to (RFC 6749 10.12)."""
    return secrets.token_urlsafe(32)


async def get_grant(
    loopback: Loopback,
    url: str,
    fields: Mapping[str, str],
    screen: LoginScreen,
    *,
    limit_seconds: float = _LIMIT_SECONDS,
) -> dict[str, str]:
    """Send the person to the authorization endpoint and return the form that the token endpoint takes for the answer.

    Args:
        fields: what is asked for besides the protocol's own: client, scope.
        screen: shows the address to open, and takes what is pasted.

    Raises:
        LoginError: the person or the server said no, or it took too long.
    """
    assert loopback.state is not None
    verifier = _verifier()
    asked = {
        **fields,
        "response_type": "code",
        "redirect_uri": loopback.address,
        "state": loopback.state,
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": "S256",
    }
    screen.show_address(_with_query(url, asked))
    code = await _code(loopback, screen, limit_seconds)
    return {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": loopback.address,
        "code_verifier": verifier,
    }


async def get_key_with_browser(grant: KeyGrant, transport: Transport, screen: LoginScreen) -> str:
    """Have the user of a server agree, and return the API key it gives. Arguments and errors as above."""
    verifier = _verifier()
    # This server hands no state back: the path is what nobody else can know.
    path = f"/callback/{secrets.token_urlsafe(32)}"
    async with Loopback(path, None, host_of(grant.authorization_url), "localhost") as loopback:
        fields = {
            "callback_url": loopback.address,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        screen.show_address(_with_query(grant.authorization_url, fields))
        code = await _code(loopback, screen, _LIMIT_SECONDS)
    fields = {"code": code, "code_verifier": verifier, "code_challenge_method": "S256"}
    return secret_of(await ask_in_json(transport, grant.key_url, fields), "key", host_of(grant.key_url))


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a verifier (RFC 7636 4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _verifier() -> str:
    return secrets.token_urlsafe(48)  # 64 characters; RFC 7636 4.1 wants 43 to 128


def _with_query(url: str, fields: dict[str, str]) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query="&".join(filter(None, [parts.query, urlencode(fields)]))))


async def _code(loopback: Loopback, screen: LoginScreen, limit_seconds: float) -> str:
    """The code that comes first: from the browser, or from the person."""
    ways = [asyncio.ensure_future(loopback.code()), asyncio.ensure_future(_pasted_code(loopback, screen))]
    try:
        done, _ = await asyncio.wait(ways, timeout=limit_seconds, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise LoginError(f"nobody logged in within {limit_seconds / 60:g} minutes: log in again")
        return done.pop().result()
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pasted_code(loopback: Loopback, screen: LoginScreen) -> str:
    while True:
        try:
            return loopback.code_in(await screen.pasted())
        except (LoginRefusedError, MixedUpLoginError):
            raise
        except LoginError as error:
            screen.complain(str(error))
