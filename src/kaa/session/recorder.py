"""Turns the events of a conversation into the entries of its session."""

from collections.abc import Iterable
from contextlib import suppress

from kaa.core.events import (
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from kaa.core.messages import AssistantMessage, Json, Message, ToolResultMessage, UserMessage
from kaa.core.provider import ThinkingLevel
from kaa.session.context import ModelRef, SessionContext, build_context
from kaa.session.entries import (
    BashExecution,
    Custom,
    CustomMessage,
    Entry,
    Leaf,
    MessageEntry,
    ModelChange,
    SessionInfo,
    ThinkingLevelChange,
)
from kaa.session.errors import SessionViewedError, SessionWriteError
from kaa.session.file.journal import ReplyBegun, ToolBegun
from kaa.session.naming import new_entry_id
from kaa.session.store import SessionStore


class SessionRecorder:
    """Subscribe `record` before any frontend: then nothing is shown that could be lost.

    Changes of model and thinking level wait for the next message and are written with it, so that a session
    begins with the first prompt and cycling through models leaves one entry.

    Messages that a full disk kept from the session are written before anything else, once there is space.

    Args:
        context: its state so far, as `build_context` gives it.
    """

    def __init__(self, store: SessionStore, context: SessionContext) -> None:
        self._store = store
        is_new = len(store.tree) == 0
        self._recorded_model = context.model
        self._recorded_level = None if is_new else context.thinking_level
        self._model = self._recorded_model
        self._level = self._recorded_level
        self._name: str | None = None  # one that waits
        self._reply_id: str | None = None
        self._tool_ids: dict[str, str] = {}
        self._owed: list[Entry] = []  # messages that could not be written
        self._is_behind = False

    def require_writable(self) -> None:
        """Make sure that the session can record what is about to be done.

        Raises:
            SessionViewedError: it is open read-only.
        """
        self._store.require_writable()

    def catch_up(self) -> SessionContext | None:
        """Write what was shown and could not be written. Nothing may be under way.

        Returns:
            The context with it; None if nothing was missing.

        Raises:
            SessionWriteError: the session still cannot be written.
            SessionReadError: it cannot be read.
        """
        if not self._is_behind:
            return None
        self._write_owed()
        self._is_behind = False
        context = build_context(self._store)
        self._recorded_model, self._recorded_level = context.model, context.thinking_level
        return context

    def record(self, event: Event) -> None:
        """Note one event; what it shows is safe from kills when this returns.

        Raises:
            SessionWriteError: the session cannot be written; it holds everything up to the event before. `catch_up`
                writes the message of this event.
        """
        try:
            self._record(event)
        except SessionWriteError:
            self._is_behind = True
            raise

    def _record(self, event: Event) -> None:
        match event:
            case MessageUpdate(change):
                self._store.journal.reply_grew(change)
            case ToolExecutionUpdate():
                self._store.journal.tool_grew(event)
            case MessageStart(AssistantMessage() as message):
                self._reply_id = new_entry_id(self._store.tree)
                self._store.journal.begin_reply(ReplyBegun(self._reply_id, message))
            case ToolExecutionStart(call_id, name):
                entry_id = self._tool_ids[call_id] = new_entry_id(self._store.tree)
                self._store.journal.begin_tool(ToolBegun(entry_id, call_id, name))
            case MessageEnd(message):
                self._record_message(message)
            case _:
                pass

    def command(self, execution: BashExecution) -> None:
        """Note a command of the user's own. It must not come between a tool call and its result.

        Raises:
            SessionWriteError: the session cannot be written.
        """
        self._write_owed()
        self._append(*self._changes(), MessageEntry(message=execution))

    def note(self, draft: Entry) -> str:
        """Keep what is no part of the conversation: a name, a figure, an extension's state. Returns the entry's id.

        Raises:
            SessionWriteError: the session cannot be written.
        """
        entry_id = self._write(draft)[-1]
        self._store.request_sync()
        return entry_id

    def note_all(self, drafts: Iterable[Entry]) -> None:
        """The same for several entries, in one write.

        Raises:
            SessionWriteError: the session cannot be written; it has none of them.
        """
        self._write(*drafts)
        self._store.request_sync()

    def custom(self, custom_type: str, data: Json) -> None:
        """Note the state of a part of kaa's; the model is never told of it.

        Raises:
            SessionWriteError: the session cannot be written.
        """
        self._write(Custom(custom_type=custom_type, data=data))
        self._store.request_sync()

    def go(self, target_id: str | None, *drafts: Entry) -> SessionContext:
        """Go on after another entry, or from before the first. Nothing may be under way.

        Args:
            target_id: the entry; None for before the first.
            drafts: what is to be noted there at once.

        Returns:
            The context there. The model and the thinking level in force stay, and are noted with the next message.

        Raises:
            SessionWriteError: the session cannot be written.
            SessionReadError: it cannot be read.
        """
        self._write_owed()
        self._store.append(Leaf(target_id=target_id), *drafts)
        self._store.request_sync()
        context = build_context(self._store)
        self._recorded_model, self._recorded_level = context.model, context.thinking_level
        self._is_behind = False
        return context

    @property
    def waiting_name(self) -> str | None:
        """The name that the session gets with its next message."""
        return self._name

    def name_change(self, name: str | None) -> None:
        """The session has this name from its next message on: a session that is only named gets no file."""
        self._name = name

    def model_change(self, provider: str, model_id: str) -> None:
        """From the next message on this model answers."""
        self._model = ModelRef(provider, model_id)

    def thinking_level_change(self, level: ThinkingLevel) -> None:
        """From the next message on the model thinks this hard."""
        self._level = level

    async def close(self) -> None:
        """Write changes that no message followed, if there is a session at all, and close the store.

        Raises:
            SessionWriteError: the disk failed.
        """
        try:
            self._write_owed()
            if len(self._store.tree) and (changes := self._changes()):
                with suppress(SessionViewedError):  # what is only looked at stays as it is
                    self._store.append(*changes)
                    self._store.request_sync()
        finally:
            await self._store.close()

    def _record_message(self, message: Message) -> None:
        promised = self._promised(message)
        entry = _entry(promised, message)
        try:
            if isinstance(message, AssistantMessage):
                # A change came while it was written: it is for what follows, and a reply says itself who wrote it.
                self._append(entry, *self._changes())
            else:
                self._append(*self._changes(), entry)
        except SessionWriteError:
            self._owed.append(entry)
            raise
        if promised:
            self._store.journal.settle(promised)

    def _append(self, *drafts: Entry) -> None:
        """Add entries, the changes that waited among them."""
        self._write(*drafts)
        self._recorded_model, self._recorded_level, self._name = self._model, self._level, None
        self._store.request_sync()

    def _write(self, *drafts: Entry) -> tuple[str, ...]:
        """Add entries behind the messages that are owed. Returns the ids of all."""
        ids = self._store.append(*self._owed, *drafts)
        for written in ids[: len(self._owed)]:
            self._store.journal.settle(written)
        self._owed.clear()
        return ids

    def _write_owed(self) -> None:
        """Add the messages that are owed, and as much as was shown of others. Nothing may be under way."""
        if not self._is_behind:
            return
        if self._owed:
            self._write()
        if unfinished := self._store.journal.owed(self._store.tree):
            self._store.append(*unfinished)
        self._store.journal.give_up()
        self._store.request_sync()
        self._reply_id = None
        self._tool_ids.clear()

    def _promised(self, message: Message) -> str:
        """The entry id that the journal knows this message by; empty if it does not know it."""
        match message:
            case AssistantMessage():
                promised, self._reply_id = self._reply_id, None
                return promised or ""
            case ToolResultMessage():
                return self._tool_ids.pop(message.tool_call_id, "")
            case UserMessage():
                return ""

    def _changes(self) -> list[Entry]:
        changes: list[Entry] = [SessionInfo(name=self._name)] if self._name is not None else []
        if self._model is not None and self._model != self._recorded_model:
            changes.append(ModelChange(provider=self._model.provider, model_id=self._model.id))
        if self._level is not None and self._level != self._recorded_level:
            changes.append(ThinkingLevelChange(thinking_level=self._level))
        return changes


def _entry(entry_id: str, message: Message) -> MessageEntry | CustomMessage:
    """What is kept of a message. Only the person's own words are kept as a message of the user's."""
    match message:
        case UserMessage(origin=origin) if origin != "person":
            from kaa.session.as_user_message import custom_entry  # lazy: few messages are of extensions

            return custom_entry(message)
        case _:
            return MessageEntry(id=entry_id, message=message)
