"""What extension processes can ask of kaa: the methods `host/…`, by name."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import msgspec

from kaa.core.messages import Json
from kaa.ext.context import ConversationContext
from kaa.ext.process.manifest import Manifest


class Caller(msgspec.Struct, frozen=True):
    """Who asks.

    Attributes:
        manifest: of the extension.
        conversation: the conversation that the request is about; None if none is open.
        notify: sends a notification to the process: a method and its parameters.
    """

    manifest: Manifest
    conversation: ConversationContext | None
    notify: Callable[[str, Json], None]


Service: TypeAlias = Callable[[Mapping[str, Json], Caller], Awaitable[Json]]
"""Gets the parameters, returns the result. Raises `wire.RpcError` for what it cannot do; `wire.parse` reads parameters.

Cancelled if the extension sends `$/cancelRequest`, and when its process ends."""

SERVICES: Mapping[str, Service] = {}
