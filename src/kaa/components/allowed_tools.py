"""What `allowed-tools` of a skill or command grants, and what calls an agent is held to, as rules of kaa's approvals.

Source: "allowed-tools" in the documentation of Claude Code's skills, November 2026. `Bash(git add:*)` and `Bash(git add
*)` are for commands that begin with these words, `Bash(git status)` is for this one.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from kaa.components.tool_names import ToolPattern, own_patterns

# Words that bash and kaa's rules understand alike: nothing is quoted, expanded or redirected.
_COMMAND = re.compile(r"([A-Za-z0-9_./@%+=,-]+(?: [A-Za-z0-9_./@%+=,:-]+)*?)(:\*| \*)?")
# A path from the project or from the home. One that begins with `/` means different things to different agents.
_PATH = re.compile(r"(?:~/|\./)?[A-Za-z0-9_*][A-Za-z0-9_.*/-]*")
_READING = frozenset({"read", "find", "grep", "ls", "skill"})
_MOST = 50


class Grants(NamedTuple):
    """What is granted. `rules`: allow rules, as `kaa.shell.approvals.rules` reads them; `notes`: what is not."""

    rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def grants_in(allowed: Sequence[str]) -> Grants:
    """What a field grants. What kaa's rules cannot say as narrowly is not granted."""
    rules: list[str] = []
    notes: list[str] = []
    for text in allowed[:_MOST]:
        found = [_rule(pattern) for pattern in own_patterns(text, "claude")]
        rules += filter(None, found)
        if not found or None in found:
            notes.append(f"`allowed-tools` grants no calls of {text[:80]}: they are approved as all others are")
    if len(allowed) > _MOST:
        notes.append(f"only the first {_MOST} of `allowed-tools` are used")
    return Grants(tuple(dict.fromkeys(rules)), tuple(notes))


class CallLimits(NamedTuple):
    """What calls an agent is held to.

    Attributes:
        only: allow rules: of the tools that they are about, it makes no other calls.
        unlimited: tools that kaa's rules cannot hold to the patterns.
    """

    only: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    unlimited: tuple[str, ...] = ()


def limits_in(only: Sequence[ToolPattern], denied: Sequence[ToolPattern]) -> CallLimits:
    """What patterns hold an agent to.

    Args:
        only: the calls that it may make, of the tools that they name.
        denied: calls that it may not make.
    """
    rules = {pattern: _rule(pattern) for pattern in (*only, *denied)}
    unlimited = dict.fromkeys(pattern.tool for pattern, rule in rules.items() if not rule or rule == "write")
    kept = [[rules[one] or "" for one in some if one.tool not in unlimited] for some in (only, denied)]
    return CallLimits(tuple(dict.fromkeys(kept[0])), tuple(dict.fromkeys(kept[1])), tuple(unlimited))


def _rule(pattern: ToolPattern) -> str | None:
    """The rule for some calls; empty if they need none, None if there is none."""
    if pattern.tool in _READING:
        return ""
    if pattern.tool == "bash" and (command := _COMMAND.fullmatch(pattern.argument)):
        return f"bash: {command[1]} *" if command[2] else f"bash: {command[1]}"
    if pattern.tool in ("write", "edit"):
        if not pattern.argument:
            return "write"
        if _PATH.fullmatch(pattern.argument) and ".." not in pattern.argument.split("/"):
            return f"write: {pattern.argument}"
    return None
