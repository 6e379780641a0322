"""The worktrees of a project as the commands of its conversation use them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from kaa.ext.errors import CommandError
from kaa.ext.session_services import WorktreeChanges, WorktreeMerge
from kaa.shell.containment import contain
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError
from kaa.shell.worktrees.registry import Worktree, WorktreeError
from kaa.shell.worktrees.working import Merge, Worktrees, readable
from kaa.workspace.protocol import CommandRequest, Workspace


class ConversationWorktrees:
    """Implements `kaa.ext.session_services.SessionWorktrees`."""

    def __init__(self, workspace: Workspace, home: Home, environ: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._home = home
        self._environ = environ

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(worktree.name for worktree in self._all.registry.all())

    async def obstacle(self) -> str:
        containment = contain(self._workspace)
        try:
            await containment.settle()
            if not containment.confined or containment.mode == "full-access":
                return "no sandbox holds the commands (`kaa doctor` tells why)"
            if containment.mode == "read-only":
                return "nothing can be written in this mode (`/approvals auto` changes it)"
            found = await self._workspace.run(CommandRequest(["/bin/sh", "-c", "command -v git"]))
        except OSError as error:
            return error.strerror or str(error)
        return "" if found.exit_code == 0 else "git is not installed"

    async def changes(self, name: str) -> WorktreeChanges:
        async with self._named(name) as (worktrees, worktree):
            standing = await worktrees.standing(worktree)
        rows = [line.split("\t", 2) for line in standing.files]
        # Of files that are no text, git shows `-`.
        added, removed = (sum(int(row[place]) for row in rows if row[place].isdecimal()) for place in (0, 1))
        return WorktreeChanges(len(rows), added, removed, standing.left_out)

    async def diff(self, name: str, shown: WorktreeMerge | None = None) -> str:
        async with self._named(name) as (worktrees, worktree):
            if shown is not None:
                return readable(await worktrees.merge_diff(worktree, _shown(shown)))
            return readable(await worktrees.difference(worktree))

    async def preview(self, name: str) -> WorktreeMerge:
        async with self._named(name) as (worktrees, worktree):
            return _told(await worktrees.foresee(worktree))

    async def merge(self, name: str, shown: WorktreeMerge | None = None) -> WorktreeMerge:
        async with self._named(name) as (worktrees, worktree):
            return _told(await worktrees.merge(worktree, None if shown is None else _shown(shown)))

    async def drop(self, name: str) -> None:
        async with self._named(name) as (worktrees, worktree):
            await worktrees.drop(worktree, force=True)

    @property
    def _all(self) -> Worktrees:
        hidden = contain(self._workspace).choices.hidden
        return Worktrees(self._workspace.root, self._home, self._environ, hidden)

    @asynccontextmanager
    async def _named(self, name: str) -> AsyncIterator[tuple[Worktrees, Worktree]]:
        try:
            worktrees = self._all
            yield worktrees, worktrees.registry.find(name)
        except (WorktreeError, SettingsError, OSError) as error:
            raise CommandError(str(error)) from error


def _told(merge: Merge) -> WorktreeMerge:
    return WorktreeMerge(*merge)


def _shown(merge: WorktreeMerge) -> Merge:
    return Merge(*msgspec.structs.astuple(merge))
