"""What checkpoints do not cover, by rules that can be stated: docs/checkpoints.md says the same."""

from collections import Counter
from typing import NamedTuple

from kaa.hands.checkpoints.ignoring import MAX_BYTES, IgnoreRules
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
