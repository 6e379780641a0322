"""Finds the commits that commands of a part of a session made: checkpoints leave out `.git`, so they stay."""

import re
from collections.abc import Iterable
from typing import Final

from kaa.core.messages import AssistantMessage, ToolResultMessage
from kaa.session.entries import MessageEntry
from kaa.session.store import SessionStore, read_entry
from kaa.session.tree import Node

_COMMITS: Final = re.compile(r"\bgit\s+(?:-[cC]\s+\S+\s+|-\S+\s+)*(?:commit|merge|cherry-pick|revert|rebase|am|pull)\b")


def has_commits(store: SessionStore, nodes: Iterable[Node]) -> bool:
    """Whether a command of git that makes commits succeeded."""
    called: set[str] = set()
    for node in nodes:
        line = store.line(node) if node.type == "message" else b""
        if b"git" not in line and not (called and b"toolResult" in line):
            continue
        entry = read_entry(store, node)
        message = entry.message if isinstance(entry, MessageEntry) else None
        match message:
            case AssistantMessage():
                calls = (call for call in message.tool_calls if _COMMITS.search(str(call.arguments.get("command", ""))))
                called |= {call.id for call in calls}
            case ToolResultMessage(tool_call_id=call_id, is_error=False) if call_id in called:
                return True
            case _:
                pass
    return False
