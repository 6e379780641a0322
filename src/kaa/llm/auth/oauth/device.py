"""Logging in with a browser on another machine: a code is entered there, and asked for here (RFC 8628)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from kaa.core.errors import NetworkError, OverloadedError
from kaa.core.messages import Json
from kaa.llm.auth.errors import LoginError, LoginRefusedError
from kaa.llm.auth.oauth.config import OAuthConfig, is_confidential
from kaa.llm.auth.oauth.exchange import LoginTokens, ask, refusal, secret_of, tokens_of
from kaa.llm.auth.oauth.metadata import addresses_of
from kaa.llm.auth.oauth.screen import LoginScreen
from kaa.llm.http.transport import Transport, host_of

Sleep = Callable[[float], Awaitable[object]]

_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
# RFC 8628 3.2 and 3.5: what holds if the server says nothing, and what is added when it wants to be asked less often.
_USUAL_INTERVAL_SECONDS: Final = 5.0
_SLOWER_SECONDS: Final = 5.0
_LONGEST_INTERVAL_SECONDS: Final = 60.0
_USUAL_LIFETIME_SECONDS: Final = 900.0
_LONGEST_LIFETIME_SECONDS: Final = 1800.0
_LONGEST_CODE_CHARACTERS: Final = 64


async def log_in_with_device(
    config: OAuthConfig, transport: Transport, screen: LoginScreen, *, sleep: Sleep = asyncio.sleep
) -> LoginTokens:
    """Log in and return the tokens. Cancelling it ends the login.

    Args:
        screen: shows the code, and where to enter it.
        sleep: waits for some seconds.

    Raises:
        LoginError: the person or the server said no, or the code was not entered in time.
        ProviderError: the server cannot be reached to begin with.
    """
    addresses = await addresses_of(config, transport)
    if addresses.device is None:
        raise LoginError("this server has no login with a code: log in with the browser")
    asked = {"client_id": config.client_id}
    if config.scopes:
        asked["scope"] = " ".join(config.scopes)
    answer = await ask(transport, addresses.device, asked)
    host = host_of(addresses.device)
    device_code = secret_of(answer, "device_code", host)
    screen.show_code(_address(answer, host), _user_code(answer, host))
    fields = {"grant_type": _GRANT, "device_code": device_code, "client_id": config.client_id}
    interval = _number(answer.get("interval"), _USUAL_INTERVAL_SECONDS, _LONGEST_INTERVAL_SECONDS)
    left = _number(answer.get("expires_in"), _USUAL_LIFETIME_SECONDS, _LONGEST_LIFETIME_SECONDS)
    while left > 0:
        await sleep(interval)
        left -= interval
        try:
            return tokens_of(await ask(transport, addresses.token, fields), host_of(addresses.token))
        except LoginRefusedError as error:
            if error.code == "slow_down":
                interval += _SLOWER_SECONDS
            elif error.code != "authorization_pending":
                raise
        except (NetworkError, OverloadedError):
            interval = min(interval * 2, _LONGEST_INTERVAL_SECONDS)  # RFC 8628 3.5
    raise refusal("expired_token", None, host)


def _address(answer: Mapping[str, Json], host: str) -> str:
    """Where the code is entered; Google calls it `verification_url`."""
    address = answer.get("verification_uri", answer.get("verification_url"))
    if not isinstance(address, str) or not is_confidential(address):
        raise LoginError(f"{host} names no https:// address for the code, so kaa does not open it")
    return address


def _user_code(answer: Mapping[str, Json], host: str) -> str:
    code = answer.get("user_code")
    if not isinstance(code, str) or not code.isprintable() or not 0 < len(code) <= _LONGEST_CODE_CHARACTERS:
        raise LoginError(f"{host} sent no usable code: try again, or use an API key")
    return code


def _number(value: Json, usual: float, most: float) -> float:
    """A number of seconds of at least one, `usual` if the server gave none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return usual
    return float(min(max(value, 1), most))
