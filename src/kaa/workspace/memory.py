"""A workspace that lives in memory, for fast tests of whatever uses a workspace.

It behaves as the local one does (the same contract tests run against both), within limits: no symlinks, no
.gitignore, one owner, and patterns are Python's regular expressions instead of Rust's.
"""

import errno
import inspect
import os
import posixpath
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import TypeAlias

import msgspec

from kaa.hands.digest import new_digest
from kaa.hands.lines import slice_lines
from kaa.workspace.background import ProcessTable
from kaa.workspace.blocked import Blocked, BlockedError
from kaa.workspace.checkpoints.contract import CheckpointLimits, FileState, Permit
from kaa.workspace.checkpoints.memory import KeptContents, MemoryCheckpoints
from kaa.workspace.globs import compile_glob, path_order
from kaa.workspace.protocol import (
    Absent,
    BackgroundProcess,
    CommandRequest,
    CommandResult,
    ContentChangedError,
    DirEntry,
    Expected,
    FileContent,
    FileDigest,
    FileInfo,
    FindResult,
    LineSlice,
    NamedFile,
    OnOutput,
    SearchError,
    SearchLine,
    SearchQuery,
    SearchResult,
    WiderError,
)

CommandHandler: TypeAlias = Callable[[CommandRequest], CommandResult | Awaitable[CommandResult]]

_FILE_MODE = 0o644
_DIRECTORY_MODE = 0o755


class _File(msgspec.Struct, frozen=True):
    """A file. `modified_ns` as in `FileInfo`."""

    data: bytes
    mode: int
    modified_ns: int


