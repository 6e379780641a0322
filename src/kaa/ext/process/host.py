"""What kaa gives extension processes: permissions, a start in a sandbox, keys, and topics to tell each other something.

`kaa.shell.extensions.processes` has the implementation. The connection to a process (`connection.py`) knows none of it.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import count
from typing import Protocol

import msgspec

from kaa.core.messages import Json
from kaa.ext.asking import Asker
from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Applicant, Permissions
from kaa.ext.process.manifest import Manifest
from kaa.ext.scope import Scope
from kaa.host.paths import is_below
from kaa.host.programs import host_programs

_MOST_SUBSCRIPTIONS = 64  # of one extension


class _Subscription(msgspec.Struct, frozen=True):
    id: int
    extension: str
    topic: str
    notify: Callable[[str, Json], None]


class EventBus:
    """Who wants to hear of which topics. A restarted extension begins without subscriptions."""

    def __init__(self) -> None:
        self._ids = count(1)
        self._subscriptions: list[_Subscription] = []

    def publish(self, topic: str, data: Json) -> None:
        """Tell all that subscribed to the topic."""
        for one in tuple(self._subscriptions):
            if fnmatchcase(topic, one.topic):
                one.notify("eventBus/event", {"topic": topic, "subscriptionId": one.id, "data": data})

    def subscribe(self, extension: str, topic: str, notify: Callable[[str, Json], None]) -> int | None:
        """Hear of a topic, or of all that a pattern with `*` matches.

        Args:
            extension: its key.
            topic: the topic or pattern.
            notify: sends a notification to its process. Subscriptions of an earlier process of the extension end.

        Returns:
            The number of the subscription; None if the extension has too many.
        """
        self._subscriptions = [one for one in self._subscriptions if one.extension != extension or one.notify == notify]
        if sum(one.extension == extension for one in self._subscriptions) >= _MOST_SUBSCRIPTIONS:
            return None
        made = _Subscription(next(self._ids), extension, topic, notify)
        self._subscriptions.append(made)
        return made.id


class ExtensionProcess(Protocol):
    """A process that was started. The descriptors are kaa's ends, and belong to the caller.

    Attributes:
        messages_in: what is written here arrives at the process's descriptor 3.
        messages_out: what the process writes to its descriptor 4.
        stdin: the process's standard input.
        stdout: what it prints.
        stderr: likewise.
    """

    messages_in: int
    messages_out: int
    stdin: int
    stdout: int
    stderr: int

    async def wait(self) -> int:
        """Wait for its end; nothing of it is left then. Returns its exit code; negative: the signal that ended it.

        Cancelling this stops nothing.

        Raises:
            OSError: it could not be executed, or its sandbox died.
        """

    def end(self) -> None:
        """Send TERM to it and to what it started, and two seconds later KILL; a second call sends KILL at once."""


def program_of(manifest: Manifest) -> str:
    """The absolute path of the program that executes an extension.

    Raises:
        ExtensionError: there is none, or commands in the sandbox can write it.
    """
    name, folder = manifest.program, manifest.folder
    if is_below(os.path.normpath(name), (folder,)):  # the folder was judged before anything in it was read
        if os.path.isfile(name) and os.access(name, os.X_OK):
            return name
        state = "is not executable: run chmod +x" if os.path.isfile(name) else "does not exist: build or install it"
        raise ExtensionError(f"Extension {folder}: the program {os.path.normpath(name)} {state}")
    programs = host_programs()
    if (found := programs.find(name)) is not None:
        return found
    reason = programs.refusal(name) or f"{name} is not installed, or not in a directory of PATH: install it"
    raise ExtensionError(f"Extension {folder} needs {manifest.runtime}: {reason}")


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

    def report(self, text: str) -> None:
        """Show the user a sentence about an extension."""

    def keep(self, life: "asyncio.Task[None]") -> None:
        """Own the task that runs a process; kaa waits for it at its end."""

    def granted(self, extension: Applicant) -> Permissions | None:
        """What the extension may do; None if the user must be asked first, because it asks for more.

        Raises:
            ExtensionError: the records of extensions cannot be read.
        """

    async def permit(self, manifest: Manifest, asker: Asker) -> Permissions:
        """Ask the user for what the extension asks for and was not granted, if there is such a thing. Keeps a yes.

        Raises:
            NotPermittedError: the user says no, or nobody can be asked.
            ExtensionError: as `granted` says.
        """

    def note_code(self, manifest: Manifest) -> None:
        """Note whether commands of the model can write the folder of an extension, which is being loaded.

        What they can write only later is not started; the user's permission may come long after this.
        """

    def data_folder(self, manifest: Manifest) -> str:
        """The directory that the extension can write; `configDir` of the handshake. Makes it.

        Raises:
            ExtensionError: it cannot be made.
        """

    async def start(self, manifest: Manifest, permissions: Permissions) -> ExtensionProcess:
        """Start the process in a sandbox of its own with these permissions. It begins in its folder.

        Raises:
            NotPermittedError: no sandbox is possible on this machine, and the user has not permitted to do without.
            ExtensionError: its program is missing, or the sandbox cannot be started.
        """

    async def key(self, name: str) -> str | None:
        """The user's key of a provider, or the value of an environment variable; None if there is none.

        The caller makes sure that the extension may have it.
        """
