"""The projects of a process: one workspace for each directory and sandbox, whatever number of conversations use it."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, checked_root, is_protected, sandbox_options, start_workspace
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.sandbox.options import SandboxOptions


class Workspaces:
    """Opens them, and closes them with the process: what runs in the background outlives a conversation.

    Args:
        extensions: files and folders that this process loads; commands cannot change them in any project.
    """

    def __init__(self, home: Home, environ: Mapping[str, str], extensions: tuple[Path, ...]) -> None:
        self._home = home
        self._environ = environ
        self._extensions = tuple(map(str, extensions))
        self._open: dict[tuple[str, SandboxFlags], LocalWorkspace] = {}

    def adopt(self, workspace: LocalWorkspace, flags: SandboxFlags) -> None:
        """Give out, and close, a workspace that was opened early.

        Args:
            workspace: of the directory that kaa was started in.
        """
        self._open[workspace.root, self._complete(flags)] = workspace

    def open(self, directory: str, flags: SandboxFlags) -> LocalWorkspace:
        """The workspace of a directory, with a sandbox of its own.

        Args:
            directory: absolute.
            flags: what was chosen for it; another choice for the same directory opens another workspace.

        Raises:
            SettingsError: the user's settings, or the flags, have a mistake.
            OSError: it cannot be opened.
        """
        key = checked_root(str(Path(directory).absolute())), self._complete(flags)
        if key not in self._open:
            self._open[key] = start_workspace(*key, self._home, self._environ)
        return self._open[key]

    def options(self, directory: str) -> SandboxOptions:
        """The sandbox of a directory where nothing was chosen for it.

        Raises:
            SettingsError: the user's settings have a mistake.
        """
        return sandbox_options(self._home, self._complete(SandboxFlags()), directory)

    def protect(self, extension: Path) -> bool:
        """Whether commands cannot change an extension, and could not since the workspaces were opened."""
        return is_protected(extension, (workspace.sandbox for workspace in self._open.values()))

    def has_chosen_network(self, workspace: object) -> bool:
        """Whether the user chose for this workspace what its commands reach (`--net`)."""
        return any(one is workspace and flags.network is not None for (_, flags), one in self._open.items())

    def are_open_to_all(self) -> bool:
        """Whether the user chose `full-access` for all of them."""
        return all(workspace.sandbox.mode == "full-access" for workspace in self._open.values())

    async def close(self) -> None:
        """Close all; one that fails skips no other."""
        async with AsyncExitStack() as closing:
            for workspace in self._open.values():
                closing.push_async_callback(workspace.close)
            self._open.clear()

    def _complete(self, flags: SandboxFlags) -> SandboxFlags:
        return msgspec.structs.replace(flags, extensions=self._extensions)
