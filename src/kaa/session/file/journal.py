"""What is shown before it is an entry: streamed replies and the live output of tools, kept against a kill.

The journal lies beside the session file as `<session>.jsonl.partial`: lines of JSON, each written with one
system call before a frontend shows it, and emptied when everything in it has become an entry.
"""

import os
from collections import deque
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from kaa.core.events import AssistantMessageEvent, ToolExecutionUpdate
from kaa.core.messages import AssistantMessage
from kaa.session.entries import MessageEntry
from kaa.session.errors import SessionWriteError
from kaa.session.file.append_file import open_private, write_whole
from kaa.session.file.jsonl import UNREADABLE, encode_line

TOOL_OUTPUT_LIMIT = 50 * 1024
"""Characters of a running tool's output that survive a kill: the last ones, as many as tools show."""

# The journal of running tools is written anew when it has grown by this much.
_REWRITE_BYTES = 1024 * 1024


class ReplyBegun(msgspec.Struct, tag_field="type", tag="reply", rename="camel", frozen=True):
    """A reply begins that will become the entry `entry_id`; its events follow."""

    entry_id: str
    message: AssistantMessage


class ToolBegun(msgspec.Struct, tag_field="type", tag="tool", rename="camel", frozen=True):
    """A tool begins whose result will become the entry `entry_id`; its updates follow."""

    entry_id: str
    tool_call_id: str
    tool_name: str


JournalRecord: TypeAlias = ReplyBegun | ToolBegun | ToolExecutionUpdate | AssistantMessageEvent

_RECORD: msgspec.json.Decoder[JournalRecord] = msgspec.json.Decoder(JournalRecord)


class ReplyJournal:
    """Where the recorder notes what is under way. This one keeps nothing: for sessions that are not kept."""

    def begin_reply(self, begun: ReplyBegun) -> None:
        """A reply begins; an unfinished one before it is given up."""

    def reply_grew(self, event: AssistantMessageEvent) -> None:
        """The reply has more to show."""

    def begin_tool(self, begun: ToolBegun) -> None: ...

    def tool_grew(self, update: ToolExecutionUpdate) -> None:
        """A tool has more to show."""

    def settle(self, entry_id: str) -> None:
        """What was begun with this id is an entry now."""

    def owed(self, known: Container[str]) -> Sequence[MessageEntry]:
        """Return entries of what a broken run has begun and not ended. `known`: ids of the session's entries."""
        return ()

    def give_up(self) -> None:
        """Forget what is under way: it is an entry now, or nothing of it was shown."""

    def close(self) -> None:
        """No more notes will come."""


class JournalTail:
    """The last `TOOL_OUTPUT_LIMIT` characters of a tool's output, and how many bytes are missing before them."""

    def __init__(self) -> None:
        self.skipped_bytes = 0
        self._deltas: deque[str] = deque()
        self._length = 0

    def add(self, delta: str, skipped_bytes: int) -> None:
        """Take what a tool has written, after `skipped_bytes` that nobody saw."""
        self.skipped_bytes += skipped_bytes
        self._deltas.append(delta)
        self._length += len(delta)
        while (excess := self._length - TOOL_OUTPUT_LIMIT) > 0:
            oldest = self._deltas.popleft()
            if len(oldest) > excess:
                self._deltas.appendleft(oldest[excess:])
                oldest = oldest[:excess]
            self._length -= len(oldest)
            self.skipped_bytes += len(oldest.encode("utf-8", "replace"))

    @property
    def text(self) -> str:
        """The output that is left."""
        return "".join(self._deltas)


class _OpenTool:
    """A tool that runs: enough to write its part of the journal anew."""

    def __init__(self, begun: ToolBegun) -> None:
        self.begun = begun
        self.tail = JournalTail()

    def records(self) -> bytes:
        update = ToolExecutionUpdate(
            self.begun.tool_call_id, self.begun.tool_name, self.tail.text, self.tail.skipped_bytes
        )
        return encode_line(self.begun) + encode_line(update)


