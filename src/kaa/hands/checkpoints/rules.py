"""What checkpoints do not cover, by rules that can be stated: docs/checkpoints.md says the same.

The patterns of .gitignore files (gitignore(5)) count whether there is a repository or not. They are the project's and
may be hostile: what would take long to match is passed over, so that more is covered and nothing hangs.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from kaa.hands.checkpoints.states import MAX_FILE_BYTES
from kaa.hands.lazy_pattern import LazyPattern

MAX_IGNORED_FILE_BYTES = 1024 * 1024
# Every directory is reached from the root, and a sandbox looks at all that is above each on the way: the work grows
# with the third power of the depth. No compiler and no `node_modules` goes half as deep.
MAX_DEPTH = 100
_IGNORE_FILE = ".gitignore"
# A repository, or a file or symlink that names one: in worktrees and submodules. It is git's, whatever it is.
_REPOSITORY = ".git"
# What kaa itself writes beside a file before it gets the file's name: `kaa.hands.writing`, `putting`.
_TEMPORARY = LazyPattern(r"\.kaa-[0-9a-f]{16}(-[0-9a-f]+)?\.tmp")
# Made by programs from what is in the project: huge, and made again by the same programs.
_GENERATED = frozenset(("node_modules", ".venv", "venv", ".tox", ".nox", "__pycache__"))
# The same where git ignores them: otherwise they are covered, as what a person wrote has such names too.
_GENERATED_IF_IGNORED = frozenset(
    (
        *("build", "dist", "target", "coverage", "htmlcov", ".next", ".nuxt", ".turbo", ".parcel-cache"),
        *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".eggs", ".gradle"),
    )
)
# A directory with such a file is a cache (bford.info/cachedir) or a virtual environment (PEP 405).
_MARKS = frozenset(("CACHEDIR.TAG", "pyvenv.cfg"))
MAX_BYTES = 64 * 1024
_MAX_PATTERNS = 1000
_MAX_WILDCARDS = 4


class ScanLimits(NamedTuple):
    """Of everything together."""

    max_files: int
    max_bytes: int


class ScanRules:
    """Decides what is covered, and counts by rule what is not.

    Args:
        limits: of everything together.

    Attributes:
        uncovered: how many files, or directories with all that is in them, each rule left out.
    """

    def __init__(self, limits: ScanLimits) -> None:
        self._limits = limits
        self._ignoring: dict[str, IgnoreRules | None] = {}
        self.uncovered: Counter[str] = Counter()

    def enter(self, directory: str, parent: str | None, names: frozenset[str], ignore_file: bytes | None) -> bool:
        """Whether the names in a directory are covered; None for the parent of a root. Its ignore file counts once."""
        if parent is not None and names & _MARKS:
            self.uncovered["generated"] += 1
            return False
        if directory not in self._ignoring:
            above = self._ignoring.get(parent) if parent is not None else None
            if ignore_file is not None:
                above = IgnoreRules(directory, ignore_file[:MAX_BYTES].decode("utf-8", "replace"), above)
            self._ignoring[directory] = above
        return True

    def covers_directory(self, parent: str, path: str) -> bool:
        """Whether a directory in a covered one is covered, as far as its name tells."""
        name = path.rpartition("/")[2]
        if path.count("/") >= MAX_DEPTH:
            self.uncovered["deep"] += 1
            return False
        if name in _GENERATED:
            self.uncovered["generated"] += 1
            return False
        ignoring = self._ignoring.get(parent)
        if ignoring is not None and ignoring.ignores(path, directory=True):
            self.uncovered["ignored"] += 1
            return False
        return True

    def max_bytes(self, parent: str, path: str, files: int, size: int) -> int:
        """How large a file may be to be covered; negative: not at all.

        Args:
            size: bytes of those.
        """
        if files >= self._limits.max_files:
            return -1
        ignoring = self._ignoring.get(parent)
        ignored = ignoring is not None and ignoring.ignores(path, directory=False)
        return min(MAX_IGNORED_FILE_BYTES if ignored else MAX_FILE_BYTES, self._limits.max_bytes - size)

    def leave_out(self, max_bytes: int, size: int) -> None:
        """Count a file that was looked at with this limit and is not covered."""
        if max_bytes < 0:
            self.uncovered["files"] += 1
        elif size <= max_bytes:
            self.uncovered["unreadable"] += 1
        elif max_bytes == MAX_FILE_BYTES:
            self.uncovered["large"] += 1
        elif max_bytes == MAX_IGNORED_FILE_BYTES:
            self.uncovered["ignored"] += 1
        else:
            self.uncovered["bytes"] += 1

    def reset(self) -> None:
        """Everything is counted anew. What ignore files said holds."""
        self.uncovered.clear()


def is_generated(name: str) -> bool:
    """Whether a directory of this name, if git ignores it, has only what programs make again."""
    return name in _GENERATED or name in _GENERATED_IF_IGNORED or name.endswith(".egg-info")


def covers_name(name: str) -> bool:
    """Whether anything of this name can be covered, whatever kind it has."""
    return name not in ("", _REPOSITORY) and not (name.startswith(".kaa-") and _TEMPORARY.fullmatch(name))


def covers_path(path: str) -> bool:
    """Whether anything at this path below a root can be covered."""
    return _REPOSITORY not in path.split("/") and path.count("/") <= MAX_DEPTH


def reads_ignore_file(names: frozenset[str]) -> str | None:
    """The name of the ignore file, if there is one."""
    return _IGNORE_FILE if _IGNORE_FILE in names else None


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
