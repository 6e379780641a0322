"""What `permissions.deny` of Claude Code forbids, as deny rules of kaa's approvals. A rule may forbid more, never less.

Source: "Permissions" in the documentation of Claude Code's settings, November 2026. `Bash(curl:*)` is for commands that
begin with this word; a path begins at the directory, `~/` at the home, `//` at the root and `/` at the project's root.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kaa.components.tool_names import ToolPattern, own_patterns

# Words that bash and kaa's rules understand alike, and what may follow them.
_COMMAND = re.compile(r"([A-Za-z0-9_./@%+=,-]+(?: [A-Za-z0-9_./@%+=,:-]+?)*?)(?::\*| \*|\*)?")
_PATH = re.compile(r"(~/|//|\./|/)?([A-Za-z0-9_.*][A-Za-z0-9_.*/-]*)")
_DOMAIN = re.compile(r"domain:((?:\*\.)?[A-Za-z0-9.-]+)")
_READING = frozenset({"read", "find", "grep", "ls"})
_WRITING = frozenset({"write", "edit"})
_MOST = 500
# What is usually at the root of a file system: who writes `/etc/hosts` may mean that.
_AT_ROOT = frozenset(
    "Users Volumes bin boot dev etc home lib lib64 media mnt opt private proc root run sbin srv sys tmp usr var".split()  # noqa: SIM905
)


class DenyRules(NamedTuple):
    """What is forbidden.

    Attributes:
        rules: deny rules, as `kaa.shell.approvals.rules` reads them.
        left: patterns that no rule can say.
        of_project: patterns that count below the project, though they look like absolute paths.
    """

    rules: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    of_project: tuple[str, ...] = ()


def denials_in(denied: Sequence[str], is_rule: Callable[[str], bool]) -> DenyRules:
    """The rules for a list of patterns.

    Args:
        is_rule: says whether kaa can obey a deny rule.
    """
    rules: dict[str, None] = {}
    left: list[str] = []
    of_project: list[str] = []
    for text in denied[:_MOST]:
        patterns = own_patterns(text, "claude")
        found = [rule for pattern in patterns for rule in _rules(pattern)]
        known = [rule for rule in found if rule is not None and is_rule(rule)]
        if not found or len(known) < len(found):
            left.append(text)
        else:
            rules |= dict.fromkeys(known)
            of_project += [text] if any(map(_looks_absolute, patterns)) else []
    return DenyRules(tuple(rules), (*left, *denied[_MOST:]), tuple(of_project))


def _rules(pattern: ToolPattern) -> Sequence[str | None]:
    """The rules for a pattern; None for what no rule can say."""
    tool, argument = pattern.tool, pattern.argument
    if tool in _READING or tool in _WRITING:
        subject = "read" if tool in _READING else "write"
        if argument:
            return [f"{subject}: {path}" for path in _paths(argument)] or [None]
        return [tool if tool in _READING else subject]
    return [_other_rule(tool, argument)]


def _looks_absolute(pattern: ToolPattern) -> bool:
    if pattern.tool not in _READING | _WRITING:
        return False
    before, *names = pattern.argument.split("/")
    return not before and names[:1] != [""] and not _AT_ROOT.isdisjoint(names[:1])


def _other_rule(tool: str, argument: str) -> str | None:
    if argument in ("", "*", ":*"):
        return None if tool == "*" else tool
    if tool == "bash" and (command := _COMMAND.fullmatch(argument)):
        return f"bash: {command[1]}"
    if tool == "web_fetch" and (host := _DOMAIN.fullmatch(argument)):
        return f"host: {host[1]}"
    return None


def _paths(text: str) -> Sequence[str]:
    """The globs for a path; none if the text is no plain glob."""
    found = _PATH.fullmatch(text)
    if found is None or ".." in text.split("/"):
        return ()
    match found[1]:
        case "//":
            return (f"/{found[2]}",)
        case "/":
            return (found[2],)
        case "~/":
            return (text,)
        case "./":
            return (found[2],)
        case _:
            return (found[2] if "/" in found[2] else f"**/{found[2]}",)
