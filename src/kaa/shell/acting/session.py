"""The session as one extension uses it. Data is read from the branch, so it follows resuming and rewinding."""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from kaa.core.agent import Agent
from kaa.core.events import ExtensionEntry
from kaa.core.messages import ExtensionNote, Json, Message
from kaa.ext.errors import CommandError
from kaa.ext.results import shortened
from kaa.session.entries import Custom
from kaa.session.errors import SessionError
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore, read_entry
from kaa.shell.acting.messages import ExtensionMessages, written_by

if TYPE_CHECKING:
    from kaa.ext.conversation_session import OwnEntry
    from kaa.ext.showing import DisplayContent
    from kaa.session.outline import Outline
    from kaa.shell.navigating import Navigation

_KIND = re.compile(r"[A-Za-z0-9_.-]{0,64}")
_MOST_BYTES = 256 * 1024


class ExtensionSession:
    """The session of a conversation as an extension uses it (`ConversationSession`)."""

    def __init__(
        self,
        extension: str,
        agent: Agent,
        store: SessionStore,
        recorder: SessionRecorder,
        messages: ExtensionMessages,
        navigation: "Callable[[], Navigation]",
    ) -> None:
        self._extension = extension
        self._agent = agent
        self._store = store
        self._recorder = recorder
        self._messages = messages
        self._navigation = navigation

    def append(self, data: Json, kind: str = "", *, display: "DisplayContent" = "") -> str:
        from kaa.session.as_user_message import type_of  # lazy: few extensions write entries

        values = _storable(display)
        entry = Custom(
            custom_type=type_of(self._extension, _checked(kind)), data=self._value(data), display=values or None
        )
        try:
            entry_id = self._recorder.note(entry)
        except SessionError as error:
            raise CommandError(str(error)) from error
        if values:
            self._agent.emit(ExtensionEntry(entry_id, self._extension, kind, values))
        return entry_id

    def note_work(self, kind: str, about: str) -> None:
        from kaa.session.as_user_message import type_of  # lazy, as above
        from kaa.session.unfinished import note_work  # lazy: few conversations have such work

        note_work(self._store.path, self._store.header.cwd, type_of(self._extension, _checked(kind)), about)

    def add_message(
        self, text: str, kind: str = "", *, display: "bool | DisplayContent" = True, details: Json = None
    ) -> None:
        details = self._value(details)
        if not isinstance(display, bool):
            if not isinstance(details, dict | None):
                raise TypeError(
                    f"the details {shortened(details)} are no object: only an object has room for `display`"
                )
            details, display = {**(details or {}), "display": _storable(display)}, True
        message = written_by(ExtensionNote(self._extension, _checked(kind), display, details), text)
        try:
            self._recorder.require_writable()
            self._messages.add(message)
        except SessionError as error:
            raise CommandError(str(error)) from error

    def entries(self, kind: str | None = None) -> "Sequence[OwnEntry]":
        from kaa.ext.conversation_session import OwnEntry  # lazy: few extensions read their entries

        found: list[OwnEntry] = []
        for node in self._store.tree.path():
            entry = read_entry(self._store, node) if node.type == "custom" else None
            if not isinstance(entry, Custom):
                continue
            extension, _, own_kind = entry.custom_type.partition(":")
            if extension == self._extension and kind in (None, own_kind):
                found.append(OwnEntry(node.id, own_kind, entry.data, entry.timestamp))
        return found

    @property
    def messages(self) -> Sequence[Message]:
        return tuple(self._agent.messages)

    async def outline(self) -> "Outline":
        from kaa.session.outline import outline  # lazy: few extensions ask

        tree = self._store.tree
        return await asyncio.to_thread(outline, self._store, tuple(tree.nodes), tree.leaf)

    def label(self, entry_id: str, text: str | None) -> None:
        try:
            self._navigation().label(entry_id, text)
        except SessionError as error:
            raise CommandError(str(error)) from error

    def _value(self, data: Json) -> Json:
        from kaa.shell.acting.values import as_json  # lazy: few extensions write entries

        return msgspec.json.decode(as_json(data, _MOST_BYTES, f"the data of extension {self._extension}"))


def _storable(display: "DisplayContent") -> list[Json]:
    from kaa.ext.showing import storable  # lazy: few extensions show something

    return storable(display) if display != "" else []


def _checked(kind: object) -> str:
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise CommandError(f"invalid kind {kind!r}: use at most 64 letters, digits, _, - and .")
    return kind
