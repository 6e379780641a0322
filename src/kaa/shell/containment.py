"""What holds the tools of a conversation back, and what the user can change about it while it goes on.

To the gate it is what a yes can change (`kaa.shell.boundary.SandboxControl`), to frontends what they show and switch.
"""

import os.path
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from kaa.ext.errors import CommandError
from kaa.hands.policy import Mode
from kaa.host.paths import is_below
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.network.allow_list import NetworkRuleError, NetworkState
from kaa.workspace.protocol import FileInfo, Links, Start, Workspace
from kaa.workspace.sandbox.findings import AskAboutFound
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from kaa.workspace.sandbox.sandbox import SandboxStatus

# They confine files, processes, sockets and the network; others let some of that through (docs/sandbox.md).
_EFFECTIVE_TIERS = ("full", "bwrap")

if TYPE_CHECKING:
    from kaa.ext.escalations import Escalation
    from kaa.ext.session_services import SandboxPorts
    from kaa.workspace.git_held import HeldFiles, Incoming, Taken
    from kaa.workspace.moved_files import MovedFiles
    from kaa.workspace.network.asking import HostAsker
    from kaa.workspace.permitted import Target


def contain(workspace: Workspace) -> "Containment":
    """What holds back the tools that work in this workspace."""
    return Contained(workspace) if isinstance(workspace, LocalWorkspace) else NoSandbox(workspace)


_WHOLE_OR_NONE = (
    "this machine's sandbox cannot permit single hosts (tier landlock): /net on gives commands its whole network,"
    " /net off none"
)


