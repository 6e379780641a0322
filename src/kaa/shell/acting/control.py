"""Carries out what extensions ask of one conversation (`kaa.ext.acting.ConversationControl`).

Data of an extension is read from the branch, so it follows resuming and rewinding. Its messages say who wrote them, and
are limited.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from kaa.core.agent import Agent
from kaa.core.budget import LimitUsage
from kaa.core.events import AgentEnd, CompactionEnd, Event, ExtensionEntry, MessageEnd, MessageStart, TurnEnd
from kaa.core.messages import ExtensionNote, Json, Message, UserMessage, user_message
from kaa.ext.acting import IdleWork
from kaa.ext.choices import OtherFiles
from kaa.ext.errors import CommandError
from kaa.ext.features import Features
from kaa.ext.results import shortened
from kaa.ext.scope import Scope
from kaa.ext.tools import RegisteredTool
from kaa.host.log import LOG
from kaa.session.entries import Custom
from kaa.session.errors import SessionError
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore, read_entry
from kaa.shell.active_tools import ActiveTools
from kaa.shell.budgeting import Budgeting
from kaa.shell.home import Home
from kaa.shell.models.switching import Models
from kaa.shell.naming import Naming
from kaa.shell.settings import Settings

if TYPE_CHECKING:
    from kaa.ext.command_reading import CommandReading
    from kaa.ext.completions import Completion, CompletionTask
    from kaa.ext.conversation_session import ConversationSession, OwnEntry
    from kaa.ext.flags import FlagValue
    from kaa.ext.navigation import SessionChanges, Since
    from kaa.ext.registration.resources import SettingsT
    from kaa.ext.showing import DisplayContent
    from kaa.ext.stores import Store, StoreScope
    from kaa.session.outline import Outline
    from kaa.shell.compaction.summarizing import Summarizer
    from kaa.shell.navigating import Navigation

# A message of an extension starts a run, whose events may lead to the next message: without a limit, for ever.
_MOST_MESSAGES = 25
_KIND = re.compile(r"[A-Za-z0-9_.-]{0,64}")
_MOST_BYTES = 256 * 1024


class Unasked(Protocol):
    """Has the conversation do what no user asked for. `kaa.shell.work_queue.WorkQueue` does it."""

    @property
    def beside(self) -> int:
        """How many works go on beside runs."""

    def say_unasked(self, message: UserMessage, *, steer: bool) -> None:
        """Give the model a message of an extension: now, or when the run would end, or (`steer`) within the run."""

    def when_idle(self, extension: str, work: IdleWork) -> None:
        """Call a function of an extension as soon as nothing is under way."""

    def run_beside(self, work: Coroutine[None, None, None]) -> None:
        """Do work beside runs and messages. The end of the conversation cancels it."""


class ExtensionMessages:
    """The messages of all extensions of one conversation."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._sent = 0  # since the last message of the user
        self._waiting: list[UserMessage] = []
        agent.subscribe(self._observe)

    def send(self, unasked: Unasked, extension: str, text: str, *, steer: bool) -> None:
        """Send a message of an extension; `unasked` gives it to the model.

        Raises:
            CommandError: the text is empty, or too many were sent since the last message of the user.
        """
        message = written_by(ExtensionNote(extension), text)
        if self._sent >= _MOST_MESSAGES:
            raise CommandError(
                f"the message was not sent: extensions sent {_MOST_MESSAGES} messages since the last one of the user,"
                " which is the limit"
            )
        self._sent += 1
        unasked.say_unasked(message, steer=steer)

    def add(self, message: UserMessage) -> None:
        """Have the model know a message with its next request; nothing may come between a call and its result."""
        if self._agent.is_running:
            self._waiting.append(message)
        else:
            self._say(message)

    def _observe(self, event: Event) -> None:
        match event:
            case MessageEnd(message=UserMessage(origin="person" | "command")):
                self._sent = 0
            case TurnEnd() | AgentEnd() | CompactionEnd() if self._waiting:
                waiting, self._waiting = self._waiting, []
                for message in waiting:
                    self._say(message)
            case _:
                pass

    def _say(self, message: UserMessage) -> None:
        self._agent.emit(MessageStart(message))
        self._agent.emit(MessageEnd(message))


def written_by(note: ExtensionNote, text: object) -> UserMessage:
    """A message of an extension.

    Raises:
        CommandError: there is nothing in it.
    """
    if not isinstance(text, str) or not text.strip():
        raise CommandError(f"the message {text!r} of extension {note.extension} is empty: use a text")
    return user_message(text, note=note)


class ActingParts(msgspec.Struct, frozen=True):
    """What extensions act on.

    Attributes:
        navigation: gives what labels entries of the session.
        flag: gives the options of extensions.
    """

    agent: Agent
    models: Models
    tools: ActiveTools
    naming: Naming
    budgeting: Budgeting
    store: SessionStore
    recorder: SessionRecorder
    summarizer: "Summarizer"
    navigation: "Callable[[], Navigation]"
    settings: Callable[[], Settings]
    flag: "Callable[[str, str], FlagValue | None]"
    home: Home
    project: str


