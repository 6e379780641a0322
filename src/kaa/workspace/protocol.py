"""The boundary through which every tool touches a project.

Paths are strings as the model or the user wrote them: absolute, `~`-prefixed, or relative to `root`.
Errors of the operating system arrive as the usual `OSError` subclasses with `filename` set.
Names are decoded as `os.fsdecode` does, except in listings and search results, which are made to be shown:
there, bytes that are not UTF-8 become U+FFFD.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec

from kaa.workspace.blocked import Blocked

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    from kaa.workspace.checkpoints.contract import CheckpointLimits, Checkpoints, Permit

# What a command outside the sandbox does with links in directories that commands in it can write: follow them, follow
# none where the user has the right to forbid it, or not run where it would follow one.
Links: TypeAlias = Literal["followed", "avoided", "refused"]
# Where such a command starts: in the project, and may load code from there; in the project, where Python loads no code
# from; or in the user's home.
Start: TypeAlias = Literal["trusting", "project", "home"]
EntryKind = Literal["file", "directory", "symlink", "other"]
KINDS: dict[str, EntryKind] = {"f": "file", "d": "directory", "s": "symlink", "o": "other"}
"""By the letters with which the hands say them."""


class FileInfo(msgspec.Struct, frozen=True):
    """What `stat` knows. For a symlink, of its target. `path` is absolute; `real_path` has every symlink resolved.

    After a write, `outside` is a line that says where the user finds a file in the private /tmp.
    """

    path: str
    real_path: str
    kind: EntryKind
    size: int
    mode: int
    modified_ns: int
    outside: str = ""


class FileContent(msgspec.Struct, frozen=True):
    """A piece of a file.

    Attributes:
        data: the bytes read.
        size: size of the whole file in bytes.
        digest: of the whole file, for `FileDigest`; only when the whole file was read.
    """

    data: bytes
    size: int
    digest: str | None


class NamedFile(msgspec.Struct, frozen=True):
    """A file that the user named.

    Attributes:
        size: of the whole file in bytes.
        is_secret: whether commands may not read it because it is known to hold secrets.
    """

    real_path: str
    data: bytes
    size: int
    is_secret: bool = False


class LineSlice(msgspec.Struct, frozen=True):
    """Whole lines of a file.

    Attributes:
        data: whole lines with their endings, undecoded.
        lines: how many lines `data` holds.
        total_lines: lines in the whole file, None when the file is too large to count.
        size: size of the whole file in bytes.
        end_of_file: nothing follows `data`.
        first_line_cut: the first line is longer than `max_bytes`; `data` is empty then.
    """

    data: bytes
    lines: int
    total_lines: int | None
    size: int
    end_of_file: bool
    first_line_cut: bool = False


class DirEntry(msgspec.Struct, frozen=True):
    """One name in a directory. A symlink to a directory has kind `directory`."""

    name: str
    kind: EntryKind


class Absent(msgspec.Struct, frozen=True):
    """Expectation that no file exists yet."""


class FileDigest(msgspec.Struct, frozen=True):
    """Expectation that the file still has the content with this digest, which `read` gave."""

    value: str


Expected: TypeAlias = Absent | FileDigest | None


class ContentChangedError(OSError):
    """The file is not as it was expected to be; nothing was written."""


class WorkspaceUnavailableError(OSError):
    """The process behind the workspace is gone or does not answer. It is started again by the next call."""


class WiderError(ValueError):
    """A workspace was to be narrowed to something that it does not allow itself; the message says to what."""


class SearchError(ValueError):
    """A pattern cannot be searched for; the message says what is wrong with it."""


class SearchQuery(msgspec.Struct, frozen=True):
    """A search for a regular expression (Rust syntax) or a literal text in files.

    Attributes:
        path: a file or a directory; hidden files are searched, ignored files and `.git` are not.
        glob: only files whose name (with a `/` in it: whose path) matches; with a leading `!`, only the others.
        context: lines shown before and after each match.
        limit: matches at most, over all files.
    """

    pattern: str
    path: str = "."
    glob: str | None = None
    ignore_case: bool = False
    literal: bool = False
    context: int = 0
    limit: int = 100


class SearchLine(msgspec.Struct, frozen=True):
    """One line of a search result, without its line ending. `path` is relative to the searched directory."""

    path: str
    line_number: int
    text: str
    is_match: bool


class SearchResult(msgspec.Struct, frozen=True):
    """Lines found. `limit_reached`: there are more matches. `timed_out`: the time limit ended the search."""

    lines: tuple[SearchLine, ...]
    matches: int
    limit_reached: bool = False
    timed_out: bool = False


class FindResult(msgspec.Struct, frozen=True):
    """Paths of files found, relative to the searched directory, sorted directory by directory."""

    paths: tuple[str, ...]
    limit_reached: bool = False
    timed_out: bool = False


class CommandRequest(msgspec.Struct, frozen=True):
    """A command to run.

    Attributes:
        argv: program and arguments; no shell is involved unless argv names one.
        cwd: directory, relative to the root.
        env: variables added to (or, with None, removed from) the workspace's environment.
        timeout: seconds; None for no limit.
        tail_bytes: how much of the end of the output `CommandResult.tail` keeps.
        spill: keep the whole output in a file when it is larger than `tail_bytes`.
        spill_lines: keep it in a file also when it has more lines than this.
        carries_findings: whether its result says what the guard found while it ran. Not for kaa's own questions and
            processes in the background: their results are read late or never, so the user is told at once.
        finds_installed: it finds programs that earlier commands installed for the user. Not for hooks and for what kaa
            runs by itself: a program of the user's that is missing must not be the model's.
        terminal: in the background, its standard streams are a terminal, so that input can be written to it.
    """

    argv: Sequence[str]
    cwd: str = "."
    env: Mapping[str, str | None] = {}
    timeout: float | None = None
    tail_bytes: int = 64 * 1024
    spill: bool = True
    spill_lines: int | None = None
    carries_findings: bool = True
    finds_installed: bool = True
    terminal: bool = False


class CommandResult(msgspec.Struct, frozen=True):
    """How a command ended.

    Attributes:
        exit_code: None if a signal ended it.
        signal: number of the signal that ended it.
        tail: the last `tail_bytes` of stdout and stderr together.
        output_bytes: size of the whole output.
        output_lines: line feeds in the whole output, plus one if the last line is not terminated.
        log_path: where the whole output is, if it was kept in a file.
        log_cut: that file has only the beginning, as the output was too long even for it.
        leftovers: background processes that were still running and were stopped.
        duration: seconds.
        blocked: what the sandbox stopped, as far as it is known.
        missed: what the sandbox stopped in a command that ended well nevertheless, or that was of no use.
        told_user: what the guard found that belongs to no result, since the last result that had this. For the model
            to know, and no fault of the command.
        outside: lines that say where the user finds files in the private /tmp that the command named.
    """

    exit_code: int | None
    signal: int | None
    tail: bytes
    output_bytes: int
    output_lines: int
    log_path: str | None = None
    log_cut: bool = False
    timed_out: bool = False
    leftovers: int = 0
    duration: float = 0.0
    blocked: tuple[Blocked, ...] = ()
    missed: tuple[Blocked, ...] = ()
    told_user: tuple[Blocked, ...] = ()
    outside: tuple[str, ...] = ()


OnOutput: TypeAlias = Callable[[bytes], None]
# `ended` by itself, by a signal or by its timeout; `stopped` because somebody asked for it; `failed` to start.
BackgroundState: TypeAlias = Literal["running", "ended", "stopped", "failed"]


class NoSuchProcessError(LookupError):
    """No background process has this number; the message says which there are."""


class TooManyProcessesError(OSError):
    """As many background processes as are allowed are running."""


class BackgroundProcess(msgspec.Struct, frozen=True):
    """A command in the background, as it is at the moment.

    Attributes:
        id: from 1 on, never given twice.
        output_bytes: size of the output so far.
        seconds: how long it has been running, or ran.
        log_path: where the whole output is, if it was too long to keep in memory.
        result: how it ended, if it has `ended`.
        error: why it `failed`.
        blocked: what the sandbox stopped, as far as it is known.
        missed: hosts that the command was kept from and did without, as it ended well.
    """

    id: int
    command: CommandRequest
    state: BackgroundState
    output_bytes: int = 0
    seconds: float = 0.0
    log_path: str | None = None
    result: CommandResult | None = None
    error: str | None = None
    blocked: tuple[Blocked, ...] = ()


class BackgroundOutput(msgspec.Struct, frozen=True):
    """A part of what a background process printed: bytes `start` to `end` of it all, where `end` is all so far."""

    data: bytes
    start: int
    end: int


class BackgroundProcesses(Protocol):
    """What runs in the background, or did; of what has ended, the latest are remembered."""

    def list(self) -> tuple[BackgroundProcess, ...]:
        """All that are known, in the order they were started."""

    def watch(self, changed: Callable[[BackgroundProcess], None]) -> Callable[[], None]:
        """Call `changed` with each process that begins and each that ends. Returns a function that ends this."""

    def output(self, process_id: int, position: int = 0) -> BackgroundOutput:
        """The output from a position on. Starts later if that is no longer kept.

        Raises:
            NoSuchProcessError: there is none.
        """

    async def wait(self, process_id: int, seconds: float, beyond: int | None = None) -> BackgroundProcess:
        """Wait for a process to end, for so many seconds at most. Raises as `output` does.

        Args:
            process_id: its number.
            seconds: to wait at most.
            beyond: it also suffices if there is output beyond this position.
        """

    async def write(self, process_id: int, data: bytes) -> bool:
        """Write input to the terminal of a process. Returns False if it takes none. Raises as `output` does."""

    async def stop(self, process_id: int) -> BackgroundProcess:
        """Stop its whole tree, TERM, then KILL after a grace period. Raises as `output` does."""


@runtime_checkable
class NamedFiles(Protocol):
    """Reads files that the user named. No part of `Workspace`, which tools use: models name no file like this."""

    @property
    def root(self) -> str:
        """Absolute path of the directory that relative paths start from."""

    async def read_named(self, path: str, max_bytes: int) -> NamedFile:
        """Read the beginning of a file with the user's rights.

        Raises:
            OSError: says why it cannot be read; `FileNotFoundError` only if there is nothing.
        """

    async def list_named(self, path: str) -> list[DirEntry]:
        """What is in a directory, with the user's rights, to complete what the user types.

        Raises:
            OSError: it cannot be listed.
        """


class PipedProgram(Protocol):
    """A program that runs and talks to kaa.

    Attributes:
        reader: its standard output; lines have at most 16 MiB.
    """

    @property
    def reader(self) -> "StreamReader": ...

    @property
    def writer(self) -> "StreamWriter": ...

    async def ending(self) -> str:
        """Wait for its end, and say how it ended, in words that follow a colon."""


@runtime_checkable
class ClosedPrograms(Protocol):
    """Runs programs without a project, a home, a network or keys. No part of `Workspace`: few have use for it."""

    def closed_program(self, script: str) -> AbstractAsyncContextManager[PipedProgram]:
        """Run a Python script of kaa's that imports only the standard library. Leaving the context ends it.

        Args:
            script: its file; it can read the folder that this is in.

        Raises:
            OSError: it cannot be started; the message says why.
        """


@runtime_checkable
class PipedPrograms(Protocol):
    """Runs commands that talk to kaa. No part of `Workspace`, as above."""

    def piped_program(self, command: CommandRequest) -> AbstractAsyncContextManager[PipedProgram]:
        """Run a command whose standard input and output kaa has. It may do what commands may; leaving ends it.

        Args:
            command: what concerns its output has no effect. That it cannot be run is said by `ending`.
        """


class FedStreams(NamedTuple):
    """What a command reads, and how much of what it prints is kept.

    Attributes:
        most_output: of its standard output, in bytes.
        most_errors: of its standard error, in bytes.
    """

    given: bytes
    most_output: int
    most_errors: int


class FedResult(NamedTuple):
    """How a command ended that was given an input.

    Attributes:
        exit_code: 128 and the number of the signal if one ended it, as in a shell.
        output: what it printed to its standard output.
        errors: what it printed to its standard error.
        blocked: what the sandbox stopped, according to its errors.
    """

    exit_code: int
    output: bytes
    errors: bytes
    timed_out: bool = False
    blocked: tuple[Blocked, ...] = ()


@runtime_checkable
class FedCommands(Protocol):
    """Runs commands with an input, and with their streams apart. No part of `Workspace`, as above."""

    async def run_fed(self, command: CommandRequest, streams: FedStreams) -> FedResult:
        """Run a command to its end. No other command can read or change what goes through its streams.

        Args:
            command: what concerns its output has no effect.
            streams: its input, and the limits of its outputs.

        Raises:
            OSError: it cannot be run.
        """


class Workspace(Protocol):
    """A project's files and commands."""

    @property
    def root(self) -> str:
        """Absolute path of the directory that relative paths start from."""

    @property
    def is_narrowed(self) -> bool:
        """Whether `narrowed` made it: then nobody can lift its limits, not even the user's yes."""

    def narrowed(self, *, writable: Sequence[str] | None = None, hosts: Sequence[str] | None = None) -> "Workspace":
        """The same project with fewer rights, for files and commands alike. Close it before this one.

        Its background processes are its own.

        Args:
            writable: the directories that may be written: of those that this workspace may write, but none that lies
                in another one of them. An empty sequence makes it read-only; None leaves all.
            hosts: what commands may reach, each as `--net` takes it; an empty sequence is `off`, None leaves all.

        Raises:
            WiderError: this workspace does not allow something of it.
            OSError: it cannot be opened.
        """

    async def read(self, path: str, offset: int = 0, length: int | None = None) -> FileContent:
        """Read bytes. Only the slice is touched. Refuses anything but a regular file."""

    async def read_lines(self, path: str, start: int, max_lines: int, max_bytes: int) -> LineSlice:
        """Read up to `max_lines` whole lines and `max_bytes` bytes from line `start` (from 1) on."""

    async def read_existing(self, paths: Sequence[str], max_bytes: int) -> dict[str, bytes]:
        """The first `max_bytes` of each of `paths` that is a readable regular file, in one round trip."""

    async def write(self, path: str, data: bytes, expected: Expected = None, *, executable: bool = False) -> FileInfo:
        """Replace a file's content atomically, creating parents; mode and symlinks stay.

        Args:
            expected: what must be there before.
            executable: whoever may read the file may execute it.

        Raises:
            BlockedError: the sandbox does not let it be written.
            ContentChangedError: the file is not as expected.
        """

    async def stat(self, path: str) -> FileInfo | None:
        """What is at `path`, or None."""

    async def list(self, path: str) -> list[DirEntry]:
        """The names in a directory, unsorted."""

    async def search(self, query: SearchQuery) -> SearchResult:
        """Search file contents, respecting .gitignore. Results are sorted, so the same search gives the same answer.

        Raises:
            SearchError: the pattern or the glob is malformed.
        """

    async def find(self, pattern: str, path: str = ".", limit: int = 1000) -> FindResult:
        """Find files whose name, or with a `/` in the pattern whose path, matches a glob, respecting .gitignore.

        `*` and `?` do not match `/`, `**` matches any directories, `[...]` and `{a,b}` work as in a shell. A pattern
        with a `/` may start at any depth, one with a leading `/` only at `path`.

        Raises:
            SearchError: the glob is malformed.
        """

    async def list_files(self, limit: int = 200_000) -> FindResult:
        """All files of the project, respecting .gitignore, for an index: many, in an order of ripgrep's own.

        The paths come piecemeal, so that an event loop goes on meanwhile.
        """

    async def run(self, command: CommandRequest, on_output: OnOutput | None = None) -> CommandResult:
        """Run a command to its end. `on_output` gets stdout and stderr, merged, as it comes.

        A program that cannot be started is no error: exit code 127 or 126 and a message, as from a shell. Cancelling
        (or an exception from `on_output`) stops the whole process tree, TERM, then KILL after a grace period, before
        it is raised here.
        """

    async def run_in_background(self, command: CommandRequest) -> BackgroundProcess:
        """Run a command in the background: until it ends, is stopped, or the workspace is closed.

        That it cannot be run is said by the process, once it is known.

        Raises:
            TooManyProcessesError: stop one first.
        """

    @property
    def processes(self) -> BackgroundProcesses:
        """What was started in the background."""

    async def keep(self, output: str | bytes, suffix: str = ".log") -> str | None:
        """Keep a long output for a week in a file that tools can read. Returns its path; None if there is no place.

        Args:
            output: is kept; bytes as they are, a text as UTF-8.
        """

    def checkpoints(
        self, folder: str, session_id: str, limits: "CheckpointLimits", permit: "Permit | None" = None
    ) -> "Checkpoints":
        """What turns of a session change, so that it can be taken back. Nothing is done before its `begin`.

        Args:
            folder: where everything of this project is kept; created when needed.
            permit: asked before much is copied; None permits it.
        """

    async def let_go(self) -> None:
        """Stop showing commands what the user has removed: until then it keeps its space on the disk."""

    async def close(self) -> None:
        """Stop everything that still runs."""
