"""After a kill: what the journal still holds becomes entries of the session, each exactly once.

Every record carries the id that its entry was promised. An id that is in the session already was written
before the kill (or by a recovery that was itself killed) and is left out.
"""

import contextlib
from collections.abc import Container, Iterable
from pathlib import Path

import msgspec

from kaa.core.events import (
    AssistantMessageEvent,
    ReplyDone,
    ReplyFailed,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolExecutionUpdate,
)
from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
)
from kaa.core.partial_json import PartialJson
from kaa.session.entries import MessageEntry
from kaa.session.errors import SessionReadError
from kaa.session.file.journal import JournalRecord, JournalTail, ReplyBegun, ToolBegun, read_journal, rewritten_path

INTERRUPTED_REPLY = "kaa was interrupted during this reply; this is what had arrived"
_INTERRUPTED_TOOL = "[kaa was interrupted while this ran; it may or may not have had its effects]"


def recover_entries(path: Path, known: Container[str]) -> list[MessageEntry]:
    """The entries that a journal still owes to its session. Nothing is changed.

    Args:
        path: of the journal; it need not exist.

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
    reply: _PartialReply | None = None
    for record in records:
        match record:
            case ReplyBegun():
                entry_id, reply = record.entry_id, _PartialReply(record.message)
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


_INTERRUPTED_CALL = "the arguments are not complete: kaa was interrupted"


class _PartialReply:
    """Puts a reply that broke off together from the events that were shown of it.

    Args:
        begun: the message as it was when the reply began: without content.
    """

    def __init__(self, begun: AssistantMessage) -> None:
        self._begun = begun
        self._texts: dict[int, list[str]] = {}
        self._thinking: dict[int, list[str]] = {}
        self._calls: dict[int, ToolCallStart] = {}
        self._arguments: dict[int, list[str]] = {}
        self._whole_calls: dict[int, ToolCall] = {}

    def add(self, event: AssistantMessageEvent) -> None:
        match event:
            case TextDelta(index, delta):
                self._texts.setdefault(index, []).append(delta)
            case ThinkingDelta(index, delta):
                self._thinking.setdefault(index, []).append(delta)
            case ToolCallStart(index):
                self._calls[index] = event
            case ToolCallDelta(index, delta):
                self._arguments.setdefault(index, []).append(delta)
            case ToolCallEnd(index, call):
                self._whole_calls[index] = call
            case TextStart() | TextEnd() | ThinkingStart() | ThinkingEnd() | ReplyDone() | ReplyFailed():
                pass

    def message(self, error: str) -> AssistantMessage | None:
        """The aborted message as far as it came; None if nothing of it was shown."""
        indices = sorted({*self._texts, *self._thinking, *self._calls, *self._whole_calls})
        content = tuple(self._block(index) for index in indices)
        if not content:
            return None
        return msgspec.structs.replace(self._begun, content=content, stop_reason="aborted", error_message=error)

    def _block(self, index: int) -> AssistantContent:
        if index in self._texts:
            return TextContent("".join(self._texts[index]))
        if index in self._thinking:
            return ThinkingContent("".join(self._thinking[index]))
        if index in self._whole_calls:
            return self._whole_calls[index]
        return self._unfinished_call(self._calls[index], "".join(self._arguments.get(index, ())))

    def _unfinished_call(self, start: ToolCallStart, arguments: str) -> ToolCall:
        partial = PartialJson()
        partial.feed(arguments)
        return ToolCall(start.id, start.name, partial.value, None if partial.complete else _INTERRUPTED_CALL)