class Acting:
    """Does what the extensions of one conversation ask for (`kaa.ext.acting.ConversationActions`).

    All calls must come from its event loop.

    Args:
        notify: told, in a sentence, of what fails and has no caller.
        unasked: gives what starts runs for extensions; None as long as nothing does.
    """

    def __init__(
        self,
        parts: ActingParts,
        notify: Callable[[str], None],
        unasked: Callable[[], Unasked | None],
        approval_mode: Callable[[], str],
    ) -> None:
        self._parts = parts
        self._unasked = unasked
        self._approval_mode = approval_mode
        self.notify = notify
        self._messages = ExtensionMessages(parts.agent)

    def send(self, extension: str, text: str, *, steer: bool) -> None:
        self._messages.send(self._queue(), extension, text, steer=steer)

    def when_idle(self, extension: str, work: IdleWork) -> None:
        if not callable(work):
            raise CommandError(f"{work!r} is not a function: pass an async function, without calling it")
        self._queue().when_idle(extension, work)

    def run_beside(self, extension: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        self._queue().run_beside(self._reporting(extension, work))

    async def _reporting(self, extension: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 isolation boundary: nobody waits for it
            LOG.exception("background work of extension %s failed", extension)
            self.notify(f"work of extension {extension} failed: {error}")

    def session(self, extension: str) -> "ConversationSession":

        parts = self._parts
        return ExtensionSession(extension, parts.agent, parts.store, parts.recorder, self._messages, parts.navigation)

    def store(self, extension: str, scope: "StoreScope") -> "Store":
        from kaa.shell.acting.stores import open_store

        parts = self._parts
        return open_store(extension, scope, self.session(extension), parts.home, parts.project)

    def settings(self, extension: str, kind: "type[SettingsT]") -> "SettingsT":
        from kaa.shell.acting.settings import converted

        return converted(kind, extension, self._parts.settings().extension_settings, self._parts.home.settings)

    @property
    def features(self) -> Features:
        model = self._parts.agent.model
        return self._parts.settings().features.for_model(model.provider, model.id)

    @property
    def verify_commands(self) -> tuple[str, ...]:
        return self._parts.settings().verify

    def read_command(self, command: str) -> "CommandReading":
        from kaa.ext.command_reading import CommandReading  # lazy, as below: it loads the grammar of bash
        from kaa.shell.approvals.grammar import read
        from kaa.shell.approvals.reach import reach

        found = reach(read(command))
        redirections = tuple(text for simple in found.simple for text in simple.redirections)
        return CommandReading(found.commands, redirections, found.complete)

    @property
    def limits(self) -> Sequence[LimitUsage]:
        return self._parts.budgeting.standings()

    @property
    def other_files(self) -> OtherFiles:
        return self._parts.settings().plan.other_files

    async def changes(self, since: "Since") -> "SessionChanges":
        return await self._parts.navigation().changes(since=since)

    def flag(self, extension: str, name: str) -> "FlagValue | None":
        return self._parts.flag(extension, name)

    @property
    def models(self) -> Models:
        return self._parts.models

    @property
    def naming(self) -> Naming:
        return self._parts.naming

    @property
    def approval_mode(self) -> str:
        return self._approval_mode()

    @property
    def active_tools(self) -> tuple[str, ...]:
        return self._parts.agent.tool_names

    @property
    def deferred_tools(self) -> dict[str, RegisteredTool]:
        return self._parts.tools.deferred()

    def can_call(self, name: str) -> bool:
        tools = self._parts.tools
        return name in self._parts.agent.tool_names or name in tools.deactivated or name in tools.deferred()

    def hidden_tool(self, name: str) -> tuple[RegisteredTool, Scope]:
        return self._parts.tools.hidden(name)

    def activate_tool(self, name: str) -> None:
        self._parts.tools.activate(name, self._parts.agent)

    def deactivate_tool(self, name: str) -> None:
        self._parts.tools.deactivate(name, self._parts.agent)

    async def complete(self, extension: str, task: "CompletionTask") -> "Completion":
        from kaa.shell.acting.completing import complete

        return await complete(extension, task, self._parts.summarizer, self._parts.recorder)

    def _queue(self) -> Unasked:
        unasked = self._unasked()
        if unasked is None:
            raise CommandError("the conversation is not open, so nothing can be sent or left for later")
        return unasked


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
        from kaa.shell.acting.stores import as_json  # lazy: few extensions write entries

        return msgspec.json.decode(as_json(data, _MOST_BYTES, f"the data of extension {self._extension}"))


def _storable(display: "DisplayContent") -> list[Json]:
    from kaa.ext.showing import storable  # lazy: few extensions show something

    return storable(display) if display != "" else []


def _checked(kind: object) -> str:
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise CommandError(f"invalid kind {kind!r}: use at most 64 letters, digits, _, - and .")
    return kind
