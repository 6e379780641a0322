"""What kaa gives extension processes: a permission, a start in a sandbox, and answers to their requests.

`kaa.shell.extensions.processes` has the implementation. The connection to a process (`connection.py`) knows none of it.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from kaa.core.messages import Json
from kaa.ext.asking import Asker
from kaa.ext.context import ConversationContext
from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Permissions
from kaa.ext.process.manifest import Manifest
from kaa.workspace.commands import Ending, OwnStreams


class NotPermittedError(ExtensionError):
    """The user has not permitted what an extension asks for; the message says what that is and how to permit it."""


class ServiceError(Exception):
    """A request of an extension fails: the error of the reply.

    Args:
        message: what happened and why.
        code: of JSON-RPC 2.0 (section 5.1).
    """

    def __init__(self, message: str, code: int = -32603) -> None:
        super().__init__(message)
        self.code = code


class StartedProcess(Protocol):
    """A process that runs."""

    async def wait(self) -> Ending:
        """Wait until it has ended; nothing of it is left then. Cancelling this stops nothing.

        Raises:
            OSError: it could not be started, or its sandbox died.
        """
        ...

    async def stop(self) -> None:
        """Have it end: a TERM signal, two seconds later a KILL, for all its processes. Returns when it has."""
        ...


class Notifiable(Protocol):
    """The connection to an extension process: the same object as long as the process lives."""

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        """Send a notification, without waiting; nothing once the process has ended."""
        ...


class ServiceRequest(msgspec.Struct, frozen=True):
    """A request of an extension process.

    Attributes:
        method: such as `host/chat`.
        params: of the request.
        manifest: of the extension.
        permissions: of the extension.
        context: of the conversation: that of the last call to the extension that is not answered yet, otherwise of the
            last call.
        process: sends it a notification, for `host/subscribe`.
    """

    method: str
    params: Mapping[str, Json]
    manifest: Manifest
    permissions: Permissions
    context: ConversationContext
    process: Notifiable


class ProcessHost(Protocol):
    """One process of kaa, as its extension processes know it.

    Attributes:
        project: the directory that kaa was started in; `cwd` of the handshake.
    """

    project: str

    def granted(self, manifest: Manifest) -> Permissions | None:
        """What the extension may do; None if the user must be asked first, because it asks for more.

        Raises:
            ExtensionError: the records of extensions cannot be read.
        """
        ...

    async def permit(self, manifest: Manifest, asker: Asker) -> Permissions:
        """Ask the user for what the extension asks for and was not granted, if there is such a thing. Keeps a yes.

        Raises:
            NotPermittedError: the user says no, or nobody can be asked.
            ExtensionError: as `granted` says.
        """
        ...

    def data_folder(self, manifest: Manifest) -> str:
        """The directory that the extension can write; `configDir` of the handshake. Makes it.

        Raises:
            ExtensionError: it cannot be made.
        """
        ...

    async def start(self, manifest: Manifest, permissions: Permissions, streams: OwnStreams) -> StartedProcess:
        """Start the process in a sandbox of its own with these permissions.

        Args:
            manifest: says what to execute.
            permissions: as granted.
            streams: its descriptors. They are duplicated: the caller can close them at once. The other ends see that
                the process has ended when `wait` returns.

        Raises:
            NotPermittedError: no sandbox is possible on this machine, and the user has not permitted to do without.
            ExtensionError: its program is missing, or the sandbox cannot be started.
        """
        ...

    async def answer(self, request: ServiceRequest) -> Json:
        """Answer a `host/…` request. Cancelling this abandons it.

        Raises:
            ServiceError: the extension has no permission, the request is invalid or unknown, or it failed.
        """
        ...