class MemoryWorkspace:
    """Files in a dictionary, commands answered by a function.

    Args:
        files: contents by path, absolute or relative to `root`.
        root: absolute path of the project.
        commands: answers commands; without it every program is missing (exit code 127).
        home: what `~` stands for.
    """

    def __init__(
        self,
        files: Mapping[str, bytes] | None = None,
        root: str = "/project",
        commands: CommandHandler | None = None,
        home: str = "/home/user",
    ) -> None:
        self._root = posixpath.normpath(root)
        self._home = home
        self._handler = commands
        self._processes = ProcessTable()
        self._files: dict[str, _File] = {}
        self._kept = KeptContents()
        self._writable: tuple[str, ...] | None = None
        self._directories: set[str] = {"/"}
        self._make_directories(self._root)
        for path, data in (files or {}).items():
            self._store(self._absolute(path), data, _FILE_MODE)

    @property
    def root(self) -> str:
        return self._root

    @property
    def is_narrowed(self) -> bool:
        return self._writable is not None

    def narrowed(
        self, *, writable: Sequence[str] | None = None, hosts: Sequence[str] | None = None
    ) -> "MemoryWorkspace":
        """Only the tools for files are held back; there is no network."""
        allowed = (self._root,) if self._writable is None else self._writable
        chosen = allowed if writable is None else tuple(map(self._absolute, writable))
        if wider := [*(path for path in chosen if path not in allowed), *(hosts or ())]:
            raise WiderError(
                f"cannot narrow the workspace: {', '.join(wider)} cannot be chosen."
                f" Choose from {', '.join(allowed) or 'no directory: this workspace is read-only'}."
            )
        narrower = copy(self)
        narrower._writable, narrower._processes = chosen, ProcessTable()
        return narrower

    @property
    def files(self) -> dict[str, bytes]:
        """All contents by absolute path."""
        return {path: file.data for path, file in self._files.items()}

    def erase(self, path: str) -> None:
        """Remove a file, or a directory with everything in it, as a command would."""
        target = self._absolute(path)
        for name in [name for name in self._files if name == target or name.startswith(target + "/")]:
            del self._files[name]
        self._directories -= {name for name in self._directories if name == target or name.startswith(target + "/")}

    async def read(self, path: str, offset: int = 0, length: int | None = None) -> FileContent:
        _refuse_negative(path, offset, length or 0)
        data = self._file(path).data
        piece = data[offset:] if length is None else data[offset : offset + length]
        whole = offset == 0 and len(piece) == len(data)
        return FileContent(piece, len(data), new_digest(data).hexdigest() if whole else None)

    async def read_named(self, path: str, max_bytes: int) -> NamedFile:
        content = await self.read(path, 0, max_bytes)
        return NamedFile(self._absolute(path), content.data, content.size)

    async def list_named(self, path: str) -> list[DirEntry]:
        return await self.list(path)

    async def read_lines(self, path: str, start: int, max_lines: int, max_bytes: int) -> LineSlice:
        _refuse_negative(path, start, max_lines, max_bytes)
        data = self._file(path).data
        position = 0

        def read(size: int) -> bytes:
            nonlocal position
            piece = data[position : position + size]
            position += len(piece)
            return piece

        lines = slice_lines(read, start, max_lines, max_bytes, count=True)
        return LineSlice(lines.data, lines.lines, lines.total_lines, len(data), lines.end_of_file, lines.first_line_cut)

    async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]:
        found = {path: self._files.get(self._absolute(path)) for path in paths}
        return {path: file.data[:max_bytes] for path, file in found.items() if file is not None}

    async def write(self, path: str, data: bytes, expected: Expected = None, *, executable: bool = False) -> FileInfo:
        target = self._absolute(path)
        if target in self._directories:
            raise _os_error(errno.EISDIR, path)
        if self._writable is not None and not any(target.startswith(f"{one}/") for one in self._writable):
            raise BlockedError(Blocked("write", target), path)
        present = self._files.get(target)
        match expected:
            case Absent() if present is not None:
                raise ContentChangedError(errno.EEXIST, "The file already exists", path)
            case FileDigest() if present is None:
                raise ContentChangedError(errno.ENOENT, "The file no longer exists", path)
            case FileDigest(value) if present is not None and new_digest(present.data).hexdigest() != value:
                raise ContentChangedError(errno.ESTALE, "The file was changed since it was read", path)
        mode = _FILE_MODE if present is None else present.mode
        self._store(target, data, mode | 0o111 if executable else mode, shown=path)
        return self._info(target)

    async def put_back(self, path: str, data: bytes, expected: Expected, mode: int) -> None:
        await self.write(path, data, expected)
        target = self._absolute(path)
        self._files[target] = msgspec.structs.replace(self._files[target], mode=mode)

    async def discard(self, copy: str, expected: FileDigest, top: str) -> None:
        if new_digest(self._file(copy).data).hexdigest() != expected.value:
            raise ContentChangedError(errno.ESTALE, "The file was changed", copy)
        del self._files[copy]
        directories = {one for one in self._directories if one == top or one.startswith(f"{top}/")}
        self._directories -= {one for one in directories if not any(path.startswith(f"{one}/") for path in self._files)}

    async def stat(self, path: str) -> FileInfo | None:
        target = self._absolute(path)
        if target not in self._files and target not in self._directories:
            return None
        return self._info(target)

    async def list(self, path: str) -> list[DirEntry]:
        directory = self._directory(path)
        entries = [DirEntry(posixpath.basename(name), "file") for name in self._files if _parent(name) == directory]
        entries += [
            DirEntry(posixpath.basename(name), "directory")
            for name in self._directories
            if name != "/" and _parent(name) == directory
        ]
        return entries

    async def search(self, query: SearchQuery) -> SearchResult:
        pattern = _compile(query)
        negated = query.glob is not None and query.glob.startswith("!")
        glob = compile_glob(query.glob.removeprefix("!")) if query.glob is not None else None
        found: list[SearchLine] = []
        matches = 0
        for name, data in self._files_below(query.path):
            if b"\0" in data or (glob is not None and glob.matches(name) == negated):
                continue
            lines = [line.removesuffix("\r") for line in data.decode("utf-8", "replace").removesuffix("\n").split("\n")]
            hits = [number for number, line in enumerate(lines) if pattern.search(line)] if data else []
            allowed = hits[: query.limit - matches]
            matches += len(allowed)
            found += [
                SearchLine(name, number + 1, line, number in allowed)
                for number, line in enumerate(lines)
                if any(abs(number - hit) <= query.context for hit in allowed)
            ]
            if len(allowed) < len(hits):
                return SearchResult(tuple(found), matches, limit_reached=True)
        return SearchResult(tuple(found), matches)

    async def find(self, pattern: str, path: str = ".", limit: int = 1000) -> FindResult:
        glob = compile_glob(pattern)
        self._directory(path)
        paths = [name for name, _ in self._files_below(path) if glob.matches(name)]
        return FindResult(tuple(paths[:limit]), limit_reached=len(paths) > limit)

    async def list_files(self, limit: int = 200_000) -> FindResult:
        return await self.find("*", limit=limit)

    async def run(self, command: CommandRequest, on_output: OnOutput | None = None) -> CommandResult:
        """`on_output` gets the scripted `tail`."""
        self._directory(command.cwd)
        if self._handler is None:
            message = f"{command.argv[0]}: command not found\n".encode()
            result = CommandResult(127, None, message, len(message), 1)
        else:
            answer = self._handler(command)
            result = await answer if inspect.isawaitable(answer) else answer
        if on_output is not None and result.tail:
            on_output(result.tail)
        return result

    async def run_in_background(self, command: CommandRequest) -> BackgroundProcess:
        without = msgspec.structs.replace(command, terminal=False)
        return self._processes.start(without, lambda one, on_output, _terminal: self.run(one, on_output))

    @property
    def processes(self) -> ProcessTable:
        return self._processes

    async def keep(self, output: str | bytes, suffix: str = ".log") -> str | None:
        path = f"/output/{len(self._files)}{suffix}"
        self._store(path, output if isinstance(output, bytes) else output.encode(errors="replace"), _FILE_MODE)
        return path

    def checkpoints(
        self, folder: str, session_id: str, limits: CheckpointLimits, permit: Permit | None = None
    ) -> MemoryCheckpoints:
        """They are kept as long as this workspace, whatever the folder."""
        return MemoryCheckpoints(self._kept, self._snapshot, self._put_back)

    async def let_go(self) -> None:
        """Nothing is held here."""

    async def close(self) -> None:
        """Stop what the handler of commands has not answered yet."""
        await self._processes.close()

    def _absolute(self, path: str) -> str:
        if not path:
            raise FileNotFoundError(errno.ENOENT, "The path is empty", path)
        if "\0" in path:
            raise OSError(errno.EINVAL, "The path has a null character", path)
        if path == "~" or path.startswith("~/"):
            path = self._home + path[1:]
        return posixpath.normpath(posixpath.join(self._root, path))

    def _file(self, path: str) -> _File:
        target = self._absolute(path)
        if target in self._directories:
            raise _os_error(errno.EISDIR, path)
        if target not in self._files:
            raise _os_error(errno.ENOTDIR if self._below_a_file(target) else errno.ENOENT, path)
        return self._files[target]

    def _directory(self, path: str) -> str:
        target = self._absolute(path)
        if target in self._directories:
            return target
        not_a_directory = target in self._files or self._below_a_file(target)
        raise _os_error(errno.ENOTDIR if not_a_directory else errno.ENOENT, path)

    def _below_a_file(self, target: str) -> bool:
        return any(target.startswith(name + "/") for name in self._files)

    def _files_below(self, path: str) -> Iterator[tuple[str, bytes]]:
        """Relative path and content of the files to search, in order, `.git` left out."""
        target = self._absolute(path)
        if target in self._files:
            yield posixpath.basename(target), self._files[target].data
            return
        prefix = self._directory(path).rstrip("/") + "/"
        names = [name.removeprefix(prefix) for name in self._files if name.startswith(prefix)]
        for name in sorted(names, key=path_order):
            if ".git" not in name.split("/"):
                yield name, self._files[prefix + name].data

    def _store(self, target: str, data: bytes, mode: int, shown: str | None = None) -> None:
        if self._below_a_file(target):
            raise _os_error(errno.ENOTDIR, shown or target)
        self._make_directories(_parent(target))
        self._files[target] = _File(bytes(data), mode, time.time_ns())

    def _make_directories(self, path: str) -> None:
        while path not in self._directories:
            self._directories.add(path)
            path = _parent(path)

    def _snapshot(self) -> dict[str, tuple[FileState, bytes]]:
        """Everything in the project, `.git` left out."""
        prefix = self._root.rstrip("/") + "/"
        found = {path: (FileState("directory", mode=_DIRECTORY_MODE), b"") for path in self._directories}
        for path, file in self._files.items():
            found[path] = (FileState("file", new_digest(file.data).hexdigest(), file.mode, len(file.data)), file.data)
        return {
            path.removeprefix(prefix): kept
            for path, kept in found.items()
            if path.startswith(prefix) and ".git" not in path.split("/")
        }

    def _put_back(self, path: str, state: FileState | None, data: bytes) -> bool:
        """Make a path what it is to be; False if a file is where a directory would have to be."""
        target = self._absolute(path)
        if state is not None and self._below_a_file(target):
            return False
        if state is not None and state.kind == "directory":
            self._make_directories(target)
        elif state is not None:
            self._store(target, data, state.mode)
        elif target in self._files:
            del self._files[target]
        elif not any(name.startswith(target + "/") for name in (*self._files, *self._directories)):
            self._directories.discard(target)
        return True

    def _info(self, target: str) -> FileInfo:
        file = self._files.get(target)
        if file is None:
            return FileInfo(target, target, "directory", 0, _DIRECTORY_MODE, 0)
        return FileInfo(target, target, "file", len(file.data), file.mode, file.modified_ns)


def _parent(path: str) -> str:
    return posixpath.dirname(path)


def _os_error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def _refuse_negative(path: str, *numbers: int) -> None:
    if any(number < 0 for number in numbers):
        raise OSError(errno.EINVAL, "A position or a size is negative", path)


def _compile(query: SearchQuery) -> re.Pattern[str]:
    pattern = re.escape(query.pattern) if query.literal else query.pattern
    try:
        return re.compile(pattern, re.IGNORECASE if query.ignore_case else 0)
    except re.error as error:
        raise SearchError(f"The pattern is not a valid regular expression: {error}.") from error
