"""The boundary around tools, as it is seen by who judges calls (`kaa.shell.approvals`) and by who shows it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from kaa.ext.escalations import Escalation
from kaa.hands.policy import Mode
from kaa.workspace.permitted import Target
from kaa.workspace.protocol import FileInfo, Links, Start, Workspace
from kaa.workspace.sandbox.options import SandboxChange

if TYPE_CHECKING:
    from kaa.workspace.git_held import HeldFiles, Incoming, Taken
    from kaa.workspace.moved_files import MovedFiles
    from kaa.workspace.network.asking import HostAsker


class Confines(Protocol):
    """What must be known of the sandbox to judge a call."""

    @property
    def confined(self) -> bool:
        """Whether the kernel holds back calls that have no permit."""

    @property
    def mode(self) -> Mode:
        """What the user chose. In `full-access` nothing is confined, and nothing is outside."""

    @property
    def effective(self) -> bool:
        """Whether the kernel confines all that calls without a permit can do, not only files; certain once settled."""

    @property
    def is_narrowed(self) -> bool:
        """Whether calls belong to an agent whose workspace was narrowed: then no yes lifts anything."""

    @property
    def root(self) -> str:
        """The project; relative paths start here."""

    @property
    def writable(self) -> Sequence[str]:
        """Directories that calls without a permit can write, temporary ones too; real paths."""

    @property
    def temporary(self) -> Sequence[str]:
        """Directories whose files nobody misses, under the names that commands know them by."""

    @property
    def private_temporary(self) -> Sequence[str]:
        """Those of them that hold other files outside the sandbox."""


class SandboxControl(Confines, Protocol):
    """What a yes can change. Only the gate calls these, and only for an answer of the user's or a rule of theirs."""

    async def held_from(self, written: "Incoming") -> "HeldFiles | None":
        """The protected files that a command of git would have to change; None if it can change all it has to."""

    async def held_of(self, taken: "Taken") -> "HeldFiles | None":
        """The protected files that a command of git would have to take away; None if it can take all that it has to."""

    async def can_remove_worktree(self, path: str) -> bool:
        """Whether `git worktree remove` works inside the sandbox: commands may write all that git keeps of it."""

    @property
    def moved_files(self) -> "MovedFiles":
        """What deals with files that the guard moved away, outside the sandbox."""

    async def left_behind(self, contents: Mapping[str, bytes]) -> frozenset[str]:
        """Those of some files, of absolute paths, that git had checked out a moment ago, and has no more."""

    async def save_copy(self, path: str, content: bytes, mode: int) -> str:
        """Keep the content of a file for some days in kaa's home, where calls cannot write.

        Returns:
            The path of the copy; empty if there is none.
        """

    async def settle(self) -> None:
        """Wait until it is certain whether the kernel confines what runs.

        Raises:
            OSError: it cannot be found out.
        """

    def permits(self, escalation: Escalation) -> bool:
        """Whether calls inside the sandbox have what a yes to this would permit."""

    def objection(self, escalation: Escalation) -> str | None:
        """Why the model may not ask for this, in a sentence; None if it may."""

    async def change(self, change: SandboxChange) -> None:
        """Change what calls without a permit may do for the rest of the session; what runs goes on as it is.

        Raises:
            OSError: the sandbox cannot be changed, or not so.
        """

    def asking(self, asker: "HostAsker", hosts: Sequence[str]) -> Workspace | None:
        """The workspace of one call in the sandbox, whose user is asked about hosts that are not permitted.

        Returns:
            None if nothing in it is held back from the network.
        """

    @property
    def tells_hosts_apart(self) -> bool:
        """Whether single hosts can be permitted; else commands have the machine's whole network, or none."""

    def allow_network(self) -> None:
        """Let commands that start from now on use the machine's whole network, where hosts cannot be told apart."""

    def allow_host(self, host: str) -> None:
        """Let a host be reached for the rest of the session."""

    async def admit(self, service: str) -> None:
        """Let commands reach a port or a unix socket of the user's machine for the rest of the session.

        Raises:
            OSError: it cannot be reached from inside.
        """

    async def stat(self, path: str) -> FileInfo | None:
        """What is at `path` for tools inside the sandbox, or None.

        Raises:
            OSError: it cannot be looked at.
        """

    def exposed_program(self, name: str) -> str | None:
        """The program that a name means outside the sandbox, if calls without a permit can write it."""

    def exposed_setting(self) -> str | None:
        """The variable that has a client outside the sandbox obey what calls without a permit can write, if any."""

    def starts_module_here(self, name: str) -> str | None:
        """The script that a program is outside the sandbox, if it loads code of the directory where it starts."""

    def unattended(self, links: Links = "followed", start: Start = "project") -> Workspace:
        """As `unconfined` for everything, for a command that nobody was asked about now.

        Its programs are found outside what calls without a permit can write.
        """

    def watched(
        self,
        links: Links = "followed",
        start: Start = "project",
        seen: Mapping[str, bytes] | None = None,
        *,
        alone: Callable[[], str | None] | None = None,
    ) -> Workspace:
        """As `unattended`, for a command that was asked about: the guard moves away what others execute.

        Args:
            links: as for `unattended`.
            start: as for `unattended`.
            seen: contents that the user saw before the yes, by absolute paths: they stay.
            alone: commands in the sandbox stand still meanwhile. Returns then why this one must not run, if so.
        """

    def unconfined(self, target: Target | None) -> Workspace:
        """The workspace of one call outside the sandbox.

        Args:
            target: all that the call may use there; None for everything.
        """
