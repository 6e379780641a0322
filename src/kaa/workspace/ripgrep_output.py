"""What ripgrep prints, taken in as it comes and only as much of it as is wanted."""

import re

from kaa.workspace.globs import Glob, path_order
from kaa.workspace.protocol import FindResult, SearchLine, SearchQuery, SearchResult

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
        """What was found, sorted."""
        return FindResult(tuple(sorted(self._paths, key=path_order)), limit_reached=self.full, timed_out=timed_out)


def _relative(raw: bytes) -> str:
    return raw.removeprefix(b"./").decode("utf-8", "replace")


def _message(output: bytes) -> str:
    """Ripgrep's own words out of what is no result, without the name of the program and its options."""
    _, found, text = output.decode("utf-8", "replace").partition("rg: ")
    return text.strip() if found else ""
