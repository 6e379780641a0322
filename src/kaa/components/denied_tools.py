"""What `permissions.deny` of Claude Code forbids, as deny rules of kaa's approvals. A rule may forbid more, never less.

Source: "Permissions" in the documentation of Claude Code's settings, November 2026. `Bash(curl:*)` is for commands that
begin with this word; a path begins at the directory, `~/` at the home, `//` at the root and `/` at the project's root.
Many mean the root of the file system by `/`, too: both are forbidden.
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


class Denials(NamedTuple):
    """What is forbidden. `rules`: deny rules, as `kaa.shell.approvals.rules` reads them; `left`: what none can say."""

    rules: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def denials_in(denied: Sequence[str], is_rule: Callable[[str], bool]) -> Denials:
    """The rules for a list of patterns.

    Args:
        denied: the patterns.
        is_rule: says whether kaa can obey a deny rule.
    """
    rules: dict[str, None] = {}
    left: list[str] = []
    for text in denied[:_MOST]:
        found = [rule for pattern in own_patterns(text, "claude") for rule in _rules(pattern)]
        known = [rule for rule in found if rule is not None and is_rule(rule)]
        if not found or len(known) < len(found):
            left.append(text)
        else:
            rules |= dict.fromkeys(known)
    return Denials(tuple(rules), (*left, *denied[_MOST:]))


def _rules(pattern: ToolPattern) -> Sequence[str | None]:
    """The rules for a pattern; None for what no rule can say."""
    tool, argument = pattern.tool, pattern.argument
    if tool in _READING or tool in _WRITING:
        subject = "read" if tool in _READING else "write"
        if argument:
            return [f"{subject}: {path}" for path in _paths(argument)] or [None]
        return [tool if tool in _READING else subject]
    return [_other_rule(tool, argument)]


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
            return (found[2], f"/{found[2]}")
        case "~/":
            return (text,)
        case "./":
            return (found[2],)
        case _:
            return (found[2] if "/" in found[2] else f"**/{found[2]}",)
