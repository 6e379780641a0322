"""The paths of a project, to complete what a person types: gathered in the background, and again when they are old."""

import asyncio
import contextlib
import posixpath
import time

import msgspec

from kaa.workspace.protocol import NamedFiles, Workspace

# More would not be found by typing either; ripgrep lists so many in half a second.
_MAX_FILES = 200_000
# Files that somebody else made are missed for so long at most.
_FRESH_SECONDS = 10.0


class FileListing(msgspec.Struct, frozen=True):
    """What the index knows.

    Attributes:
        paths: relative to the project's root; directories end with a slash and come before what is in them.
        complete: these are all; otherwise there are more than an index holds, or there was no time to find them.
        version: counts listings that differ, from 1; 0 is the empty one before the first.
    """

    paths: tuple[str, ...] = ()
    complete: bool = False
    version: int = 0


class FileIndex:
    """The files and directories of a project that are not ignored. All calls must come from one event loop."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._listing = FileListing()
        self._listed: float | None = None  # when, by the monotonic clock
        self._gathering: asyncio.Task[None] | None = None
        self._outdated = True

    @property
    def listing(self) -> FileListing:
        """What is known now. May be read from any thread."""
        return self._listing

    def invalidate(self) -> None:
        """Something was written: what is known may be wrong."""
        self._outdated = True

    def prepare(self) -> None:
        """Begin to gather, unless what is known is fresh. Returns at once."""
        if not self._is_fresh() and self._gathering is None:
            self._outdated = False  # what is written from now on is not seen for sure
            self._gathering = asyncio.get_running_loop().create_task(self._gather())

    async def refresh(self) -> FileListing:
        """The paths as they are now, or were a few seconds ago if nothing is known to have changed.

        Where they cannot be gathered, what was known before.
        """
        self.prepare()
        if self._gathering is not None:
            await asyncio.wait([self._gathering])
        return self._listing

    async def complete_path(self, typed: str) -> tuple[str, ...]:
        """Paths that begin as `typed` does, which may be outside the project: `./`, `../`, `~/`, `/etc/`.

        Returns:
            Sorted, as they would be typed; directories end with a slash. Hidden ones only if a dot was typed.
        """
        folder, slash, begun = typed.rpartition("/")
        try:
            directory = (folder or slash) if slash else "."
            if isinstance(self._workspace, NamedFiles) and directory.startswith(("/", "~", "..")):
                entries = await self._workspace.list_named(directory)
            else:
                entries = await self._workspace.list(directory)
        except OSError:  # nothing is there, or it may not be seen
            return ()
        found = [
            f"{folder}{slash}{entry.name}{'/' if entry.kind == 'directory' else ''}"
            for entry in entries
            if entry.name.startswith(begun) and (begun.startswith(".") or not entry.name.startswith("."))
        ]
        return tuple(sorted(found))

    async def close(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            await asyncio.wait([self._gathering])

    def _is_fresh(self) -> bool:
        return not self._outdated and self._listed is not None and time.monotonic() - self._listed < _FRESH_SECONDS

    async def _gather(self) -> None:
        try:
            with contextlib.suppress(OSError):  # the project's directory is gone, or the hands are
                found = await self._workspace.list_files(_MAX_FILES)
                # In a thread: among 100,000 paths it takes long enough to be felt.
                paths = await asyncio.to_thread(_with_directories, found.paths)
                self._listed = time.monotonic()
                complete = not found.limit_reached and not found.timed_out
                if paths != self._listing.paths or complete != self._listing.complete or not self._listing.version:
                    self._listing = FileListing(paths, complete, self._listing.version + 1)
        finally:
            self._gathering = None


def _with_directories(files: tuple[str, ...]) -> tuple[str, ...]:
    """The files, with each directory before the first file in it."""
    known: set[str] = {""}
    paths: list[str] = []
    for file in files:
        directory = posixpath.dirname(file)
        if directory not in known:
            missing = []
            while directory not in known:
                known.add(directory)
                missing.append(f"{directory}/")
                directory = posixpath.dirname(directory)
            paths += reversed(missing)
        paths.append(file)
    return tuple(paths)
