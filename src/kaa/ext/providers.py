"""Providers of models that extensions add."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TypeAlias

import msgspec

from kaa.core.messages import Json
from kaa.core.provider import Request, StreamEvent


class ProviderAccess(msgspec.Struct, frozen=True):
    """How the server of a provider is reached, as its entry, the environment and auth.json say.

    Attributes:
        base_url: the address; empty if there is none.
        api_key: the key; None if there is none.
        headers: to be sent with each request.
    """

    base_url: str
    api_key: str | None
    headers: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        """Without the key."""
        return f"ProviderAccess({self.base_url!r})"


ProviderStream: TypeAlias = Callable[[Request, ProviderAccess], AsyncGenerator[StreamEvent, None]]
"""Sends one request and yields the reply as it comes; an error is a `ProviderError`."""


class RegisteredProvider(msgspec.Struct, frozen=True):
    """A provider as an extension registered it.

    Attributes:
        owner: the extension.
        entry: as an entry of `providers` in models.json.
        stream: gets the replies; None if kaa speaks the wire format of the entry.
    """

    owner: str
    entry: Mapping[str, Json]
    stream: ProviderStream | None