class Contained:
    """The sandbox of a workspace on this machine."""

    def __init__(self, workspace: LocalWorkspace) -> None:
        self._workspace = workspace

    @property
    def confined(self) -> bool:
        return self._workspace.sandbox.confined

    @property
    def effective(self) -> bool:
        """Whether the strongest tiers confine calls."""
        return self._workspace.sandbox.policy.tier in _EFFECTIVE_TIERS

    @property
    def is_narrowed(self) -> bool:
        """Whether nothing can be lifted."""
        return self._workspace.is_narrowed

    @property
    def mode(self) -> Mode:
        return self._workspace.sandbox.mode

    @property
    def root(self) -> str:
        return self._workspace.root

    @property
    def writable(self) -> Sequence[str]:
        """Directories that calls without a permit can write."""
        return tuple(map(os.path.realpath, (*self._workspace.sandbox.policy.writes, *self.temporary)))

    @property
    def temporary(self) -> Sequence[str]:
        """Directories whose files nobody misses, as commands know them."""
        return self._workspace.sandbox.temporary

    @property
    def private_temporary(self) -> Sequence[str]:
        """Those of them that are mounted for the sandbox alone."""
        return self.temporary if self.effective else ()

    def real_paths(self, text: str) -> dict[str, str]:
        """Where the user finds the files in the private /tmp that a text names."""
        return self._workspace.sandbox.private_tmp.named_in(text) if "tmp/" in text else {}

    async def stat(self, path: str) -> FileInfo | None:
        return await self._workspace.stat(path)

    async def held_from(self, written: "Incoming") -> "HeldFiles | None":
        from kaa.workspace.git_held import HeldFilesOfGit  # lazy: few commands check something out

        return await HeldFilesOfGit(self._workspace, self._executed, self._workspace.home).written(written)

    async def held_of(self, taken: "Taken") -> "HeldFiles | None":
        from kaa.workspace.git_held import HeldFilesOfGit  # lazy, as above

        return await HeldFilesOfGit(self._workspace, self._executed, self._workspace.home).taken(taken)

    async def can_remove_worktree(self, path: str) -> bool:
        from kaa.workspace.git_held import HeldFilesOfGit  # lazy, as above

        # Without mounts, commands may write what git keeps of all of them.
        return self.effective and await HeldFilesOfGit(self._workspace).can_remove_worktree(path)

    @property
    def _executed(self) -> Sequence[str]:
        """What kaa executes or obeys in the project."""
        paths = map(os.path.realpath, self._workspace.sandbox.policy.executed)
        return [path for path in paths if is_below(path, (self.root,))]

    async def left_behind(self, contents: Mapping[str, bytes]) -> frozenset[str]:
        from kaa.workspace.git_held import HeldFilesOfGit  # lazy, as above

        return await HeldFilesOfGit(self._workspace).left_behind(contents)

    async def save_copy(self, path: str, content: bytes, mode: int) -> str:
        return await self._workspace.sandbox.save_copy(path, content, mode)

    @property
    def moved_files(self) -> "MovedFiles":
        """The project without a sandbox."""
        return self._workspace.unconfined()

    async def settle(self) -> None:
        await self._workspace.sandbox.status()

    def permits(self, escalation: "Escalation") -> bool:
        sandbox = self._workspace.sandbox
        if not sandbox.confined:
            return True
        match escalation.kind:
            case "network" if not self.tells_hosts_apart:
                return sandbox.network.state.is_open
            case "network":
                return sandbox.policy.network != "isolated" or sandbox.network.allows(escalation.what)
            case "whole network":
                return sandbox.network.state.is_open
            case "port" | "socket":
                return escalation.what in sandbox.admitted
            case "directory":
                return is_below(escalation.what, self.writable)
            case "read":
                return sandbox.denials().of_read(escalation.what) is None
            case _:
                return False

    @property
    def added(self) -> Sequence[str]:
        """Directories besides the project that the user chose to be writable."""
        return self._workspace.sandbox.options.writable

    @property
    def choices(self) -> SandboxOptions:
        """What the user chose, but for the network."""
        return self._workspace.sandbox.options

    def objection(self, escalation: "Escalation") -> str | None:
        match escalation.kind:
            case "directory":
                return self._workspace.sandbox.objection(SandboxChange(writable=(escalation.what,)))
            case "read":
                return self._workspace.sandbox.objection(SandboxChange(shown=(escalation.what,)))
            case _:
                return None

    async def change(self, change: SandboxChange) -> None:
        await self._workspace.change(change)

    def asking(self, asker: "HostAsker", hosts: Sequence[str]) -> Workspace | None:
        isolated = self._workspace.sandbox.policy.network == "isolated"
        return self._workspace.asking(asker, hosts) if isolated else None

    @property
    def tells_hosts_apart(self) -> bool:
        return self._workspace.sandbox.tells_hosts_apart

    def allow_network(self) -> None:
        self._workspace.sandbox.network.choose("on")

    def allow_host(self, host: str) -> None:
        try:
            self._workspace.sandbox.network.allow(host)
        except NetworkRuleError as error:  # what was blocked cannot be named by a rule: metadata services, loopback
            raise PermissionError(str(error)) from error

    async def admit(self, service: str) -> None:
        try:
            await self.ports.admit(service)
        except CommandError as error:
            raise PermissionError(str(error)) from error

    def unconfined(self, target: "Target | None") -> Workspace:
        """The project without a sandbox, or only `target` without one, for one call."""
        from kaa.workspace.permitted import PermittedWorkspace  # lazy: few calls have a permit

        unconfined = self._workspace.unconfined()
        return unconfined if target is None else PermittedWorkspace(unconfined, target)

    def watched(
        self,
        links: Links = "followed",
        start: Start = "project",
        seen: Mapping[str, bytes] | None = None,
        *,
        alone: Callable[[], str | None] | None = None,
    ) -> Workspace:
        """The project without a sandbox, with the guard, and without programs of the project."""
        return self._workspace.watched(links, start, seen, alone=alone)

    def exposed_program(self, name: str) -> str | None:
        return self._workspace.exposed_program(name)

    def starts_module_here(self, name: str) -> str | None:
        return self._workspace.starts_module_here(name)

    def exposed_setting(self) -> str | None:
        return self._workspace.exposed_setting()

    def unattended(self, links: Links = "followed", start: Start = "project") -> Workspace:
        """The project without a sandbox, and without programs of the project."""
        return self._workspace.unattended(links, start)

    def warm_up(self) -> None:
        """Have ready what the first command needs."""
        self._workspace.sandbox.warm_up()

    def expect_checkpoints(self) -> None:
        """Have ready what takes checkpoints of the first command."""
        self._workspace.sandbox.expect_checkpoints()

    async def status(self) -> SandboxStatus:
        return await self._workspace.sandbox.status()

    def tell(self, tell: Callable[[str], None]) -> None:
        """Tell what the guard found."""
        self._workspace.tell(tell)

    def tell_left(self) -> None:
        """Tell what was moved away by a kaa that was killed."""
        self._workspace.tell_left()

    def ask(self, ask: AskAboutFound) -> None:
        """Ask about files that the guard moved away, instead, if they belong to no call."""
        self._workspace.ask(ask)

    @property
    def network(self) -> str:
        """What commands may reach, as `--net` takes it."""
        return str(self._workspace.sandbox.network.state.chosen)

    @property
    def reachable(self) -> str:
        """The same, with what was permitted in answer to questions."""
        return str(self._workspace.sandbox.network.state)

    @property
    def answered(self) -> str:
        """What was permitted in answer to questions; empty if nothing."""
        granted = self._workspace.sandbox.network.state.granted
        return str(NetworkState(granted=granted)) if granted else ""

    @property
    def admitted(self) -> Sequence[str]:
        """Services of this machine that the user let commands reach: ports, and paths of sockets."""
        return self._workspace.sandbox.admitted

    def set_network(self, text: str, *, named: bool = False) -> str:
        """Change what commands may reach. `named`: the person wrote it, so its hosts may have private addresses."""
        network = self._workspace.sandbox.network
        try:
            if not self.tells_hosts_apart and NetworkState.parse(text).mode == "allow-list":
                raise CommandError(_WHOLE_OR_NONE)
            network.choose(text, named=named)
        except NetworkRuleError as error:
            raise CommandError(str(error)) from error
        return str(network.state)

    @cached_property
    def ports(self) -> "SandboxPorts":
        from kaa.shell.sandbox_ports import ContainedPorts  # lazy: few need it

        return ContainedPorts(self._workspace)

    @property
    def open_ports(self) -> tuple[int, ...]:
        """Ports of this machine that lead to servers in the sandbox."""
        return self._workspace.sandbox.served_ports


