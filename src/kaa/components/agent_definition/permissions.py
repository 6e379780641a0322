"""What an agent may do, in the words of each agent, as kaa's permissions. What is not understood permits least."""

from collections.abc import Mapping
from typing import Final

from kaa.components.agent_definition import Permission
from kaa.components.agent_definition.tools import shown
from kaa.components.frontmatter import text_of

_ORDER: Final[tuple[Permission | None, ...]] = ("read-only", None, "ask", "auto")

# Modes of Claude Code in lower case, and kaa's. `dontAsk` denies what would be asked, as kaa does without a permission.
_MODES: Final[dict[str, Permission | None]] = {
    "": None,
    "plan": "read-only",
    "default": "ask",
    "manual": "ask",
    "acceptedits": "ask",
    "dontask": None,
    "auto": "auto",
    "bypasspermissions": "auto",
    "read-only": "read-only",
    "ask": "ask",
}
_REMARKS: Final[dict[str, str]] = {
    "acceptedits": "changes of files are approved as all others are",
    "bypasspermissions": "kaa's sandbox and approvals hold",
    "danger-full-access": "kaa's sandbox holds",
}
_SANDBOXES: Final[dict[str, Permission | None]] = {
    "": None,
    "read-only": "read-only",
    "workspace-write": None,
    "danger-full-access": None,
}
_APPROVALS: Final[dict[str, Permission | None]] = {
    "": None,
    "never": None,
    "untrusted": "ask",
    "on-request": "ask",
    "on-failure": "ask",
}


def permission_in(
    fields: Mapping[str, object], names: Mapping[str, str], *, asks: bool
) -> tuple[Permission | None, list[str]]:
    """The permission, and notes on it.

    Args:
        fields: by the names that kaa's reader gives them.
        asks: a rule for a tool wants the user to be asked.
    """
    notes: list[str] = []
    found: list[Permission] = ["ask"] if asks else []
    for field, meanings in (("permission", _MODES), ("sandbox", _SANDBOXES), ("approval", _APPROVALS)):
        if field not in fields:
            continue
        word = text_of(fields[field]).lower() if isinstance(fields[field], str) else "?"
        meaning = meanings.get(word, "read-only")
        if word not in meanings:
            notes.append(f"`{names[field]}: {shown(str(fields[field]))}` is unknown: it can only read")
        elif word in _REMARKS:
            notes.append(f"`{names[field]}: {shown(str(fields[field]))}` is not used: {_REMARKS[word]}")
        if meaning is not None:
            found.append(meaning)
    if fields.get("readonly", "") not in ("", "false", "no", "off"):
        found.append("read-only")
    return min(found, key=_ORDER.index, default=None), notes


def narrower(wanted: Permission | None, allowed: Permission | None) -> Permission | None:
    """The narrower of two permissions: what a definition wants, and what the conversation has."""
    return min(wanted, allowed, key=_ORDER.index)