class FileJournal(ReplyJournal):
    """The journal of a session file. Only the holder of the session's lock may have one.

    Every method raises SessionWriteError when the system refuses to write.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._size = 0
        self._rewrite_above = _REWRITE_BYTES
        self._reply: str | None = None
        self._tools: dict[str, _OpenTool] = {}

    def begin_reply(self, begun: ReplyBegun) -> None:
        if not self._tools:
            self._clear()
        self._reply = begun.entry_id
        self._write(begun)

    def reply_grew(self, event: AssistantMessageEvent) -> None:
        """Note a piece of the reply that has begun."""
        if self._reply is not None:
            self._write(event)

    def begin_tool(self, begun: ToolBegun) -> None:
        self._tools[begun.tool_call_id] = _OpenTool(begun)
        self._write(begun)

    def tool_grew(self, update: ToolExecutionUpdate) -> None:
        """Note a piece of the output of a tool that has begun."""
        tool = self._tools.get(update.tool_call_id)
        if tool is None:
            return
        tool.tail.add(update.delta, update.skipped_bytes)
        self._write(update)
        # Pieces of a reply are not remembered here, so they are never rewritten; the model limits their size.
        if self._size > self._rewrite_above and self._reply is None:
            self._rewrite()

    def settle(self, entry_id: str) -> None:
        """Empty the journal if nothing else is under way. Else recovery skips what is an entry already."""
        if self._reply == entry_id:
            self._reply = None
        for call_id, tool in self._tools.items():
            if tool.begun.entry_id == entry_id:
                del self._tools[call_id]
                break
        if self._reply is None and not self._tools:
            self._clear()

    def owed(self, known: Container[str]) -> Sequence[MessageEntry]:
        """Return what the next opening would recover.

        Raises:
            SessionReadError: the journal cannot be read.
        """
        if self._reply is None and not self._tools:
            return ()
        from kaa.session.file.recovery import recover_entries  # lazy: few disks are full

        return recover_entries(self._path, known)

    def give_up(self) -> None:
        """Empty the journal."""
        self._reply = None
        self._tools.clear()
        self._clear()

    def close(self) -> None:
        """Remove the file, unless something is still under way: then the next open recovers it."""
        if self._descriptor is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        if self._reply is None and not self._tools:
            self._path.unlink(missing_ok=True)

    def _write(self, record: JournalRecord) -> None:
        data = encode_line(record)
        write_whole(self._descriptor if self._descriptor is not None else self._create(), data, self._path)
        self._size += len(data)

    def _create(self) -> int:
        self._descriptor = self._open(self._path)
        return self._descriptor

    def _open(self, path: Path) -> int:
        try:
            return open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW)
        except OSError as error:
            raise SessionWriteError.because(path, error) from error

    def _clear(self) -> None:
        if self._descriptor is not None and self._size:
            os.ftruncate(self._descriptor, 0)
            self._size = 0
            self._rewrite_above = _REWRITE_BYTES

    def _rewrite(self) -> None:
        """Keep only the tails of what runs, so that endless output does not fill the disk."""
        fresh = rewritten_path(self._path)
        data = b"".join(tool.records() for tool in self._tools.values())
        descriptor = self._open(fresh)
        try:
            write_whole(descriptor, data, fresh)
            os.replace(fresh, self._path)
        except SessionWriteError:
            os.close(descriptor)
            raise
        except OSError as error:
            os.close(descriptor)
            raise SessionWriteError.because(self._path, error) from error
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = descriptor
        self._size = len(data)
        self._rewrite_above = len(data) + _REWRITE_BYTES


def rewritten_path(journal: Path) -> Path:
    """Where a journal is written anew before it replaces the old one."""
    return journal.with_name(f"{journal.name}.new")


def read_journal(path: Path) -> list[JournalRecord]:
    """The records of a journal that was left behind; a torn last one was never shown and is not missed."""
    records = []
    with path.open("rb") as lines:
        for line in lines:
            try:
                records.append(_RECORD.decode(line))
            except UNREADABLE:
                continue
    return records
