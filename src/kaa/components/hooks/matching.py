"""Which calls, sources and triggers a hook is for."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from kaa.components.hooks import TOOL_EVENTS, HookDefinition, HookDialect

_MAX_MATCHER = 500
# A matcher of these characters is a name or a list of names; all others are regular expressions, which may match
# anywhere in a name.
_NAMES = {"claude": re.compile(r"[A-Za-z0-9_ ,|-]*"), "codex": re.compile(r"[A-Za-z0-9_|]*")}
_SEPARATORS = re.compile(r"[|,]")
# What makes regular expressions slow; names of tools have 64 characters, so a few repetitions do no harm.
_EXPENSIVE = re.compile(r"\)[+*{]|\\[1-9]")
_REPETITIONS = re.compile(r"(?<!\()[+*?{]")
_MOST_REPETITIONS = 4  # of an alternative
_MOST_GROUPS = 3
_RULE = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)(?:\((.*)\))?", re.DOTALL)
_COMMANDS = re.compile(r"&&|\|\||[;|&\n]")
# What an `if` with parentheses is about, by tool.
_SUBJECTS = ("command", "file_path", "path", "url", "pattern")
# Events whose hooks have no matcher.
_UNMATCHED = ("UserPromptSubmit", "Stop")


def matcher_problem(matcher: str, dialect: HookDialect) -> str:
    """Why a matcher cannot be used, as the rest of a sentence; empty if it can."""
    if len(matcher) > _MAX_MATCHER:
        return f"has more than {_MAX_MATCHER} characters"
    if _is_all(matcher) or _is_names(matcher, dialect):
        return ""
    branches = [matcher] if "(" in matcher else matcher.split("|")  # groups join branches
    repetitions = max(len(_REPETITIONS.findall(branch)) for branch in branches)
    if _EXPENSIVE.search(matcher) or repetitions > _MOST_REPETITIONS or matcher.count("(") > _MOST_GROUPS:
        return "is a regular expression that can take too long"
    try:
        re.compile(matcher)
    except (re.error, RecursionError, OverflowError) as error:
        # Gemini takes what is no regular expression as a name.
        return "" if dialect == "gemini" else f"is no regular expression ({error})"
    return ""


def matches(hook: HookDefinition, subjects: Sequence[str]) -> bool:
    """Whether a hook is for something.

    Args:
        subjects: the names of the tool, of which one suffices, or the source, trigger or kind of the event.
    """
    if hook.event in _UNMATCHED or _is_all(hook.matcher):
        return True
    if hook.dialect == "gemini" and hook.event not in TOOL_EVENTS:
        return hook.matcher in subjects
    if _is_names(hook.matcher, hook.dialect):
        return not {name.strip() for name in _SEPARATORS.split(hook.matcher)}.isdisjoint(subjects)
    pattern = _compiled(hook.matcher)
    if pattern is None:
        return hook.matcher in subjects
    return any(pattern.search(subject) for subject in subjects)


def fulfils(condition: str, names: Sequence[str], given: dict[str, object]) -> bool:
    """Whether a call fulfils an `if`, a rule such as `Bash(git *)`. One that is not understood lets the hook run.

    Args:
        condition: the rule; empty if there is none.
    """
    rule = _RULE.fullmatch(condition.strip())
    if rule is None:
        return True
    if rule[1] not in names:
        return False
    pattern = rule[2]
    if pattern is None or pattern in ("", "*"):
        return True
    subject = next((str(given[field]) for field in _SUBJECTS if field in given), None)
    if subject is None:
        return True
    if "command" not in given:
        return fnmatchcase(subject, pattern) or fnmatchcase(subject, f"*/{pattern.removeprefix('./')}")
    prefix = pattern.removesuffix(":*") if pattern.endswith(":*") else ""
    parts = [part.strip() for part in (subject, *_COMMANDS.split(subject))]
    if prefix:
        return any(part == prefix or part.startswith(f"{prefix} ") for part in parts)
    bare = pattern.removesuffix(" *")
    return any(fnmatchcase(part, pattern) or part == bare for part in parts)


def _is_all(matcher: str) -> bool:
    return matcher in ("", "*")


def _is_names(matcher: str, dialect: HookDialect) -> bool:
    return dialect != "gemini" and _NAMES[dialect].fullmatch(matcher) is not None


@lru_cache(maxsize=256)
def _compiled(matcher: str) -> re.Pattern[str] | None:
    try:
        return re.compile(matcher)
    except (re.error, RecursionError, OverflowError):
        return None
