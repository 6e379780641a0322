"""Gives an agent a worktree to work in, with the rights that its conversation has in the project."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from kaa.ext.agents import AgentError
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError
from kaa.shell.worktrees.registry import WorktreeError
from kaa.shell.worktrees.working import UnmergedError, Worktrees, check_place
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import Workspace


class Isolated:
    """An agent's place of work.

    Attributes:
        worktree: the name of the worktree, once the agent has ended and changed something there; empty before.
        unmerged: what no merge of the worktree takes over then, because git ignores or cannot add it.
    """

    def __init__(self, workspace: LocalWorkspace) -> None:
        self.workspace = workspace
        self.worktree = ""
        self.unmerged: tuple[str, ...] = ()


@asynccontextmanager
async def isolated(
    name: str, workspace: Workspace, home: Home, environ: Mapping[str, str], notify: Callable[[str], None]
) -> AsyncIterator[Isolated]:
    """A worktree of this name, which is removed at the end if it was made for an agent and no work is in it.

    Args:
        name: of the worktree; one that exists is used.
        notify: told of files that are not in a new worktree, and of those for which it stays although nothing changed.

    Raises:
        AgentError: the conversation may not write, or there can be no worktree.
    """
    if not isinstance(workspace, LocalWorkspace) or workspace.is_narrowed or workspace.sandbox.mode == "read-only":
        raise AgentError("The agent was not run: it would work in a worktree, and nothing can be written here.")
    sandbox = workspace.sandbox
    try:
        sandbox.check_roots()
        worktrees = Worktrees(workspace.root, home, environ, sandbox.options.hidden, sandbox.inspect)
        worktree, _, left_out = await worktrees.enter(name, of_agent=True)
        own = workspace.relocated(worktrees.place, worktree.directory, worktrees.directory_in(worktree))
        check_place(own.root)
    except (WorktreeError, SettingsError, OSError) as error:
        raise AgentError(f"The agent was not run: it has no worktree: {error}") from error
    for one in left_out:
        notify(f"not in the worktree {name}: {one}")
    place = Isolated(own)
    try:
        yield place
    finally:
        await own.close()
        place.worktree = name
        if worktree.exists and worktree.of_agent:
            try:
                await worktrees.drop(worktree, force=False)
                place.worktree = ""
            except UnmergedError as error:
                place.unmerged = error.standing.left_out
                if not error.standing.is_changed:  # `kaa worktrees merge` would show nothing
                    notify(str(error))
            except WorktreeError:  # it is in use or cannot be compared: it stays, and `kaa worktrees` lists it
                pass
