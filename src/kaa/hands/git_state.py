"""Which of git's notes about a rebase, a series of cherry-picks or a bisection direct it when that goes on.

Lines with `exec` and strategies that are not git's own are programs; other notes become options of git's commands, of
which some write or read any file. What has no judge here is listed in `git_names`, or not taken for git's.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from kaa.hands.digest import new_digest
from kaa.hands.git_config import ConfigSyntaxError, parse
from kaa.hands.lazy_pattern import LazyPattern

# git takes a word for the command if a space or the end of the line follows (is_command in sequencer.c).
_EXEC = LazyPattern(rb"^[ \t]*(?:exec|x)(?:[ \t\r\0][^\n]*)?$", re.MULTILINE)
_STRATEGIES = frozenset(("", "octopus", "ort", "ours", "recursive", "resolve", "subtree"))
# Of `git merge -X`; another strategy than ort hands them to `git read-tree`, which writes where --index-output says.
_STRATEGY_OPTION = LazyPattern(
    r"(?:--)?(?:ours|theirs|patience|histogram|minimal|diff-algorithm=\w+|(?:no-)?renormalize|no-renames"
    r"|ignore-(?:space-change|all-space|space-at-eol|cr-at-eol)|(?:find-renames|rename-threshold)(?:=\d+%?)?"
    r"|subtree(?:=(?!/)(?!.*\.\.)[\w./-]*)?)"
)
# Of `git apply`; it writes where --build-fake-ancestor says.
_APPLY_OPTION = LazyPattern(
    r"-[Cp]\d+|--whitespace=[\w-]+|--ignore-(?:space-change|whitespace)|--reject|--(?:no-)?3way"
    r"|--(?:directory|include|exclude)=(?!/)(?!.*\.\.).*",
    re.DOTALL,
)
_AUTHOR = LazyPattern(r"(?:GIT_AUTHOR_(?:NAME|EMAIL|DATE)=(?:'[^']*'|\\['!])*\n?)*")
_SIGNING_KEY = LazyPattern(r"(?:-S)?(?!-)[\w@.+<> -]*\n?")  # no path: of keys for ssh, it would be one
_HASH = LazyPattern(r"(?:[0-9a-f]{40,64})?\n?")
_NO_OPTION = LazyPattern(r"(?!-).*", re.DOTALL)

_MAX_BYTES_OF_WORDS = 16 * 1024  # `shlex` takes quadratic time

Judge: TypeAlias = Callable[[bytes], frozenset[str]]

_MAX_TODO_BYTES = 4 * 1024 * 1024  # of 50,000 commits
_MAX_BYTES = 16 * 1024  # of the others; `shlex` takes four times as long for twice as much


def max_bytes(judge: Judge) -> int:
    """How much of a file a judge of `STATE` reads; of a longer one, every change matters."""
    return _MAX_TODO_BYTES if judge is _todo else _MAX_BYTES


def _todo(content: bytes) -> frozenset[str]:
    return frozenset(line.decode("utf-8", "backslashreplace").strip() for line in _EXEC.findall(content))


def _strategy(content: bytes) -> frozenset[str]:
    name = content.decode("utf-8", "backslashreplace").strip()
    return frozenset() if name in _STRATEGIES else frozenset({f"strategy {name}"})


def _options(content: bytes) -> frozenset[str]:
    try:
        entries = parse(content)
        found = {entry.key: _setting(entry.name, entry.value) for entry in entries}
    except ConfigSyntaxError as error:
        return frozenset({f"what cannot be understood ({error})"})
    return frozenset().union(*found.values())


def _setting(name: str, value: str) -> frozenset[str]:
    match name:
        case "strategy":
            return _strategy(value.encode())
        case "strategy-option":
            return frozenset() if _STRATEGY_OPTION.fullmatch(value) else frozenset({f"option {value}"})
        case "gpg-sign":
            return frozenset() if _SIGNING_KEY.fullmatch(value) else frozenset({f"key {value}"})
        case _:
            return frozenset()


def _words(pattern: LazyPattern[str]) -> Judge:
    """Judges words in the quotes of a shell, each of which has to match."""

    def judge(content: bytes) -> frozenset[str]:
        if len(content) > _MAX_BYTES_OF_WORDS:
            return frozenset({f"too many words: {new_digest(content).hexdigest()}"})
        text = content.decode("utf-8", "backslashreplace")
        try:
            return frozenset(f"option {word}" for word in shlex.split(text) if not pattern.fullmatch(word))
        except ValueError as error:
            return frozenset({f"what cannot be understood ({error})"})

    return judge


def _whole(pattern: LazyPattern[str]) -> Judge:
    """Judges a content that has to match as a whole."""

    def judge(content: bytes) -> frozenset[str]:
        text = content.decode("utf-8", "backslashreplace")
        return frozenset() if pattern.fullmatch(text) else frozenset({text})

    return judge


# By directory in the git directory; each is told the content of a file and says what of it directs git.
STATE: Mapping[str, Mapping[str, Judge]] = MappingProxyType(
    {
        "rebase-merge": {
            "git-rebase-todo": _todo,
            "strategy": _strategy,
            "strategy_opts": _words(_STRATEGY_OPTION),
            "gpg_sign_opt": _whole(_SIGNING_KEY),
            "author-script": _whole(_AUTHOR),
            "autostash": _whole(_HASH),
        },
        "rebase-apply": {
            "strategy": _strategy,
            "strategy_opts": _words(_STRATEGY_OPTION),
            "apply-opt": _words(_APPLY_OPTION),
            "gpg_sign_opt": _whole(_SIGNING_KEY),
            "author-script": _whole(_AUTHOR),
            "autostash": _whole(_HASH),
        },
        "sequencer": {"todo": _todo, "opts": _options},
    }
)
# Directly in the git directory: words that become arguments.
NOTES: Mapping[str, Judge] = MappingProxyType(
    {
        "BISECT_START": _whole(_NO_OPTION),
        "BISECT_TERMS": _whole(_NO_OPTION),
        "BISECT_EXPECTED_REV": _whole(_NO_OPTION),
        "MERGE_AUTOSTASH": _whole(_HASH),
    }
)
