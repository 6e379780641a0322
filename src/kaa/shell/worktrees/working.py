"""Creates, compares, merges and removes worktrees."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.builtin.amounts import listed
from kaa.shell.home import Home
from kaa.shell.key_variables import without_keys
from kaa.shell.safety import SandboxFlags, sandbox_options
from kaa.shell.trust.store import TrustStore
from kaa.shell.worktrees.moved_files import is_there, put_back
from kaa.shell.worktrees.obstacles import obstacles
from kaa.shell.worktrees.registry import (
    Change,
    Merged,
    Worktree,
    WorktreeError,
    WorktreeRegistry,
    checked,
    copied_to,
    held_by_another,
    project_of,
    this_machine,
)
from kaa.shell.worktrees.results import results
from kaa.shell.worktrees.states import ABANDONED_MINUTES, States, TooMuchError
from kaa.workspace.blocked import visible
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.removal import remove_tree
from kaa.workspace.sandbox.relocation import hidden_by_all, relocated_hidden
from kaa.workspace.sandbox.roots import holding, identity, real_root

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_PATHS = 20
STAT = "--stat=1000,900,100000"
"""The option of git for a line for each file: names of up to 900 characters, all files."""


class Merge(NamedTuple):
    """What a merge does to the project, or did.

    Attributes:
        summary: a line for each file; empty if there is nothing to merge.
        conflicts: files that both changed; if there are any, nothing is merged.
        before: the tree of the project.
        after: the tree that it gets.
        theirs: the tree of the worktree.
        obstacles: files of the project that git ignores or cannot read, where the merge adds some; if there are any,
            nothing is merged.
        left_out: what a merge does not take over from the worktree, because git ignores or cannot add it.
        unmerged: the tree that the project gets if the merge is taken back, where that is not `before`: a killed kaa
            had begun the same merge. Empty elsewhere.
    """

    summary: str
    conflicts: tuple[str, ...]
    before: str
    after: str
    theirs: str
    obstacles: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    unmerged: str = ""

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do, not even to note that a merge has ended."""
        return self.before == self.after and not self.unmerged