class NoSandbox:
    """For a workspace that touches no machine: nothing is held back and nothing can be switched."""

    confined = True
    effective = False
    mode: Mode = "full-access"
    temporary: Sequence[str] = ()
    private_temporary: Sequence[str] = ()

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def is_narrowed(self) -> bool:
        """Whether nothing can be lifted."""
        return self._workspace.is_narrowed

    @property
    def root(self) -> str:
        return self._workspace.root

    @property
    def writable(self) -> Sequence[str]:
        """All of it can be written."""
        return ("/",)

    def real_paths(self, text: str) -> dict[str, str]:
        """Paths are the same outside."""
        return {}

    async def stat(self, path: str) -> FileInfo | None:
        """What is at `path`."""
        return await self._workspace.stat(path)

    async def held_from(self, written: "Incoming") -> "HeldFiles | None":
        return None

    async def held_of(self, taken: "Taken") -> "HeldFiles | None":
        return None

    async def can_remove_worktree(self, path: str) -> bool:
        return True

    async def left_behind(self, contents: Mapping[str, bytes]) -> frozenset[str]:
        return frozenset()

    async def save_copy(self, path: str, content: bytes, mode: int) -> str:
        """There is no place for it."""
        return ""

    @property
    def moved_files(self) -> "MovedFiles":
        from kaa.workspace.moved_files import MovedFiles  # lazy: few commands make such files

        if not isinstance(self._workspace, MovedFiles):
            raise PermissionError("this workspace cannot put files back")
        return self._workspace

    async def settle(self) -> None:
        """There is nothing to wait for."""

    def permits(self, escalation: "Escalation") -> bool:
        return True

    @property
    def added(self) -> Sequence[str]:
        return ()

    @property
    def choices(self) -> SandboxOptions:
        """Nothing was chosen that could hold anything back."""
        return SandboxOptions(mode="full-access")

    def objection(self, escalation: "Escalation") -> str | None:
        return None

    async def change(self, change: SandboxChange) -> None:
        if change.mode == "read-only":
            raise PermissionError("this workspace has no sandbox: it cannot be read-only")

    def asking(self, asker: "HostAsker", hosts: Sequence[str]) -> Workspace | None:
        return None

    @property
    def tells_hosts_apart(self) -> bool:
        return True

    def allow_network(self) -> None: ...

    def allow_host(self, host: str) -> None:
        """There is no network."""

    async def admit(self, service: str) -> None:
        """There is nothing that could be reached."""

    def unconfined(self, target: "Target | None") -> Workspace:
        """The same workspace, or only `target` in it."""
        from kaa.workspace.permitted import PermittedWorkspace  # lazy, as above

        return self._workspace if target is None else PermittedWorkspace(self._workspace, target)

    def watched(
        self,
        links: Links = "followed",
        start: Start = "project",
        seen: Mapping[str, bytes] | None = None,
        *,
        alone: Callable[[], str | None] | None = None,
    ) -> Workspace:
        return self._workspace

    def exposed_program(self, name: str) -> str | None:
        return None

    def starts_module_here(self, name: str) -> str | None:
        return None

    def exposed_setting(self) -> str | None:
        return None

    def unattended(self, links: Links = "followed", start: Start = "project") -> Workspace:
        return self._workspace

    def warm_up(self) -> None:
        """Nothing takes time."""

    def expect_checkpoints(self) -> None:
        """The same."""

    async def status(self) -> None:
        """Nothing is held."""

    def tell(self, tell: Callable[[str], None]) -> None:
        """Nothing is found."""

    def tell_left(self) -> None:
        """Nothing was found."""

    def ask(self, ask: AskAboutFound) -> None:
        """Nothing is found."""

    @property
    def network(self) -> str:
        return ""

    @property
    def reachable(self) -> str:
        return ""

    @property
    def answered(self) -> str:
        """There are no questions about hosts."""
        return ""

    @property
    def admitted(self) -> Sequence[str]:
        return ()

    def set_network(self, text: str, *, named: bool = False) -> str:
        """There is no network to switch."""
        raise CommandError(f"this workspace has no network; {text!r} changes nothing")

    @property
    def ports(self) -> "SandboxPorts":
        from kaa.shell.sandbox_ports import NoPorts  # lazy, as above

        return NoPorts()

    @property
    def open_ports(self) -> tuple[int, ...]:
        return ()


# The sandbox of a conversation: what the gate can change (`kaa.shell.boundary`), and what frontends show and switch.
Containment: TypeAlias = Contained | NoSandbox
