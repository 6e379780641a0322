"""Which of git's notes about a rebase or a series of cherry-picks make it run a program when that goes on.

Of a todo list only lines with `exec` do, and strategies that are not git's own, because they are programs. What else
is there (messages, authors, `rebase-apply`, `BISECT_*`, `info/*`) makes git change files of the working tree at most.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from kaa.hands.git_config import ConfigSyntaxError, parse

# git takes a word for the command if a space or the end of the line follows (is_command in sequencer.c).
_EXEC = re.compile(rb"[ \t]*(?:exec|x)(?:[ \t\r\n\0].*)?", re.DOTALL)
_STRATEGIES = frozenset(("", "octopus", "ort", "ours", "recursive", "resolve", "subtree"))

Judge: TypeAlias = Callable[[bytes], frozenset[str]]


def _todo(content: bytes) -> frozenset[str]:
    lines = content.split(b"\n")
    return frozenset(line.decode("utf-8", "backslashreplace").strip() for line in lines if _EXEC.fullmatch(line))


def _strategy(content: bytes) -> frozenset[str]:
    name = content.decode("utf-8", "backslashreplace").strip()
    return frozenset() if name in _STRATEGIES else frozenset({f"strategy {name}"})


def _options(content: bytes) -> frozenset[str]:
    try:
        found = [entry.value for entry in parse(content) if entry.name == "strategy"]
    except ConfigSyntaxError as error:
        return frozenset({f"what cannot be understood ({error})"})
    return frozenset().union(*(_strategy(value.encode()) for value in found))


# By directory in the git directory; each is told the content of a file and says what of it executes.
STATE: Mapping[str, Mapping[str, Judge]] = MappingProxyType(
    {
        "rebase-merge": {"git-rebase-todo": _todo, "strategy": _strategy},
        "rebase-apply": {"strategy": _strategy},
        "sequencer": {"todo": _todo, "opts": _options},
    }
)
