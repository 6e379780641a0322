"""The workspace on this machine: files and commands by way of the hands, searches by way of ripgrep."""

import errno
import os
import time
from collections.abc import Mapping, Sequence

import msgspec

from kaa.workspace.channel import parse
from kaa.workspace.commands import CommandRunner
from kaa.workspace.environment import command_environment
from kaa.workspace.file_requests import FileRequests
from kaa.workspace.hands import Hands
from kaa.workspace.launch import LaunchedHands
from kaa.workspace.output import OutputCollector
from kaa.workspace.protocol import (
    Absent,
    Command,
    CommandResult,
    Digest,
    DirEntry,
    EntryKind,
    Expected,
    FileContent,
    FileInfo,
    FindResult,
    LineSlice,
    OnOutput,
    SearchQuery,
    SearchResult,
)
from kaa.workspace.ripgrep import Ripgrep

_KINDS: dict[bytes, EntryKind] = {b"f": "file", b"d": "directory", b"s": "symlink", b"o": "other"}


class _ReadReply(msgspec.Struct, frozen=True):
    size: int
    digest: str | None


class _LinesReply(msgspec.Struct, frozen=True):
    lines: int
    total_lines: int | None
    size: int
    end_of_file: bool
    first_line_cut: bool


class _ExistingReply(msgspec.Struct, frozen=True):
    lengths: tuple[int | None, ...]


class _InfoReply(msgspec.Struct, frozen=True):
    info: FileInfo | None


class LocalWorkspace:
    """A project on this machine. Use `start`.

    All calls must come from one event loop.
    """

    def __init__(self, root: str, environment: Mapping[str, str], hands: Hands) -> None:
        self._root = root
        self._environment = environment
        self._hands = hands
        self._files = FileRequests(hands)
        self._runner = CommandRunner(hands)
        self._ripgrep = Ripgrep(self._runner, environment)

    @classmethod
    def start(
        cls, root: str, *, env: Mapping[str, str] | None = None, launched: LaunchedHands | None = None
    ) -> "LocalWorkspace":
        """Start the hands for a project, without waiting for them. Needs no event loop yet.

        Args:
            root: the project's directory.
            env: kaa's own environment, from which that of commands is made; the process's if None.
            launched: hands that were started before; None starts them.
        """
        own = os.environ if env is None else env
        root = os.path.abspath(root)
        hands = Hands(root, own.get("HOME") or os.path.expanduser("~"))
        hands.start(launched)
        return cls(root, command_environment(own), hands)

    @property
    def root(self) -> str:
        """Absolute path of the directory that relative paths start from."""
        return self._root

    async def read(self, path: str, offset: int = 0, length: int | None = None) -> FileContent:
        """See `Workspace.read`."""
        frame = await self._files.call(path, {"op": "read", "path": path, "offset": offset, "length": length})
        reply = parse(frame.header, _ReadReply)
        return FileContent(frame.body, reply.size, reply.digest)

    async def read_lines(self, path: str, start: int, max_lines: int, max_bytes: int) -> LineSlice:
        """See `Workspace.read_lines`."""
        limits = {"start": start, "max_lines": max_lines, "max_bytes": max_bytes}
        frame = await self._files.call(path, {"op": "read_lines", "path": path, **limits})
        reply = parse(frame.header, _LinesReply)
        return LineSlice(
            frame.body, reply.lines, reply.total_lines, reply.size, reply.end_of_file, reply.first_line_cut
        )

    async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]:
        """See `Workspace.read_existing`."""
        frame = await self._files.call(
            self._root, {"op": "read_existing", "paths": list(paths), "max_bytes": max_bytes}
        )
        found: dict[str, bytes] = {}
        offset = 0
        for path, length in zip(paths, parse(frame.header, _ExistingReply).lengths, strict=False):
            if length is not None:
                found[path] = frame.body[offset : offset + length]
                offset += length
        return found

    async def write(self, path: str, data: bytes, expected: Expected = None) -> FileInfo:
        """See `Workspace.write`."""
        request: dict[str, object] = {"op": "write", "path": path}
        match expected:
            case Absent():
                request["absent"] = True
            case Digest(sha256):
                request["digest"] = sha256
        frame = await self._files.call(path, request, data)
        info = parse(frame.header, _InfoReply).info
        if info is None:
            raise FileNotFoundError(f"{path} was written, but removed right after.")
        return info

    async def stat(self, path: str) -> FileInfo | None:
        """See `Workspace.stat`."""
        frame = await self._files.call(path, {"op": "stat", "path": path})
        return parse(frame.header, _InfoReply).info

    async def list(self, path: str) -> list[DirEntry]:
        """See `Workspace.list`."""
        frame = await self._files.call(path, {"op": "list", "path": path})
        records = frame.body.split(b"\0")[:-1]
        return [DirEntry(record[1:].decode("utf-8", "replace"), _KINDS.get(record[:1], "other")) for record in records]

    async def search(self, query: SearchQuery) -> SearchResult:
        """See `Workspace.search`."""
        info = await self._existing(query.path)
        return await self._ripgrep.search(query, info)

    async def find(self, pattern: str, path: str = ".", limit: int = 1000) -> FindResult:
        """See `Workspace.find`."""
        return await self._ripgrep.find(pattern, path, limit)

    async def run(self, command: Command, on_output: OnOutput | None = None) -> CommandResult:
        """See `Workspace.run`."""
        output = OutputCollector(
            command.tail_bytes, spill=command.spill, spill_lines=command.spill_lines, on_output=on_output
        )
        started = time.monotonic()
        try:
            ending = await self._runner.run(
                command.argv,
                cwd=command.cwd,
                env=_changed(self._environment, command.env),
                timeout=command.timeout,
                output=output.feed,
            )
        finally:
            output.close()
        return CommandResult(
            exit_code=ending.exit_code,
            signal=ending.signal,
            tail=output.tail,
            output_bytes=output.size,
            output_lines=output.lines,
            log_path=output.log_path,
            log_cut=output.log_cut,
            timed_out=ending.timed_out,
            leftovers=ending.leftovers,
            duration=time.monotonic() - started,
        )

    async def close(self) -> None:
        """Stop everything that still runs and the hands themselves."""
        await self._runner.close()
        self._files.close()
        await self._hands.close()

    async def _existing(self, path: str) -> FileInfo:
        info = await self.stat(path)
        if info is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return info


def _changed(environment: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """An environment with variables set or, with None, removed."""
    merged = {**environment, **changes}
    return {name: value for name, value in merged.items() if value is not None}
