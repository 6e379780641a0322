"""Finds out, as cheaply as can be, whether a key or a login is accepted.

The list of models costs nothing. Where it is public, or there is none, a few tokens of an answer are paid for.
"""

import re
from contextlib import aclosing
from typing import Final, Literal

import msgspec

from kaa.core.errors import (
    AuthError,
    MalformedStreamError,
    NetworkError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
)
from kaa.core.messages import UserMessage
from kaa.core.provider import Request
from kaa.llm.auth.errors import LoginError
from kaa.llm.http.transport import Transport
from kaa.llm.models.adapters import create_provider
from kaa.llm.models.model_list import has_list, list_request
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.server_errors import failure_of_response
from kaa.llm.wire import Endpoint, peer_of

KeyState = Literal["works", "refused", "expired", "unreachable", "unverified"]

# The least that OpenAI's Responses take.
_FEW_TOKENS: Final = 16
_LONGEST_ERROR_BYTES: Final = 64 * 1024


class KeyVerdict(msgspec.Struct, frozen=True):
    """What is known of a key now.

    Attributes:
        state: `unverified` if the server was reached but does not say.
        said: why, in a sentence; holds no key. Empty if there is nothing to say.
    """

    state: KeyState
    said: str = ""


async def verify(model: ResolvedModel, transport: Transport, *, is_named: bool = True) -> KeyVerdict:
    """Ask the server of `model` whether it accepts the key or login that is in its endpoint.

    Args:
        model: any model that can be reached with it.
        is_named: whether this model is known to be there; otherwise it is not asked.
    """
    try:
        if has_list(model.model.api) and await _list_says(model, transport):
            return KeyVerdict("works")
        if not is_named:
            return KeyVerdict("unverified", f"{model.endpoint.host} lists its models without a key")
        return await _answers(model, transport)
    except LoginError as error:
        return KeyVerdict("expired", str(error))
    except AuthError as error:
        return KeyVerdict("refused", str(error))
    except (NetworkError, OverloadedError) as error:
        return KeyVerdict("unreachable", str(error))
    except ProviderError as error:
        return KeyVerdict("unverified", str(error))


async def _list_says(model: ResolvedModel, transport: Transport) -> bool:
    """Whether the list of models tells that the key is right: shown with it, and not without.

    Raises:
        AuthError: it tells that the key is wrong.
        ProviderError: the server cannot be reached.
    """
    endpoint = model.endpoint
    try:
        await _list(model, endpoint.carried_by(transport), endpoint)
    except AuthError as error:
        # A key may be good for answers and for nothing else; then the status is 403.
        if isinstance(error, LoginError) or error.status != 403:
            raise
        return False
    except (NetworkError, OverloadedError):
        raise
    except ProviderError as error:
        # xAI and Google call a wrong key a bad request.
        if error.status == 400 and re.search(r"api.?key", str(error), re.IGNORECASE):
            raise AuthError(str(error), status=400) from error
        return False
    try:
        await _list(model, transport, msgspec.structs.replace(endpoint, api_key=None, headers=()))
    except AuthError:
        return True
    except ProviderError as error:
        return error.status == 400
    return False


async def _list(model: ResolvedModel, transport: Transport, endpoint: Endpoint) -> None:
    """Ask for the list of models.

    Raises:
        ProviderError: it does not come.
    """
    async with transport.send(list_request(endpoint, model.model.api)) as response:
        if response.status == 200:
            return
        body = await response.beginning(_LONGEST_ERROR_BYTES)
    peer = peer_of(model.endpoint, model.model.provider, "")  # no model was asked
    raise failure_of_response(response.status, response.headers, body, peer)


async def _answers(model: ResolvedModel, transport: Transport) -> KeyVerdict:
    """Have the model begin an answer."""
    request = Request(model.model, "", (UserMessage("Say yes."),), max_tokens=_FEW_TOKENS, once=True)
    try:
        async with aclosing(create_provider(model, transport).stream(request)) as reply:
            async for _ in reply:
                break
    except (QuotaError, RateLimitError) as error:
        return KeyVerdict("works", str(error))  # it knows the account
    except MalformedStreamError:
        pass  # an answer without content: it was let in
    return KeyVerdict("works")
