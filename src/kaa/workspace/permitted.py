"""What a yes to a call of a file tool gives: one file or directory outside the sandbox, and nothing else there.

A path in the project may lead elsewhere a moment later, because commands can exchange links. So what was approved is
where the path really led, and that is where everything happens, or nowhere: the unconfined workspace follows no links.
"""

import contextlib
import errno
import posixpath
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from kaa.workspace.blocked import Blocked, BlockedError
from kaa.workspace.checkpoints.contract import CheckpointLimits, Checkpoints, Permit
from kaa.workspace.protocol import (
    BackgroundProcess,
    BackgroundProcesses,
    CommandRequest,
    CommandResult,
    DirEntry,
    Expected,
    FileContent,
    FileInfo,
    FindResult,
    LineSlice,
    OnOutput,
    SearchQuery,
    SearchResult,
    Workspace,
)

# What a system answers where no link is to be followed and there is one.
_LINK_ON_THE_WAY = frozenset({errno.ELOOP, errno.ENOTDIR})
# Where the way up ends if nothing on it exists.
_TOPS = frozenset({"", ".", "/", "~"})


class PathLookup(Protocol):
    """A workspace, as far as it is needed to find out where a path leads."""

    async def stat(self, path: str) -> FileInfo | None:
        """What is at `path`, or None."""


class Target(msgspec.Struct, frozen=True):
    """What a call of a file tool is about.

    Attributes:
        path: how the call names it to the workspace.
        real_path: where that leads, absolute and without links.
        writes: the tool may write it.
    """

    path: str
    real_path: str
    writes: bool = False


async def real_path(workspace: PathLookup, path: str) -> str | None:
    """Where a path leads, absolute and without links, whether anything is there or not.

    What may not be looked at counts as missing. None if not even a beginning of the path can be seen.
    """
    here = path
    missing: list[str] = []
    while (info := await _visible(workspace, here or ".")) is None:
        if here in _TOPS:
            return None
        here, name = posixpath.split(here.rstrip("/"))
        missing.insert(0, name)
    if not missing:
        return info.real_path
    found = posixpath.normpath(posixpath.join(info.real_path, *missing))
    # `missing/../link`: whoever makes the directories on the way follows the link then.
    return await real_path(workspace, found) if ".." in missing else found


async def _visible(workspace: PathLookup, path: str) -> FileInfo | None:
    with contextlib.suppress(OSError):
        return await workspace.stat(path)
    return None


class PermittedWorkspace:
    """A workspace in which one path can be used, and nothing else."""

    def __init__(self, unconfined: Workspace, target: Target) -> None:
        self._unconfined = unconfined
        self._target = target

    @property
    def root(self) -> str:
        return self._unconfined.root

    @property
    def is_narrowed(self) -> bool:
        """One path is all there is."""
        return True

    def narrowed(self, *, writable: Sequence[str] | None = None, hosts: Sequence[str] | None = None) -> Workspace:
        """One path cannot be narrowed."""
        raise self._beyond("Narrowing", self.root)

    async def read(self, path: str, offset: int = 0, length: int | None = None) -> FileContent:
        async with self._approved(path, "Reading") as real:
            return await self._unconfined.read(real, offset, length)

    async def read_lines(self, path: str, start: int, max_lines: int, max_bytes: int) -> LineSlice:
        async with self._approved(path, "Reading") as real:
            return await self._unconfined.read_lines(real, start, max_lines, max_bytes)

    async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for path in paths:
            async with self._approved(path, "Reading") as real:
                content = await self._unconfined.read_existing([real], max_bytes)
            found |= dict.fromkeys((path,) if content else (), next(iter(content.values()), b""))
        return found

    async def write(self, path: str, data: bytes, expected: Expected = None, *, executable: bool = False) -> FileInfo:
        if not self._target.writes:
            raise self._beyond("Writing", path)
        async with self._approved(path, "Writing") as real:
            return await self._unconfined.write(real, data, expected, executable=executable)

    async def stat(self, path: str) -> FileInfo | None:
        """What is at the approved path. Nothing else exists here: tools also look for what a path may have meant."""
        return await self._unconfined.stat(self._target.real_path) if path == self._target.path else None

    async def list(self, path: str) -> list[DirEntry]:
        async with self._approved(path, "Listing") as real:
            return await self._unconfined.list(real)

    async def search(self, query: SearchQuery) -> SearchResult:
        async with self._approved(query.path, "Searching") as real:
            return await self._unconfined.search(msgspec.structs.replace(query, path=real))

    async def find(self, pattern: str, path: str = ".", limit: int = 1000) -> FindResult:
        async with self._approved(path, "Searching") as real:
            return await self._unconfined.find(pattern, real, limit)

    async def list_files(self, limit: int = 200_000) -> FindResult:
        """Looking at all files is not permitted."""
        raise self._beyond("Listing", self.root)

    async def run(self, command: CommandRequest, on_output: OnOutput | None = None) -> CommandResult:
        raise self._beyond("Running", command.argv[0])

    async def run_in_background(self, command: CommandRequest) -> BackgroundProcess:
        raise self._beyond("Running", command.argv[0])

    @property
    def processes(self) -> BackgroundProcesses:
        """The same as inside the sandbox."""
        return self._unconfined.processes

    async def keep(self, output: str | bytes, suffix: str = ".log") -> str | None:
        return await self._unconfined.keep(output, suffix)

    def checkpoints(
        self, folder: str, session_id: str, limits: CheckpointLimits, permit: Permit | None = None
    ) -> Checkpoints:
        """Checkpoints are of the whole project."""
        raise self._beyond("Checkpoints of", self.root)

    async def let_go(self) -> None:
        """Nothing is shown to commands here."""

    async def close(self) -> None:
        """Nothing is started here."""

    @contextlib.asynccontextmanager
    async def _approved(self, path: str, doing: str) -> AsyncIterator[str]:
        """The approved real path, if that is where `path` still leads.

        This is looked up to tell what has changed. A link that appears later makes the use of the real path fail.

        Raises:
            BlockedError: it is another path, or leads elsewhere by now.
        """
        if path != self._target.path:
            raise self._beyond(doing, path)
        await self._check(path)
        try:
            yield self._target.real_path
        except OSError as error:
            if error.errno in _LINK_ON_THE_WAY:
                await self._check(path)
            raise

    async def _check(self, path: str) -> None:
        found = await real_path(self._unconfined, path)
        if found != self._target.real_path:
            raise BlockedError(Blocked("write" if self._target.writes else "read", found or path), path)

    def _beyond(self, doing: str, what: str) -> BlockedError:
        return BlockedError(Blocked("outside", f"{doing} {what} where only {self._target.real_path} is allowed"), what)
