"""Hooks in the fields at the beginning of skills and definitions of agents, as Claude Code has them."""

from typing import Any

import msgspec

from kaa.components.hooks import HookFile
from kaa.components.hooks.reading import hooks_in

_MOST_DEPTH = 8
_NUMBERS = ("timeout",)
_SWITCHES = ("once", "async", "sandbox")


def hooks_text(value: object) -> str:
    """The field `hooks` as JSON; empty if there is none. What is no hook stays, for `scoped_hooks` to name."""
    return msgspec.json.encode(_typed("", value, 0)).decode() if value else ""


def scoped_hooks(text: str, scope: str, source: str, *, of_project: bool, plugin: str = "") -> HookFile:
    """The hooks of a component, which run only within its scope.

    Args:
        text: of `hooks_text`.
        of_project: whether the project or a plugin brought it.
        plugin: its name, if one did.
    """
    found = hooks_in(msgspec.json.decode(text), "claude", source, of_project=of_project)
    ends = scope.startswith("agent ")  # the end of an agent is none of the conversation's
    hooks = (
        msgspec.structs.replace(
            hook, scope=scope, plugin=plugin, event="SubagentStop" if ends and hook.event == "Stop" else hook.event
        )
        for hook in found.hooks
    )
    return HookFile(tuple(hooks), found.notes)


def _typed(name: str, value: object, depth: int) -> Any:  # any: JSON, whose shape `hooks_in` checks
    """Fields are texts: those that are numbers and switches become such."""
    if depth > _MOST_DEPTH:
        return None
    match value:
        case dict():
            return {str(key): _typed(str(key), one, depth + 1) for key, one in value.items()}
        case list() | tuple():
            return [_typed(name, one, depth + 1) for one in value]
        case str() if name in _NUMBERS and value.replace(".", "", 1).isdecimal():
            return float(value)
        case str() if name in _SWITCHES and value.lower() in ("true", "false"):
            return value.lower() == "true"
        case _:
            return value