class Standing(NamedTuple):
    """What changed in a worktree since it began.

    Attributes:
        summary: a line with the number of files and lines; empty if nothing changed.
        files: a line for each file that changed, as `git diff --numstat` has it.
        is_merged: whether all of it was merged.
        left_out: what no merge takes over, because git ignores or cannot add it; a path that ends with a slash is a
            directory.
        only_in_commits: what `git merge` of its branch brings and neither a difference nor a merge of kaa's has.
    """

    summary: str
    files: tuple[str, ...]
    is_merged: bool
    left_out: tuple[str, ...]
    only_in_commits: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether there is something to merge."""
        return bool(self.summary) and not self.is_merged


class UnmergedError(WorktreeError):
    """A worktree has work that would be lost with it.

    Args:
        standing: of the worktree.
    """

    def __init__(self, message: str, standing: Standing) -> None:
        super().__init__(message)
        self.standing = standing


class EnteredWorktree(NamedTuple):
    """A worktree to work in.

    Attributes:
        is_new: whether it was created for this.
        left_out: files of the project that should be in it and are not, each with the reason.
    """

    worktree: Worktree
    is_new: bool
    left_out: tuple[str, ...] = ()


class Worktrees:
    """The worktrees of the project that a directory is in.

    Args:
        directory: absolute; it may be in a worktree itself, which then is what is copied and merged into.
        hidden: what git may not read besides what the settings hide in the project, as `SandboxOptions` has it.
        inspect: has the project's guard move away what commands have planted so far; None if none of ours run.

    Attributes:
        project: the directory of which they are made.
        place: the same, or the worktree that the directory is in.

    Raises:
        RootReplacedError: a conversation of this process works in this directory, and something else is there now.
    """

    def __init__(
        self,
        directory: str,
        home: Home,
        environ: Mapping[str, str],
        hidden: Sequence[str] | None = None,
        inspect: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._directory = real_root(directory)
        self.place = inside = project_of(self._directory, environ)
        self._known = {self.place: identity(self.place)}
        worktree = copied_to(inside, environ)
        self.project = inside if worktree is None else worktree.project
        self.registry = WorktreeRegistry(environ, self.project)
        self._hidden = hidden
        self._inspect = inspect
        self._home = home
        self._environ = environ

    async def enter(self, name: str, *, of_agent: bool = False) -> EnteredWorktree:
        """Return the worktree of a name, created if there is none; an empty name means a new one.

        Args:
            of_agent: a new one is for an agent.

        Raises:
            WorktreeError: it cannot be created, or its directory is gone.
        """
        await self._clear_away()
        name = checked(name) if name else self.registry.free_name()
        known = next((one for one in self.registry.all() if one.name == name), None)
        if known is None:
            return await self._create(name, of_agent=of_agent)
        if not known.is_whole:
            if self.registry.is_interrupted(known):
                raise WorktreeError(
                    f"kaa was killed while creating or removing the worktree {name}, and what is left cannot be removed"
                    f" now: `kaa worktrees drop {name}` says why"
                )
            raise held_by_another(name)
        if not known.exists:
            raise WorktreeError(
                f"the directory {known.directory} of the worktree {name} is gone:"
                f" `kaa worktrees drop {name}` forgets it"
            )
        return EnteredWorktree(known, is_new=False)

    def directory_in(self, worktree: Worktree) -> str:
        """Return the directory in a worktree that corresponds to the one in which kaa was started. It is created.

        No link leads to it; `check_place` tells whether that is still so.

        Raises:
            WorktreeError: there is something else, such as a link that a command made.
            OSError: it cannot be created.
        """
        directory = os.path.realpath(worktree.directory)
        for name in Path(os.path.relpath(self._directory, self.place)).parts:
            directory = os.path.join(directory, name)
            with suppress(FileExistsError):
                os.mkdir(directory)
            if os.path.islink(directory) or not os.path.isdir(directory):
                raise _no_directory(directory)
        return directory

    async def difference(self, worktree: Worktree, *options: str) -> str:
        """What changed in a worktree since it began, as git shows it.

        Raises:
            WorktreeError: it cannot be compared.
        """
        async with self._states(worktree) as states:
            tree = await states.snapshot(worktree.directory, worktree.base)
            try:
                return await states.diff(worktree.base, tree, *options)
            except TooMuchError:
                return await _too_long(states.diff(worktree.base, tree, STAT), worktree)

    async def patch(self, worktree: Worktree) -> bytes:
        """Return what changed in a worktree since it began, for `git apply`: all bytes, also of binary files.

        Raises:
            WorktreeError: it cannot be compared, or is too long.
        """
        async with self._states(worktree) as states:
            tree = await states.snapshot(worktree.directory, worktree.base)
            try:
                text = await states.diff(worktree.base, tree, "--binary")
            except TooMuchError as error:
                raise WorktreeError(f"the diff is too long: compare the files in {worktree.directory}") from error
        end = "\n\n" if "\nGIT binary patch\n" in text else "\n"  # a hunk of a binary file ends with an empty line
        return f"{text}{end}".encode("utf-8", "surrogateescape") if text else b""

    async def standing(self, worktree: Worktree) -> Standing:
        """How a worktree compares with what it began as.

        Raises:
            WorktreeError: it cannot be compared.
        """
        async with self._states(worktree) as states:
            tree, left_out = await _work_in(worktree, states)
            found = await states.diff(worktree.base, tree, "--numstat", "--shortstat")
            start, base = worktree.start, worktree.base
            committed = await states.only_in_commits(worktree.branch, start, base, tree) if start else ()
        *files, summary = found.splitlines() or [""]
        is_merged = worktree.merged is not None and worktree.merged.theirs == tree
        return Standing(summary.strip(), tuple(files), is_merged, left_out, committed)

    async def foresee(self, worktree: Worktree, *, undo: bool = False) -> Merge:
        """What merging a worktree into the place would do. Nothing is changed.

        Args:
            undo: take back its last merge instead; what changed since then stays.

        Raises:
            WorktreeError: it cannot be compared, or there was no merge.
        """
        async with self._states(worktree) as states:
            return await _foreseen(states, worktree, self.place, undo=undo)

    async def merge_diff(self, worktree: Worktree, shown: Merge) -> str:
        """Return what a merge would change in the place, as a unified diff.

        Args:
            shown: what `foresee` returned.

        Raises:
            WorktreeError: it cannot be compared.
        """
        async with self._states(worktree) as states:
            try:
                return await states.merge_diff(shown.before, shown.after)
            except TooMuchError:
                return await _too_long(states.merge_diff(shown.before, shown.after, STAT), worktree)

    async def only_in_commits(self, worktree: Worktree) -> tuple[str, ...]:
        """Return what `git merge` of its branch brings and neither a difference nor a merge of kaa's has.

        Raises:
            WorktreeError: git fails.
        """
        if not worktree.start:
            return ()
        async with self._states(worktree) as states:
            tree = await states.snapshot(worktree.directory, worktree.base)
            return await states.only_in_commits(worktree.branch, worktree.start, worktree.base, tree)

    async def merge(self, worktree: Worktree, shown: Merge | None = None, *, undo: bool = False) -> Merge:
        """Merge a worktree into the files of the place; nothing is committed or staged.

        Args:
            shown: what `foresee` returned and somebody agreed to: exactly this is merged, whatever was changed in the
                worktree meanwhile. None merges what there is now.
            undo: take back its last merge instead.

        Raises:
            WorktreeError: files of the place changed since `foresee`, there are conflicts or obstacles, a file cannot
                be written, or as `foresee`. The place stays as it was.
        """
        with self.registry.holding(worktree.name):
            if self.registry.find(worktree.name) != worktree:
                raise WorktreeError(f"another kaa merged the worktree {worktree.name} meanwhile: repeat it")
            return await self._merged(worktree, shown, undo=undo)

    async def _merged(self, worktree: Worktree, shown: Merge | None, *, undo: bool) -> Merge:
        async with self._states(worktree) as states:
            merge = shown or await _foreseen(states, worktree, self.place, undo=undo)
            if merge.conflicts:
                named = ", ".join(map(visible, merge.conflicts))
                raise WorktreeError(
                    f"{named} changed here and in the worktree. Nothing was merged: edit one of the two so that they"
                    " agree, then merge again"
                )
            if merge.is_done:
                return merge
            await self._apply(states, worktree, merge, undo=undo)
            done = None if undo else Merged(self.place, merge.unmerged or merge.before, merge.after, merge.theirs)
            if done is not None:  # until another merge, git must not remove these states
                await states.keep_merge(worktree.name, worktree.base, done.before, done.after)
            elif merge.unmerged:  # what was taken back is a merge after that
                done = worktree.merged
        self.registry.save(msgspec.structs.replace(worktree, merged=done, merging=None, undoing=None))
        return merge

    async def _apply(self, states: States, worktree: Worktree, merge: Merge, *, undo: bool) -> None:
        """Change the files of the place; if kaa is killed meanwhile, the record says so."""
        if merge.before == merge.after:
            return
        if in_the_way := await _obstacles(states, self.place, merge.before, merge.after):
            raise WorktreeError(
                f"{shortened(in_the_way)} would be replaced, and git ignores or cannot read what is there. Nothing"
                " was merged: rename it here or in the worktree, and repeat it"
            )
        self.registry.save(_begun(worktree, merge, self.place, undo=undo))
        try:
            await states.apply(self.place, merge.before, merge.after, _known(worktree, self.place))
        except WorktreeError:  # the place is as it was
            self.registry.save(worktree)
            raise

    async def drop(self, worktree: Worktree, *, force: bool) -> str:
        """Remove a worktree. Returns what stays, in a sentence; empty for nothing.

        Args:
            force: also if it has changes that were not merged.

        Raises:
            UnmergedError: it has such changes, or files that no merge takes over, and is not forced.
            WorktreeError: somebody works in it.
        """
        if not worktree.is_whole and not self.registry.is_interrupted(worktree):
            raise held_by_another(worktree.name)
        if worktree.exists:
            if users := users_of(worktree.directory):
                raise WorktreeError(f"the worktree {worktree.name} is in use by process {', '.join(map(str, users))}")
            if not force and worktree.is_whole:
                _check_clean(worktree, await self.standing(worktree))
        _check_unlocked(worktree)
        _remove_at_once(worktree.directory, str(self.registry.dropped(worktree.name)))
        stays = ""
        if worktree.store:
            _remove(worktree.store)
        elif worktree.start:
            async with self.registry.changing_git(), self._states(worktree) as states:
                _forget_in_git(worktree)
                commit = await states.drop(worktree.name, worktree.branch, worktree.start)
            if commit:
                stays = f"its branch {worktree.branch} stays, because it has its own commits"
        self.registry.forget(worktree.name)
        return stays

    async def _create(self, name: str, *, of_agent: bool) -> EnteredWorktree:
        is_repository = _is_repository(self.project)
        directory, store = self.registry.directory(name), self.registry.store(name)
        begun = Worktree(
            name,
            self.project,
            str(directory),
            base="",
            created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            store="" if is_repository else str(store),
            machine=this_machine(),
            of_agent=of_agent,
        )
        for folder in (directory, *([] if is_repository else [store])):
            _make(folder)
        try:
            with self.registry.holding(name):
                self.registry.save(begun)
                worktree, left_out = await self._filled(begun)
                self.registry.save(worktree)
        except BaseException:
            with suppress(WorktreeError, OSError):  # the next worktree removes what stays
                await self.drop(begun, force=True)
            raise
        TrustStore(self._home).carry_over(self.place, worktree.directory)
        return EnteredWorktree(worktree, is_new=True, left_out=left_out)

    async def _filled(self, begun: Worktree) -> tuple[Worktree, tuple[str, ...]]:
        """Write the files of a new worktree. Returns it, and files of the project that are not in it."""
        async with self._states(begun) as states:
            worktree = await _created(states, begun, self.place, self.registry)
            missing = await states.missing(worktree.directory, worktree.base)
            wanted = {*await states.include(self.place, worktree.directory), *missing}
            hidden = frozenset(path for path in wanted if states.hides(os.path.join(self.place, path)))
        left_out = await put_back(sorted(wanted), self.place, worktree.directory, hidden, self._inspect)
        absent = [path for path in missing if not is_there(worktree.directory, path)]
        if absent:  # else a merge would remove them from the project
            async with self._states(worktree) as states:
                base = await states.without(worktree.base, worktree.directory, absent, is_copy=bool(worktree.store))
                await states.keep(worktree.name, base)
            worktree = msgspec.structs.replace(worktree, base=base)
        return worktree, left_out

    async def _clear_away(self) -> None:
        """Remove the worktrees that a killed kaa was creating or removing: nobody has worked there since."""
        for one in self.registry.all():
            if self.registry.is_interrupted(one):
                with suppress(WorktreeError, OSError):
                    await self.drop(one, force=True)

    @asynccontextmanager
    async def _states(self, worktree: Worktree) -> AsyncIterator[States]:
        """The states of the place and a worktree, in a sandbox that can write both."""
        flags = SandboxFlags("workspace-write", "off", tuple(worktree.own_directories))
        try:
            options = sandbox_options(self._home, flags, self.place)
            # What is hidden where the person works must not come into the copy, nor into git's objects.
            hidden = self._hidden
            if hidden is None and self._directory == self.place:
                hidden = options.hidden
            elif hidden is None:
                hidden = sandbox_options(self._home, flags, self._directory).hidden
            hidden = relocated_hidden(hidden_by_all(options.hidden, hidden), self.place, worktree.directory)
            options = msgspec.structs.replace(options, hidden=hidden)
            env = without_keys(self._environ, self._home)
            with holding(self._known):
                workspace = LocalWorkspace.start(self.place, env=env, sandbox=options)
        except OSError as error:
            raise WorktreeError(error.strerror or str(error)) from error
        try:
            yield States(workspace, worktree.git_directory)
        finally:
            await workspace.close()


def readable(diff: str) -> str:
    """Return a diff for people: bytes that are no UTF-8 as escapes, with a backslash."""
    return diff.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def shortened(paths: Sequence[str]) -> str:
    """Return paths as a list for people, not longer than a screen."""
    return visible(listed(paths, _MOST_PATHS))


async def _too_long(statistics: Awaitable[str], worktree: Worktree) -> str:
    """Return what is shown instead of a difference that is too long: all files, and where they are."""
    return (
        f"{await statistics}\n\nThe diff is too long to be shown. Compare the files in {worktree.directory} with those"
        f" in {worktree.project}."
    )


def users_of(directory: str) -> list[int]:
    """The processes whose current directory is in a directory, as far as the user may know."""
    below = os.path.realpath(directory)
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")) if os.path.isdir("/proc") else ():
        try:
            place = os.readlink(f"/proc/{name}/cwd")
        except OSError:
            continue
        if place == below or place.startswith(f"{below}/"):
            found.append(int(name))
    return found


async def _created(states: States, begun: Worktree, place: str, registry: WorktreeRegistry) -> Worktree:
    if begun.store:
        await states.begin_store()
    tree = await states.snapshot(place)
    head = "" if begun.store else await states.head(place)
    base = await states.commit(tree, head, f"State of the project when the worktree {begun.name} began")
    start = "" if begun.store else head or base
    registry.save(msgspec.structs.replace(begun, start=start))  # from now on there is something in git
    await states.keep(begun.name, base)
    if begun.store:
        await states.fill(begun.directory, tree)
    else:
        async with registry.changing_git():
            await states.add(begun.directory, begun.branch, start, tree)
    return msgspec.structs.replace(begun, base=base, start=start, machine="")


def _begun(worktree: Worktree, merge: Merge, place: str, *, undo: bool) -> Worktree:
    """The record of a worktree while the files of the place change: it has what finishes or takes back half of that."""
    if not undo:
        begun = Merged(place, merge.unmerged or merge.before, merge.after, merge.theirs)
        return msgspec.structs.replace(worktree, merging=begun, undoing=None)
    undoing = Change(merge.before, merge.after)
    if _of(worktree.merging, place) is not None:
        return msgspec.structs.replace(worktree, undoing=undoing)
    return msgspec.structs.replace(worktree, merged=None, merging=worktree.merged, undoing=undoing)


def _of(merged: Merged | None, place: str) -> Merged | None:
    """A merge, if it is one into this place."""
    return merged if merged is not None and merged.into == place else None


async def _foreseen(states: States, worktree: Worktree, place: str, *, undo: bool) -> Merge:
    if place == worktree.directory:
        raise WorktreeError(f"the worktree {worktree.name} cannot be merged into itself: do that in {worktree.project}")
    mine = await states.snapshot(place, *_known(worktree, place))
    merged, begun = _of(worktree.merged, place), _of(worktree.merging, place)
    left_out: tuple[str, ...] = ()
    whole, unmerged = mine, ""
    conflicts: tuple[str, ...] = ()
    if begun is not None:
        change = worktree.undoing or Change(begun.before, begun.after)
        whole = await states.completed(mine, change.before, change.after)
        unmerged, conflicts = (whole, ()) if worktree.undoing else await _without(states, begun, whole)
    if undo:
        last = begun or merged
        if last is None:
            raise WorktreeError(f"the worktree {worktree.name} was not merged here last")
        theirs = last.before
        tree, conflicts = (unmerged, conflicts) if begun is not None else await _without(states, last, mine)
    else:
        base = worktree.base
        theirs, left_out = await _work_in(worktree, states)
        if merged is not None:  # what was merged already is in both
            base = await states.commit(merged.theirs, "", "merged")
        tree, conflicts = await states.merge(base, whole if conflicts else unmerged or mine, theirs)
    summary = await states.merge_diff(mine if undo else unmerged or mine, tree, STAT)
    in_the_way = await _obstacles(states, place, mine, tree)
    return Merge(summary, conflicts, mine, tree, theirs, in_the_way, left_out, unmerged)


async def _without(states: States, merged: Merged, tree: str) -> tuple[str, tuple[str, ...]]:
    """Return a tree without what a merge brought, and the files where that cannot be told apart."""
    return await states.merge(await states.commit(merged.after, "", "after"), tree, merged.before)


async def _work_in(worktree: Worktree, states: States) -> tuple[str, tuple[str, ...]]:
    """Return the tree of a worktree, and what of the work there is not in it."""
    found = await states.look_closely(worktree.directory, worktree.base)
    ignored = await asyncio.to_thread(results, found.ignored, worktree.directory, worktree.project)
    return found.tree, (*found.left_out, *ignored)


def _check_clean(worktree: Worktree, standing: Standing) -> None:
    besides = f"files that git ignores or cannot add: {shortened(standing.left_out)}"
    if standing.is_changed:
        more = f", and {besides}" if standing.left_out else ""
        message = (
            f"the worktree {worktree.name} has changes that are not merged{more}: `kaa worktrees diff {worktree.name}`"
            " shows changes, --force drops all"
        )
        raise UnmergedError(message, standing)
    if standing.left_out:
        message = (
            f"the worktree {worktree.name} has {besides}. No merge takes them over: copy what you need from"
            f" {worktree.directory}; `kaa worktrees drop --force {worktree.name}` removes it"
        )
        raise UnmergedError(message, standing)


def _known(worktree: Worktree, place: str) -> list[str]:
    """Return the states that tell which files of the place count although git ignores them."""
    found = (_of(worktree.merged, place), _of(worktree.merging, place))
    return [worktree.base, *(merged.after for merged in found if merged is not None)]


async def _obstacles(states: States, place: str, before: str, after: str) -> tuple[str, ...]:
    return await asyncio.to_thread(obstacles, place, await states.changes(before, after))


def _remove_at_once(directory: str, aside: str) -> None:
    """Remove a directory so that there is never a half of it under its name.

    Args:
        directory: absolute; it need not exist.
        aside: where it is meanwhile, beside it; what is there already is removed, too.

    Raises:
        WorktreeError: it cannot be removed.
    """
    _remove(aside)
    try:
        with suppress(FileNotFoundError):
            os.rename(directory, aside)
    except OSError as error:
        raise WorktreeError(f"{directory} cannot be removed: {error.strerror}") from error
    _remove(aside)
    if os.path.lexists(aside):
        raise WorktreeError(f"{aside} cannot be removed completely: check its permissions")


def _remove(directory: str) -> None:
    """Remove a directory, whatever commands left in it; what resists stays."""
    with suppress(FileNotFoundError):
        parent = os.open(os.path.dirname(directory), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove_tree(os.path.basename(directory), parent)
        finally:
            os.close(parent)


def _forget_in_git(worktree: Worktree) -> None:
    """Remove what the repository keeps of a worktree that is gone, as `git worktree prune` would.

    In a sandbox git cannot: of `.git/worktrees/NAME` it would remove half, and half of those of the user's own
    worktrees whose disk is not mounted.
    """
    named = f"{worktree.directory}/.git\n".encode()
    with suppress(OSError), ExitStack() as opened:
        repository = os.open(worktree.git_directory, _DIRECTORY)
        opened.callback(os.close, repository)
        entries = os.open("worktrees", _DIRECTORY, dir_fd=repository)
        opened.callback(os.close, entries)
        for name in os.listdir(entries):
            with suppress(OSError):
                if _beginning(f"{name}/gitdir", entries, len(named) + 1) == named:
                    remove_tree(name, entries)


def _beginning(path: str, folder: int, size: int) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.read(file, size)
    finally:
        os.close(file)


def _check_unlocked(worktree: Worktree) -> None:
    """Check that no git changes the branch. What a killed one left long ago is removed with the branch.

    Raises:
        WorktreeError: its lock is new.
    """
    lock = os.path.join(worktree.git_directory, "refs", "heads", f"{worktree.branch}.lock")
    with suppress(OSError):
        age = time.time() - os.lstat(lock).st_mtime
        if worktree.start and age < ABANDONED_MINUTES * 60:
            raise WorktreeError(
                f"git locked the branch {worktree.branch} {max(age, 0):.0f} seconds ago ({lock}): it works on it, or"
                f" was killed. Nothing was removed. {ABANDONED_MINUTES} minutes after that, `kaa worktrees drop"
                f" {worktree.name}` removes the lock; if no git works here, remove it yourself"
            )


def _is_repository(directory: str) -> bool:
    return os.path.lexists(os.path.join(directory, ".git"))


def _make(folder: Path) -> None:
    try:
        folder.parent.mkdir(0o700, parents=True, exist_ok=True)
        folder.mkdir(0o700)
    except FileExistsError as error:
        with suppress(OSError):
            if not folder.is_symlink() and not os.listdir(folder):  # of a kaa that was killed right then
                return
        raise WorktreeError(f"{folder} exists already: choose another name, or remove it") from error
    except OSError as error:
        raise WorktreeError(f"{folder} cannot be created: {error.strerror}") from error


def check_place(directory: str) -> None:
    """Check that what `Worktrees.directory_in` gave is still a directory of the worktree.

    Raises:
        WorktreeError: a command has put a link there meanwhile.
    """
    if os.path.realpath(directory) != directory:
        raise _no_directory(directory)


def _no_directory(directory: str) -> WorktreeError:
    return WorktreeError(f"{directory} is a link or not a directory: remove it, or start kaa in the project")
