"""Reads the user's settings of Claude Code for `kaa import`: what they forbid, and what kaa does not use of them."""

import os
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from kaa.builtin.amounts import counted
from kaa.components.denied_tools import Denials, denials_in
from kaa.components.plugins.json_fields import MAX_BYTES, InvalidJsonError, line_of, mapping_of, object_in, texts_of
from kaa.core.messages import Json
from kaa.host.regular_files import beginning_of

FILE: Final = "~/.claude/settings.json"

_MOST_NAMED = 5
# By field: what does the same in kaa.
_INSTEAD: Final = {
    "additionalDirectories": "`kaa --add-dir DIR` adds directories",
    "allow": "`approvals.allow` in kaa's settings has rules of kaa's own",
    "ask": "kaa asks by its approval mode (docs/approvals.md)",
    "defaultMode": "`--approvals` sets the approval mode",
}
_INSTEAD_OF_OTHERS: Final = {
    "apiKeyHelper": "`apiKey` in models.json can be a command",
    "env": "kaa takes variables from the shell that starts it",
    "model": "`defaultModel` in kaa's settings, or /model, selects a model",
    "outputStyle": "APPEND_SYSTEM.md in kaa's folder adds to its instructions",
    "statusLine": "kaa's footer shows no output of commands",
}


class ClaudeSettings(msgspec.Struct, frozen=True):
    """What a file says.

    Attributes:
        denied: what it forbids, as rules of kaa.
        unused: what kaa does not take over of it, in sentences.
    """

    denied: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def claude_settings() -> ClaudeSettings:
    """The user's; nothing if there is no such file, or Claude Code could not read it either."""
    try:
        fields = object_in(beginning_of(os.path.expanduser(FILE), MAX_BYTES + 1))
    except (OSError, InvalidJsonError):
        return ClaudeSettings()
    permissions = mapping_of(fields.get("permissions"))
    denials = denials_in(texts_of(permissions.get("deny")))
    return ClaudeSettings(denials.rules, tuple(_unused(fields, permissions, denials)))


def _unused(fields: Mapping[str, Json], permissions: Mapping[str, Json], denials: Denials) -> Iterator[str]:
    if left := denials.left:
        more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        shown = ", ".join(line_of(text, 80) for text in left[:_MOST_NAMED])
        yield f"{FILE}: no rule of kaa forbids {shown}{more}"
    for name, instead in _INSTEAD.items():
        if (value := permissions.get(name)) and value != "default":
            much = f" ({counted(len(value), 'entry', 'entries')})" if isinstance(value, list) else f" ({_short(value)})"
            yield f"{FILE}: `permissions.{name}`{much} is not used: {instead}"
    for name, instead in _INSTEAD_OF_OTHERS.items():
        if value := fields.get(name):
            shown = f" ({_short(value)})" if isinstance(value, str) and name != "apiKeyHelper" else ""
            yield f"{FILE}: `{name}`{shown} is not used: {instead}"


def _short(value: Json) -> str:
    return line_of(value, 80) if isinstance(value, str) else type(value).__name__
