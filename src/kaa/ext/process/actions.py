"""What a process has kaa do: its notifications, and the actions that its event handlers and shortcuts return."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from kaa.core.messages import Json
from kaa.ext.commands import CommandAction, Reply, Submit
from kaa.ext.context import ConversationContext
from kaa.ext.process import wire
from kaa.ext.process.supervisor import Supervisor
from kaa.ext.process.wire import RpcError
from kaa.host.log import LOG

_MAX_CHARACTERS = 20_000


class Action(msgspec.Struct, frozen=True):
    """What a handler returned. `type` has the names of notifications, and a few more."""

    type: str
    payload: Json = None


class ActionAnswer(msgspec.Struct, frozen=True):
    """The answer to `event/dispatch` and `shortcut/handle`."""

    action: Json = None


class _Shown(msgspec.Struct, frozen=True):
    """`notify` has a message, `showMessage` a text."""

    message: str = ""
    text: str = ""
    level: str = ""


class _Sent(msgspec.Struct, frozen=True):
    """`sendMessage` and `steer`."""

    content: str


class Collected:
    """What a process asked for while one of its slash commands ran."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.sent: list[str] = []

    def action(self) -> CommandAction | None:
        """The result of the command."""
        if self.sent:
            return Submit("\n\n".join(self.sent))
        return Reply("\n".join(self.shown)) if self.shown else None


class Actions:
    """Carries them out.

    Args:
        name: of the extension.
        supervisor: reports to the user.
    """

    def __init__(self, name: str, supervisor: Supervisor) -> None:
        self._name = name
        self._supervisor = supervisor
        self._collecting: dict[str, Collected] = {}

    @contextmanager
    def collected(self, conversation_id: str) -> Iterator[Collected]:
        """Collect meanwhile what is shown and sent in a conversation, as the result of a slash command."""
        collected = Collected()
        self._collecting[conversation_id] = collected
        try:
            yield collected
        finally:
            del self._collecting[conversation_id]

    def notified(self, method: str, params: Mapping[str, Json], context: ConversationContext | None) -> None:
        """Carry out a notification."""
        collected = None if context is None else self._collecting.get(context.conversation_id)
        try:
            match method:
                case "notify" | "showMessage":
                    shown = wire.parse(params, _Shown)
                    self._show(shown.message or shown.text, collected)
                case "sendMessage" | "steer":
                    self._send(method, wire.parse(params, _Sent).content, collected)
                case _:
                    LOG.warning("extension %s: kaa does not support the notification %r", self._name, method)
        except RpcError as error:
            LOG.warning("extension %s: %s is invalid: %s", self._name, method, error)

    def perform(self, action: Json, context: ConversationContext | None) -> None:
        """Carry out an action; nothing for null."""
        if action is None:
            return
        try:
            parsed = wire.parse(action, Action)
        except RpcError as error:
            LOG.warning("extension %s: invalid action: %s", self._name, error)
            return
        self.notified(parsed.type, parsed.payload if isinstance(parsed.payload, dict) else {}, context)

    def _show(self, text: str, collected: Collected | None) -> None:
        if not (text := text.strip()[:_MAX_CHARACTERS]):
            return
        if collected is not None:
            collected.shown.append(text)
        else:
            self._supervisor.report(text)

    def _send(self, method: str, text: str, collected: Collected | None) -> None:
        if collected is None:
            self._supervisor.refuse(f"{method} has no effect outside of its slash commands yet")
        elif text.strip():
            collected.sent.append(text)
