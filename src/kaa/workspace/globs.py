"""File globs, as people write them for find and grep: which relative paths does a pattern mean?

The syntax is that of ripgrep and fd. We compile it ourselves because ripgrep's own `--glob` overrides .gitignore.
"""

import re

import msgspec

from kaa.workspace.protocol import SearchError


class Glob(msgspec.Struct, frozen=True):
    """A compiled pattern.

    Attributes:
        name_pattern: a glob for the last component of every path that may match; None if it says nothing of it.
        name_only: `name_pattern` says everything.
        regex: matches the whole relative path.
    """

    name_pattern: str | None
    name_only: bool
    regex: re.Pattern[str]

    def matches(self, path: str) -> bool:
        """Whether a path, relative to the searched directory, matches."""
        return self.regex.fullmatch(path) is not None


def compile_glob(pattern: str) -> Glob:
    """Compile a glob.

    Without a `/` it matches the name of a file at any depth. With one it matches the path, starting at any depth;
    a leading `/` ties it to the searched directory.

    Raises:
        SearchError: the pattern is empty or a bracket or brace is not closed.
    """
    relative = pattern.removeprefix("./")
    anchored = relative.startswith("/")
    relative = relative.lstrip("/")
    if not relative:
        raise SearchError(f"The glob {pattern!r} is empty; use a pattern such as *.py or src/**/*.py.")
    body = _Translation(relative, pattern).regex()
    prefix = "" if anchored else "(?:.*/)?"
    name = relative.rpartition("/")[2]
    tied_to_name = not _spans_components(name, relative)
    return Glob(
        name_pattern=name if tied_to_name else None,
        name_only=tied_to_name and name == relative and not anchored,
        regex=re.compile(prefix + body, re.DOTALL),
    )


def path_order(path: str) -> list[str]:
    """Sort key: directory by directory, the order in which a sorted walk meets files."""
    return path.split("/")


def _spans_components(name: str, pattern: str) -> bool:
    """Whether the text after the last `/` does not stand for exactly the name of a file."""
    if "**" in name:
        return True
    return name != pattern and any(character in pattern for character in "{[\\")


class _Translation:
    """One pass over a glob that writes the regular expression."""

    def __init__(self, glob: str, shown: str) -> None:
        self._glob = glob
        self._shown = shown
        self._position = 0
        self._braces = 0
        self._parts: list[str] = []

    def regex(self) -> str:
        while self._position < len(self._glob):
            character = self._glob[self._position]
            self._position += 1
            self._parts.append(self._piece(character))
        if self._braces:
            raise SearchError(f"The glob {self._shown!r} has a {{ that is not closed.")
        return "".join(self._parts)

    def _piece(self, character: str) -> str:
        match character:
            case "*":
                return self._stars()
            case "?":
                return "[^/]"
            case "[":
                return self._class()
            case "{":
                self._braces += 1
                return "(?:"
            case "," if self._braces:
                return "|"
            case "}" if self._braces:
                self._braces -= 1
                return ")"
            case "\\" if self._position < len(self._glob):
                self._position += 1
                return re.escape(self._glob[self._position - 1])
            case _:
                return re.escape(character)

    def _stars(self) -> str:
        start = self._position - 1
        while self._glob[self._position : self._position + 1] == "*":
            self._position += 1
        whole_component = start == 0 or self._glob[start - 1] in "/{,"
        if self._position - start < 2 or not whole_component:
            return "[^/]*"
        if self._position == len(self._glob):
            return ".+"
        if self._glob[self._position] != "/":
            return "[^/]*"
        self._position += 1
        while self._glob.startswith("**/", self._position):  # `**/**/` says no more than `**/`
            self._position += 3
        return "(?:.*/)?"

    def _class(self) -> str:
        # `]` directly after `[` or `[!` is a member, not the end.
        first = self._position + (self._glob[self._position : self._position + 1] in ("!", "^"))
        end = self._glob.find("]", first + 1)
        if end < 0:
            raise SearchError(f"The glob {self._shown!r} has a [ that is not closed; write \\[ for a plain bracket.")
        negation = "^" if first > self._position else ""
        members = re.sub(r"([\\\[\]^&~|])", r"\\\1", self._glob[first:end])
        self._position = end + 1
        try:
            re.compile(f"[{negation}{members}]")
        except re.error as error:
            raise SearchError(f"The glob {self._shown!r} has a malformed [...]: {error}.") from error
        return f"(?!/)[{negation}{members}]"
