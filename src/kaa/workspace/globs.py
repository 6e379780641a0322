"""File globs, as people write them for find and grep: which relative paths does a pattern mean?

The syntax is that of ripgrep and fd. We compile it ourselves because ripgrep's own `--glob` overrides .gitignore.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from kaa.workspace.protocol import SearchError

_MOST_ALTERNATIVES = 1000
_DEEPEST_BRACES = 50
_MOST_TOKENS = 100_000  # of all alternatives
_LONGEST = 8192  # characters, twice as many as a path has at most


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

    Matching takes a time that grows with the lengths of both, whatever the pattern: it may be the project's.

    Raises:
        SearchError: the pattern is empty or too long, a bracket or brace is not closed, or braces give too many
            alternatives.
    """
    relative = pattern.removeprefix("./")
    anchored = relative.startswith("/")
    relative = relative.lstrip("/")
    if len(pattern) > _LONGEST:
        raise SearchError(f"The glob {pattern[:60]!r}… is longer than {_LONGEST:,} characters, the limit.")
    if not relative:
        raise SearchError(f"The glob {pattern!r} is empty; use a pattern such as *.py or src/**/*.py.")
    alternatives = _Parser(relative, pattern).alternatives()
    body = "|".join(_regex(tokens, anchored=anchored) for tokens in alternatives)
    name = relative.rpartition("/")[2]
    tied_to_name = not _spans_components(name, relative)
    return Glob(
        name_pattern=name if tied_to_name else None,
        name_only=tied_to_name and name == relative and not anchored,
        regex=re.compile(body, re.DOTALL),
    )


def path_order(path: str) -> list[str]:
    """Sort key: directory by directory, the order in which a sorted walk meets files."""
    return path.split("/")


def _spans_components(name: str, pattern: str) -> bool:
    """Whether the text after the last `/` does not stand for exactly the name of a file."""
    if "**" in name:
        return True
    return name != pattern and any(character in pattern for character in "{[\\")


class _Parser:
    """One pass over a glob. Braces become alternatives, each of them a sequence of tokens.

    A token is a `/`, a run of `*`, or the regular expression of one character.
    """

    def __init__(self, glob: str, shown: str) -> None:
        self._glob = glob
        self._shown = shown
        self._position = 0

    def alternatives(self) -> list[list[str]]:
        return self._sequence(depth=0)

    def _sequence(self, depth: int) -> list[list[str]]:
        """The alternatives up to the end of the glob or, in braces, of this part of them."""
        found: list[list[str]] = [[]]
        while self._position < len(self._glob):
            if depth and self._glob[self._position] in ",}":
                return found
            character = self._glob[self._position]
            self._position += 1
            pieces = self._braced(depth) if character == "{" else [[self._token(character)]]
            if len(found) * len(pieces) > _MOST_ALTERNATIVES or len(found) * len(found[0]) > _MOST_TOKENS:
                raise SearchError(f"The braces of the glob {self._shown!r} give too many alternatives.")
            if len(pieces) == 1:
                for one in found:
                    one.extend(pieces[0])
            else:
                found = [[*before, *piece] for before in found for piece in pieces]
        if depth:
            raise SearchError(f"The glob {self._shown!r} has a {{ that is not closed.")
        return found

    def _braced(self, depth: int) -> list[list[str]]:
        if depth >= _DEEPEST_BRACES:
            raise SearchError(f"The braces of the glob {self._shown!r} are nested too deep.")
        found = self._sequence(depth + 1)
        while self._glob[self._position] == ",":
            self._position += 1
            found += self._sequence(depth + 1)
        self._position += 1
        return found

    def _token(self, character: str) -> str:
        match character:
            case "/":
                return "/"
            case "*":
                start = self._position - 1
                while self._glob[self._position : self._position + 1] == "*":
                    self._position += 1
                return self._glob[start : self._position]
            case "?":
                return "[^/]"
            case "[":
                return self._class()
            case "\\" if self._position < len(self._glob):
                self._position += 1
                escaped = self._glob[self._position - 1]
                return "/" if escaped == "/" else re.escape(escaped)
            case _:
                return re.escape(character)

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


def _regex(tokens: Sequence[str], *, anchored: bool) -> str:
    """The regular expression of one alternative.

    What stands between two `*` matches where it first can: a later match leaves less for the rest and gains nothing.
    The same holds for directories between two `**`. The groups are atomic, so that no other place is tried.
    """
    components = _split(tokens, "/")
    blocks: list[list[str]] = [[]]  # of components that follow each other; between them are others
    begins_anywhere = not anchored
    ends_anywhere = False
    for number, component in enumerate(components):
        if len(component) == 1 and component[0].startswith("**"):
            ends_anywhere = number == len(components) - 1
            begins_anywhere = begins_anywhere or not blocks[0]
            if blocks[-1]:
                blocks.append([])
        else:
            blocks[-1].append(_component(component))
    if not blocks[-1]:
        del blocks[-1]
    parts: list[str] = []
    for number, block in enumerate(blocks):
        body, is_last = "/".join(block), number == len(blocks) - 1 and not ends_anywhere
        if not number and not begins_anywhere:
            parts.append(body if is_last else f"{body}/")
        else:
            parts.append(f"(?:[^/]*/)*{body}" if is_last else f"(?>(?:[^/]*/)*?{body}/)")
    return "".join([*parts, ".+" if ends_anywhere else ""])


def _component(tokens: Sequence[str]) -> str:
    """The regular expression of what stands between two `/`; see `_regex` for `*`."""
    first, *others = ("".join(piece) for piece in _split(["*" if token[0] == "*" else token for token in tokens], "*"))
    if not others:
        return first
    *between, last = others
    return "".join([first, *(f"(?>[^/]*?{piece})" for piece in between if piece), f"[^/]*{last}"])


def _split(tokens: Iterable[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
