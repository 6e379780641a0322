"""What kaa gives extension processes: permissions, a start in a sandbox, and keys.

`kaa.shell.extensions.processes` has the implementation. The connection to a process (`connection.py`) knows none of it.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from kaa.ext.asking import Asker
from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Applicant, Permissions
from kaa.ext.process.event_bus import EventBus
from kaa.ext.process.launch import ExtensionProcess
from kaa.ext.process.manifest import Manifest
from kaa.ext.scope import Scope


class NotPermittedError(ExtensionError):
    """The user has not permitted what an extension asks for; the message says what that is and how to permit it."""


class ProcessHost(Protocol):
    """One process of kaa, as its extension processes know it.

    Attributes:
        project: the directory that kaa was started in; `cwd` of the handshake.
        bus: the topics of extension processes.
    """

    project: str
    bus: EventBus

    def scopes(self) -> Sequence[Scope]:
        """What the loaded extensions registered."""
        ...

    def report(self, text: str) -> None:
        """Show the user a sentence about an extension."""
        ...

    def keep(self, life: "asyncio.Task[None]") -> None:
        """Own the task that runs a process; kaa waits for it at its end."""
        ...

    def granted(self, extension: Applicant) -> Permissions | None:
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

    async def start(self, manifest: Manifest, permissions: Permissions) -> ExtensionProcess:
        """Start the process in a sandbox of its own with these permissions. It begins in its folder.

        Raises:
            NotPermittedError: no sandbox is possible on this machine, and the user has not permitted to do without.
            ExtensionError: its program is missing, or the sandbox cannot be started.
        """
        ...

    async def key(self, name: str) -> str | None:
        """The user's key of a provider, or the value of an environment variable; None if there is none.

        The caller makes sure that the extension may have it.
        """
        ...
