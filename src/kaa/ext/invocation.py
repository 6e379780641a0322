"""The grammar of slash commands: which names can be registered, and which messages call one.

A message calls a command if it begins with `/`, a name, and then ends or goes on with white space: `/net on`,
`/skill:hello`. A path (`/usr/bin/x is broken`) is text, as are `//` and a `/` or `!` with a space before it.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from kaa.core.messages import TextContent, UserMessage

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_.-]*")
_INVOCATION = re.compile(rf"/({_NAME.pattern})(?:\s+(.*))?\Z", re.DOTALL)


# How many names a refusal suggests.
_MOST_SUGGESTED = 3


class Invocation(NamedTuple):
    """A call of a command: its name, without the slash, and all that follows it."""

    name: str
    arguments: str


def is_command_name(text: str) -> bool:
    """Whether a command can have this name: ASCII letters, digits, `:`, `_`, `.` and `-`; first a letter or digit."""
    return _NAME.fullmatch(text) is not None


def invocation_in(message: UserMessage | str) -> Invocation | None:
    """The call that a message is, whether there is such a command or not; None if it is text or has images."""
    match message if isinstance(message, str) else message.content:
        case str(text) | (TextContent(text=text),):
            found = _INVOCATION.match(text)
            return Invocation(found[1], (found[2] or "").strip()) if found else None
        case _:
            return None


def as_message(text: str) -> str:
    """Return a text, sanitized, that an editor does not obey: with a space before a `!` or a call at its beginning.

    What nobody typed here must not be obeyed: a screen does not show all of a long text.
    """
    from kaa.tui.sanitize import sanitize  # lazy: few modes have an editor

    clean = sanitize(text)
    return f" {clean}" if clean.startswith("!") or invocation_in(clean) else clean


# Commands that are there only if they have something to show.
_ABSENT = {
    "skills": "there are no skills here: write ~/.kaa/agent/skills/NAME/SKILL.md, or see what `kaa import` finds",
    "hooks": "there are no hooks here: write ~/.kaa/agent/hooks.json, or see what `kaa import` finds",
    "plugins": "no plugin is installed: `kaa plugin install` in a shell installs one",
    "mcp": "no MCP server is configured here: `kaa mcp add NAME -- COMMAND` or `kaa mcp add NAME URL` in a shell adds"
    " one, for the next session (/new)",
}


def nothing_to_show(name: str) -> str | None:
    """What a command answers that there is not, because it has nothing to show; None for all other names."""
    return _ABSENT.get(name)


def needless_arguments(called: Invocation) -> str:
    """Why a call of a command that takes no arguments is refused if it has some."""
    return f"/{called.name} takes no arguments: enter it alone"


def unknown_command(name: str, known: Iterable[str]) -> str:
    """Why a call of a command that does not exist is refused, with the nearest names.

    Args:
        name: the name that was called.
        known: the names there are.
    """
    if (nothing := nothing_to_show(name)) is not None:
        return nothing
    names = sorted(set(known))
    near = [f"/{one}" for one in _nearest(name, names)]
    hint = f"did you mean {' or '.join(near)}?" if near else "/help lists all."
    return f"unknown command /{name}; {hint} To send it as text, put a space before it"


def _nearest(name: str, names: list[str]) -> list[str]:
    """The names that are meant most probably, the nearest first."""
    from difflib import get_close_matches  # lazy: only for mistakes

    by_lower = {one.lower(): one for one in reversed(names)}
    wanted = name.lower()
    near = get_close_matches(wanted, by_lower, n=_MOST_SUGGESTED)
    begun = [one for one in by_lower if len(wanted) > 1 and (one.startswith(wanted) or wanted.startswith(one))]
    return [by_lower[one] for one in dict.fromkeys([*near, *sorted(begun)])][:_MOST_SUGGESTED]
