"""What commands can do with their session: accounts, budget, name, compaction, export, sharing."""

from typing import TYPE_CHECKING, Protocol

import msgspec

from kaa.core.budget import Budget, BudgetScope, BudgetUsage, Measure
from kaa.core.events import CompactionEnd
from kaa.core.spending import Spending

if TYPE_CHECKING:
    from kaa.core.largest import ContextItem, ToolShare
    from kaa.session.edits import Shortened
    from kaa.session.export.request import ExportDraft, Exported, ExportRequest
    from kaa.session.figures import SessionFigures
    from kaa.session.library.importing import Imported
    from kaa.workspace.network.forwarding import Forward
    from kaa.workspace.network.ports import PortsReport


class SessionAccounts(Protocol):
    """Where tokens and money went, and what the window is filled with. Each answer goes through the whole session."""

    async def spending(self) -> Spending:
        """Tokens and money, by branch, model and purpose, with the misses of the provider's cache."""

    async def figures(self) -> "SessionFigures":
        """How many messages of whom there are, here and on other branches."""

    def largest_items(self) -> "tuple[ContextItem, ...]":
        """The single messages and results that take the most of the window, the largest first."""

    def by_tool(self) -> "tuple[ToolShare, ...]":
        """What each tool takes of the window, the one that takes most first."""

    async def shortened(self) -> "Shortened":
        """The results of tools that the model sees in a shorter form, and what that saves."""

    def prompt_items(self) -> "tuple[ContextItem, ...]":
        """What the system prompt consists of."""


class SessionBudget(Protocol):
    """What runs and the session may use."""

    def limits(self, scope: BudgetScope) -> Budget:
        """The limits of a run, or of the session."""

    def used(self, scope: BudgetScope) -> BudgetUsage:
        """What the run under way, or the last one, used; or the session."""

    def set_limit(self, scope: BudgetScope, measure: Measure, limit: float | None) -> None:
        """Change a limit, for the run under way and all later ones, or for the session. None takes it away."""


class SessionNaming(Protocol):
    """What the session is called."""

    @property
    def name(self) -> str | None:
        """Its name, None if it has none."""

    def set_name(self, text: str) -> str | None:
        """Call it so; an empty text takes the name away. Returns the name as it is kept.

        Raises:
            CommandError: nothing of the text can be shown.
        """

    async def suggest(self) -> str:
        """A name of the model's making.

        Raises:
            CommandError: there is nothing to name, or the model could not be asked, or it had no idea.
        """


class SessionCompaction(Protocol):
    """Condenses the conversation."""

    @property
    def threshold(self) -> int | None:
        """A conversation that takes more tokens is condensed by itself; None if none is."""

    async def compact(self, instructions: str = "") -> CompactionEnd:
        """Condense the conversation. Returns what went, or why it failed.

        Raises:
            CommandError: there is nothing to compact, or the agent works.
        """

    async def uncompact(self) -> str:
        """Take the last compaction back. Returns what that did, in some lines.

        Raises:
            CommandError: there is none, or the agent works.
        """


class SessionExporting(Protocol):
    """Writes the session into files of the user's, and takes such files in."""

    async def export(self, request: "ExportRequest") -> "Exported":
        """Write the session as it is now.

        Raises:
            ExportError: the target cannot be used.
            SessionError: the session cannot be read.
        """

    async def write_text(self, name: str, text: str, *, force: bool = False) -> str:
        """Write a text into a file that the user named, with the user's rights. Returns its path.

        Args:
            name: as the user wrote it; relative to the project.
            text: all of it.
            force: a file that is there is replaced.

        Raises:
            ExportError: it cannot be written.
        """

    async def import_file(self, name: str) -> "Imported":
        """Copy a session file into the library.

        Raises:
            SessionError: it is no session, or cannot be read or copied.
        """


class SessionSharing(Protocol):
    """Puts the session where others can read it, without the secrets that are known or look like one."""

    async def prepare(self, request: "ExportRequest") -> "ExportDraft":
        """Write what would go out into a private folder. Nothing leaves the machine.

        Raises:
            CommandError: it cannot be shared from here.
            SessionError: the session cannot be read.
        """

    async def upload(self, draft: "ExportDraft") -> str:
        """Let it out. Returns its address.

        Raises:
            CommandError: that failed.
        """

    def discard(self, draft: "ExportDraft") -> None:
        """Throw the prepared files away."""


class SandboxPorts(Protocol):
    """Ports and services between the sandbox and the user's machine."""

    async def report(self) -> "PortsReport":
        """What leads where."""

    async def forward(self, port: int, host_port: int | None = None) -> "Forward":
        """Make a port that a command of a tool listens on reachable on 127.0.0.1.

        Args:
            port: inside.
            host_port: on the user's machine; None takes the same number, or another one if that is taken.

        Raises:
            CommandError: nobody listens, or the wanted port is taken.
        """

    async def admit(self, service: str) -> str:
        """Let commands reach a service of the user's machine until it is closed. Returns what it is called.

        Args:
            service: a port, or the absolute path of a unix socket.

        Raises:
            CommandError: that cannot be done.
        """

    async def close(self, name: str) -> bool:
        """Close a port, by either number, or withdraw a service. Returns whether there was one."""


class WorktreeChanges(msgspec.Struct, frozen=True):
    """How much changed in a worktree since it began.

    Attributes:
        files: so many changed.
        added: lines in files of text.
        removed: likewise.
        left_out: what no merge takes over, because git ignores or cannot add it.
    """

    files: int = 0
    added: int = 0
    removed: int = 0
    left_out: tuple[str, ...] = ()


class WorktreeMerge(msgspec.Struct, frozen=True):
    """What a merge of a worktree does, or did.

    Attributes:
        summary: a line for each file, as git shows it; empty if there is nothing to merge.
        conflicts: files that the project and the worktree both changed; with any, nothing is merged.
        before: the tree of the project before it.
        after: the tree of the project after it.
        theirs: the tree of the worktree.
        obstacles: files of the project that git ignores or cannot read, where the merge adds some; with any, nothing is
            merged.
        left_out: what a merge does not take over from the worktree, because git ignores or cannot add it.
        unmerged: the tree of the project without a merge that a killed kaa had begun; empty if there was none.
    """

    summary: str
    conflicts: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    theirs: str = ""
    obstacles: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    unmerged: str = ""


class SessionWorktrees(Protocol):
    """The worktrees of the project, which agents can work in. All methods but two raise CommandError."""

    @property
    def names(self) -> tuple[str, ...]:
        """Those that there are."""

    async def obstacle(self) -> str:
        """Why no agent can work in a worktree here, in a clause; empty if one can."""

    async def changes(self, name: str) -> WorktreeChanges:
        """How much changed in one since it began."""

    async def diff(self, name: str, shown: WorktreeMerge | None = None) -> str:
        """What changed in one since it began, as a unified diff; or what a merge would change in the project."""

    async def preview(self, name: str) -> WorktreeMerge:
        """What merging one into the project would do. Nothing is changed."""

    async def merge(self, name: str, shown: WorktreeMerge | None = None) -> WorktreeMerge:
        """Merge one into the files of the project; `kaa worktrees merge --undo` takes that back.

        Args:
            name: of the worktree.
            shown: what `preview` returned and the user agreed to: exactly this is merged. Raises CommandError if files
                of the project changed meanwhile. None merges what there is now.
        """

    async def drop(self, name: str) -> None:
        """Remove one, also with changes that are not merged: ask the user before."""
