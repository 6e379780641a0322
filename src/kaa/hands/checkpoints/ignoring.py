"""Which names .gitignore files leave out (gitignore(5)), whether there is a repository or not.

The patterns are the project's and may be hostile: what would take long to match is passed over, so that more is
covered and nothing hangs.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_BYTES = 64 * 1024
_MAX_PATTERNS = 1000
_MAX_WILDCARDS = 4


class _Pattern(NamedTuple):
    expression: re.Pattern[str]
    ignores: bool


class IgnoreRules:
    """The patterns of one directory, over those of the directories above it.

    Args:
        directory: path of the directory, below what the paths that are asked for start from; "" for that itself.
    """

    def __init__(self, directory: str, text: str, above: "IgnoreRules | None" = None) -> None:
        self._start = len(directory) + 1 if directory else 0
        self._above = above
        self._patterns = [*_parse(text)][::-1]  # the last one that matches counts

    def ignores(self, path: str, *, directory: bool) -> bool:
        """Whether a path is left out. Those above it are not asked: nobody goes into an ignored directory."""
        inner = path[self._start :] + ("/" if directory else "")
        for pattern in self._patterns:
            if pattern.expression.fullmatch(inner):
                return pattern.ignores
        return self._above is not None and self._above.ignores(path, directory=directory)


def _parse(text: str) -> Iterator[_Pattern]:
    """The patterns in their order; neighbours of the same sense are one expression, as few files have exceptions."""
    ignores, gathered = True, list[str]()
    for written in text.splitlines()[:_MAX_PATTERNS]:
        line = re.sub(r"(?<!\\) +$", "", written)
        if not line or line.startswith("#"):
            continue
        sense = not line.startswith("!")
        source = _translate(line if sense else line[1:])
        if source is None:
            continue
        if sense != ignores and gathered:
            yield _Pattern(re.compile("|".join(gathered), re.DOTALL), ignores)
            gathered = []
        ignores = sense
        gathered.append(source)
    if gathered:
        yield _Pattern(re.compile("|".join(gathered), re.DOTALL), ignores)


def _translate(pattern: str) -> str | None:
    """The regular expression of a pattern, for paths in which those of directories end with a slash; None if bad."""
    end = "/" if pattern.endswith("/") else "/?"
    bare = pattern.removesuffix("/")
    if not bare or bare.count("*") - bare.count("**") > _MAX_WILDCARDS:
        return None
    start = "" if "/" in bare else "**/"
    source = (".*" if bare == "/**" else _glob(start + bare.removeprefix("/"))) + end
    try:
        re.compile(source)
    except re.error:
        return None
    return source


def _glob(pattern: str) -> str:
    """The expression of a pattern.

    A wildcard takes the least with which what stands before the next one fits (`(?>…)`): were the rest to fit after
    more, it would fit after the least too. So nothing is tried again, and matching is never exponential.
    """
    parts = [_Part()]
    at = 0
    while at < len(pattern):
        for token, meaning in _TOKENS:
            found = token.match(pattern, at)
            if found is not None and (token is not _LEADING or at == 0 or pattern[at - 1] == "/"):
                if token is _LEADING:
                    parts.append(_Part())
                elif token is _STARS:
                    parts[-1].add_star()
                else:
                    parts[-1].add(meaning or _literal(found.group()))
                at = found.end()
                break
    first, *others = (part.source() for part in parts)
    if not others:
        return first
    *inner, last = others
    return first + "".join(f"(?>(?:[^/]*/)*?{source})" for source in inner) + "(?:.*/)?" + last


class _Part:
    """What stands between two `**/`: a number of names, so that the first place where it fits will do."""

    def __init__(self) -> None:
        self._source = ""
        self._behind_star: str | None = None  # since the last star in the name

    def add_star(self) -> None:
        if self._behind_star is not None:
            self._source += f"(?>{_IN_NAME}?{self._behind_star})"
        self._behind_star = ""

    def add(self, source: str) -> None:
        if source.startswith("/"):
            self._source, self._behind_star = self.source() + source, None
        elif self._behind_star is not None:
            self._behind_star += source
        else:
            self._source += source

    def source(self) -> str:
        return self._source if self._behind_star is None else f"{self._source}{_IN_NAME}{self._behind_star}"


def _literal(token: str) -> str:
    if token.startswith("[") and len(token) > 1:
        inner = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return "[" + ("^/" + inner[1:] if inner[:1] in "!^" else inner) + "]"
    return re.escape(token[1:] if token.startswith("\\") and len(token) > 1 else token)


_IN_NAME = "[^/]*"
_LEADING = re.compile(r"\*\*/")
_STARS = re.compile(r"\*+")
# What a pattern consists of, and what each means; those without a meaning stand for themselves.
_TOKENS = (
    (_LEADING, ""),
    (re.compile(r"/\*\*$"), "/.*"),
    (_STARS, ""),
    (re.compile(r"\?"), "[^/]"),
    (re.compile(r"\[[!^]?\]?[^\]]*\]"), ""),
    (re.compile(r"\\."), ""),
    (re.compile(r".", re.DOTALL), ""),
)
