"""Which names are protected, how far down, and which only if what is in them executes.

Protected is what a program executes or obeys because somebody opens the directory, or runs a program there that they
trust. What a build, a test or a commit hook of the project executes is not: whoever runs them runs the project.
"""

import os
import stat
from collections.abc import Iterable, Sequence

from kaa.hands.executed_names import AGENTS, BEGINNINGS, CHOICES, ENDINGS, MADE_BY_TOOLS
from kaa.hands.policy import GUARDED_DEPTH, PROTECTED_NAMES

# In repositories below the top, git and husky obey them only if the configuration says so, and that is judged.
_ONLY_AT_TOP = frozenset((".gitmodules", ".husky"))
_EVERYWHERE = frozenset(name.casefold() for name in PROTECTED_NAMES) - _ONLY_AT_TOP
PROTECTED_ENDINGS = tuple(ENDINGS)
_BEGINNINGS = tuple(BEGINNINGS)
_FIRST_LETTERS = tuple(beginning for beginning, _ in _BEGINNINGS)
# What may be made, as long as nothing in it executes. At the top, what exists is protected as a whole.
JUDGED_PATHS = tuple(MADE_BY_TOOLS)
_JUDGED = tuple(path.split("/") for path in JUDGED_PATHS)
_JUDGED_FIRST = frozenset(path[0] for path in _JUDGED) | CHOICES.keys()
_WHOLE_AT_TOP = _ONLY_AT_TOP - _JUDGED_FIRST
# In lower case.
_GUARDED_NAMES = _EVERYWHERE | _ONLY_AT_TOP | _JUDGED_FIRST | {".git"}

_FOR_AGENTS = frozenset(map(str.casefold, AGENTS))
TEXTS = (".md", ".mdc")
"""Endings of texts for agents. `.clinerules -> AGENTS.md` protects no `AGENTS.md`: commands may write that."""
# Permissions of the files over which others are mounted.
STUB_MODE = 0


def may_be_guarded(folded: str) -> bool:
    """Whether a name, in lower case, may have to be looked at: the guard sees every name of a project."""
    return (
        folded in _GUARDED_NAMES
        or folded.endswith(PROTECTED_ENDINGS)
        or (folded.startswith(_FIRST_LETTERS) and _is_protected_beginning(folded))
    )


def is_protected_name(name: str, depth: int) -> bool:
    """Whether all of a file or directory is protected because of its name.

    Args:
        name: in whatever case: on some filesystems .VSCODE is .vscode.
        depth: how many directories it is below a writable one; 0 at the top.
    """
    folded = name.casefold()
    return (
        folded in _EVERYWHERE
        or folded.endswith(PROTECTED_ENDINGS)
        or (folded.startswith(_FIRST_LETTERS) and _is_protected_beginning(folded))
        or (not depth and folded in _WHOLE_AT_TOP)
    )


def _is_protected_beginning(folded: str) -> bool:
    return any(folded.startswith(beginning) and folded.endswith(end) for beginning, end in _BEGINNINGS)


def is_judged_name(name: str, depth: int) -> bool:
    """Whether a file, or something in a directory, is protected if it executes. Arguments as `is_protected_name`."""
    folded = name.casefold()
    return folded in _JUDGED_FIRST and (not depth or folded not in _ONLY_AT_TOP)


def is_protected(names: Sequence[str]) -> bool:
    """Whether a path is protected, or is below one that is, or is judged.

    Args:
        names: that lead from a writable directory to it.
    """
    folded = [name.casefold() for name in names]
    starts = range(min(len(names), GUARDED_DEPTH + 1))
    return any(
        is_protected_name(names[depth], depth)
        or any(folded[depth:][: len(path)] == path and (not depth or path[0] not in _ONLY_AT_TOP) for path in _JUDGED)
        for depth in starts
    )


def leads_to_text(path: str) -> bool:
    """Whether a protected name is a link to a text for agents, and a name of theirs."""
    return is_for_agents([os.path.basename(path)]) and os.path.islink(path) and os.path.realpath(path).endswith(TEXTS)


def is_for_agents(names: Iterable[str]) -> bool:
    """Whether one of the names on the way to a protected one is that of the settings of an agent."""
    return any(name.casefold() in _FOR_AGENTS for name in names)


def is_stub(path: str, directory: int | None = None) -> bool:
    """Whether a path is an empty file in the private /tmp over which hands mount a file of the user.

    Having no permissions marks it, also for later hands with the same directory.

    Args:
        path: absolute, or relative to an open directory.
    """
    try:
        status = os.stat(path, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == STUB_MODE and status.st_size == 0
