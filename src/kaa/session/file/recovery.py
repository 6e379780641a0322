"""After a kill: what the journal still holds becomes entries of the session, each exactly once.

Every record carries the id that its entry was promised. An id that is in the session already was written
before the kill (or by a recovery that was itself killed) and is left out.
"""

import contextlib
from collections.abc import Container, Iterable
from pathlib import Path

from kaa.core.events import ToolExecutionUpdate
from kaa.core.messages import TextContent, ToolResultMessage
from kaa.session.entries import MessageEntry
from kaa.session.errors import SessionReadError
from kaa.session.file.journal import JournalRecord, JournalTail, ReplyBegun, ToolBegun, read_journal, rewritten_path
from kaa.session.file.partial_reply import PartialReply

INTERRUPTED_REPLY = "kaa was interrupted during this reply; this is what had arrived"
_INTERRUPTED_TOOL = "[kaa was interrupted while this ran; it may or may not have had its effects]"


def recover_entries(path: Path, known: Container[str]) -> list[MessageEntry]:
    """The entries that a journal still owes to its session. Nothing is changed.

    Args:
        path: of the journal; it need not exist.
        known: ids of the entries the session has.

    Raises:
        SessionReadError: the journal is there but cannot be read.
    """
    try:
        records = read_journal(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SessionReadError(path, error) from error
    return [*_reply_entries(records, known), *_tool_entries(records, known)]


def _reply_entries(records: Iterable[JournalRecord], known: Container[str]) -> list[MessageEntry]:
    """The last reply; one before it was given up for it."""
    entry_id = ""
    reply: PartialReply | None = None
    for record in records:
        match record:
            case ReplyBegun():
                entry_id, reply = record.entry_id, PartialReply(record.message)
            case ToolBegun() | ToolExecutionUpdate():
                continue
            case _ if reply is not None:
                reply.add(record)
            case _:
                continue
    message = reply.message(INTERRUPTED_REPLY) if reply is not None and entry_id not in known else None
    return [MessageEntry(id=entry_id, message=message)] if message is not None else []


def _tool_entries(records: Iterable[JournalRecord], known: Container[str]) -> list[MessageEntry]:
    """One result for every tool that had begun."""
    begun: dict[str, tuple[ToolBegun, JournalTail]] = {}
    for record in records:
        match record:
            case ToolBegun():
                begun[record.tool_call_id] = (record, JournalTail())
            case ToolExecutionUpdate() if record.tool_call_id in begun:
                begun[record.tool_call_id][1].add(record.delta, record.skipped_bytes)
            case _:
                continue
    return [
        MessageEntry(id=tool.entry_id, message=_interrupted_result(tool, tail))
        for tool, tail in begun.values()
        if tool.entry_id not in known
    ]


def _interrupted_result(tool: ToolBegun, tail: JournalTail) -> ToolResultMessage:
    parts = [_INTERRUPTED_TOOL]
    if tail.text:
        parts.insert(0, tail.text.rstrip("\n"))
    if tail.skipped_bytes:
        parts.insert(0, f"[{tail.skipped_bytes} bytes of earlier output were not kept]")
    return ToolResultMessage(tool.tool_call_id, tool.tool_name, (TextContent("\n".join(parts)),), is_error=True)


def discard_journal(path: Path) -> None:
    """Remove a journal whose entries are written. Failing is harmless: the ids are known the next time."""
    for leftover in (path, rewritten_path(path)):
        with contextlib.suppress(OSError):
            leftover.unlink(missing_ok=True)
