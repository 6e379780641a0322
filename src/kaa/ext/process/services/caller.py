"""Who asks, and what it may ask for."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias, cast

import msgspec

from kaa.core.messages import Json
from kaa.ext.command_context import CommandContext, CommandContextOf
from kaa.ext.context import ConversationContext
from kaa.ext.permissions import Permissions
from kaa.ext.process.host import ProcessHost
from kaa.ext.process.manifest import Manifest
from kaa.ext.process.wire import INTERNAL_ERROR, NOT_PERMITTED, RpcError


class Caller(msgspec.Struct, frozen=True):
    """Who asks.

    Attributes:
        manifest: of the extension.
        permissions: that the user granted.
        conversation: the conversation that the request is about; None if none is open.
        host: has the keys.
        notify: sends a notification to the process: a method and its parameters. Nothing happens once it has ended.
    """

    manifest: Manifest
    permissions: Permissions
    conversation: ConversationContext | None
    host: ProcessHost
    notify: Callable[[str, Json], None]

    def in_conversation(self) -> ConversationContext:
        """The conversation.

        Raises:
            RpcError: none is open.
        """
        if self.conversation is None:
            raise RpcError(INTERNAL_ERROR, "no conversation is open yet: ask again after the first event")
        return self.conversation

    def in_command(self) -> CommandContext:
        """What only a command may do.

        Raises:
            RpcError: the extension executes none.
        """
        if not self.is_in_command:
            raise RpcError(INTERNAL_ERROR, "kaa permits this only while the extension executes a command or a shortcut")
        return cast("CommandContext", self.conversation)

    @property
    def is_in_command(self) -> bool:
        """Whether the request is about a command or a shortcut that the extension executes."""
        return isinstance(self.conversation, CommandContextOf)

    def require(self, needed: Permissions) -> None:
        """Make sure that the extension has permissions.

        Raises:
            RpcError: it has not.
        """
        missing = needed.beyond(self.permissions)
        if missing != Permissions():
            raise RpcError(
                NOT_PERMITTED,
                f"extension {self.manifest.extension.name} has no permission to {'; '.join(missing.sentences)}: add"
                " it to `permissions` in manifest.yaml, and the user is asked",
            )


Service: TypeAlias = Callable[[Mapping[str, Json], Caller], Awaitable[Json]]
"""Gets the parameters, returns the result. Raises `RpcError`, or the errors of kaa that `answer` translates.

Cancelled if the extension sends `$/cancelRequest`, and when its process ends."""

READS_SESSION = Permissions(session="read")
WRITES_SESSION = Permissions(session="write")


def refusing(reason: str) -> Service:
    """A service that kaa does not offer, for this reason."""

    async def refuse(_params: Mapping[str, Json], _caller: Caller) -> Json:
        raise RpcError(INTERNAL_ERROR, reason)

    return refuse
