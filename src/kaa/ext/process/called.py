"""Tools, slash commands and keys whose work a process does, and what they have kaa do."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from kaa.core.messages import Json
from kaa.core.provider import ToolSchema
from kaa.core.tool import ToolError, ToolResult
from kaa.ext.command_context import CommandContext
from kaa.ext.commands import CommandAction, Reply
from kaa.ext.context import ConversationContext, ToolContext
from kaa.ext.display import Level, Placement
from kaa.ext.errors import CommandError
from kaa.ext.process import conversion, wire
from kaa.ext.process.offers import ToolOffer
from kaa.ext.process.process_run import NotRunningError
from kaa.ext.process.supervisor import Supervisor
from kaa.ext.process.wire import RpcError
from kaa.host.log import LOG

_MAX_CHARACTERS = 20_000


class HandlerAction(msgspec.Struct, frozen=True):
    """What a handler returned. `type` has the names of notifications, and a few more."""

    type: str
    payload: Json = None


class ActionAnswer(msgspec.Struct, frozen=True):
    """The answer to `event/dispatch` and `shortcut/handle`."""

    action: Json = None


class _Shown(msgspec.Struct, frozen=True):
    """`notify` has a message and a level, `showMessage` a text."""

    message: str = ""
    text: str = ""
    level: str = ""

    @property
    def words(self) -> str:
        """What is shown."""
        return self.message or self.text


class _Sent(msgspec.Struct, frozen=True):
    """`sendMessage` and `steer`."""

    content: str


class _Widget(msgspec.Struct, frozen=True):
    """`setWidget`. Without content it is removed."""

    key: str
    placement: str = ""
    content: str = ""


class _Status(msgspec.Struct, frozen=True):
    """`setStatus`. Without a text it is removed."""

    key: str
    text: str = ""


class _Title(msgspec.Struct, frozen=True):
    """`setSessionTitle`."""

    title: str


class _Input(msgspec.Struct, frozen=True):
    """`setInputText`."""

    text: str


class ActionRunner:
    """Carries them out in a conversation.

    Args:
        name: of the extension.
        supervisor: knows the permissions, and reports to the user.
    """

    def __init__(self, name: str, supervisor: Supervisor) -> None:
        self._name = name
        self._supervisor = supervisor
        self._replies: dict[str, list[str]] = {}  # to the slash commands that run, by conversation

    @contextmanager
    def replies(self, conversation_id: str) -> Iterator[list[str]]:
        """Collect meanwhile what `showMessage` shows in a conversation, as the reply to a slash command."""
        collected = self._replies.setdefault(conversation_id, [])
        try:
            yield collected
        finally:
            self._replies.pop(conversation_id, None)

    def notified(self, method: str, params: Mapping[str, Json], context: ConversationContext | None) -> None:
        """Carry out a notification; what cannot be carried out is logged."""
        try:
            if context is None:
                self._without_conversation(method, params)
            else:
                self._carry_out(method, params, context)
        except (RpcError, CommandError, TypeError, ValueError) as error:
            LOG.warning("extension %s: %s: %s", self._name, method, error)

    def perform(self, action: Json, context: ConversationContext | None) -> None:
        """Carry out an action; nothing for null."""
        if action is None:
            return
        try:
            parsed = wire.parse(action, HandlerAction)
        except RpcError as error:
            LOG.warning("extension %s: invalid action: %s", self._name, error)
            return
        self.notified(parsed.type, parsed.payload if isinstance(parsed.payload, dict) else {}, context)

    def _without_conversation(self, method: str, params: Mapping[str, Json]) -> None:
        if method not in ("notify", "showMessage"):
            raise CommandError("no conversation is open")
        self._supervisor.report(_shown(params).words[:_MAX_CHARACTERS])

    def _carry_out(self, method: str, params: Mapping[str, Json], context: ConversationContext) -> None:
        match method:
            case "notify":
                shown = _shown(params)
                context.show.notice(shown.words, _LEVELS.get(shown.level, "info"))
            case "showMessage":
                text = _shown(params).words
                replies = self._replies.get(context.conversation_id)
                if replies is None:
                    context.show.notice(text)
                else:
                    replies.append(text[:_MAX_CHARACTERS])
            case "setWidget":
                widget = wire.parse(params, _Widget)
                place: Placement = "below" if widget.placement == "below-status" else "above"
                context.show.widget(widget.key, widget.content, place)
            case "setStatus":
                status = wire.parse(params, _Status)
                context.show.status(status.key, status.text)
            case "setInputText":
                if context.conversation_id not in self._replies:
                    raise CommandError("outside of its slash commands and keys the extension cannot change the editor")
                context.show.editor_text(wire.parse(params, _Input).text)
            case "sendMessage" | "steer" | "setSessionTitle":
                self._change(method, params, context)
            case _:
                raise CommandError("kaa does not support this")

    def _change(self, method: str, params: Mapping[str, Json], context: ConversationContext) -> None:
        """Change the conversation, which needs a permission unless the user has just called the extension.

        Raises:
            CommandError: there is none, or it cannot be done.
        """
        if self._supervisor.permissions.session != "write" and context.conversation_id not in self._replies:
            raise CommandError("outside of its slash commands the extension needs the permission `session: write`")
        match method:
            case "sendMessage":
                context.send(wire.parse(params, _Sent).content)
            case "steer":
                context.steer(wire.parse(params, _Sent).content)
            case _:
                context.naming.set_name(wire.parse(params, _Title).title)


def _shown(params: Mapping[str, Json]) -> _Shown:
    """What `notify` and `showMessage` show.

    Raises:
        CommandError: nothing, which would be an empty notice.
    """
    shown = wire.parse(params, _Shown)
    if not shown.words.strip():
        raise CommandError("the text is empty, so kaa shows nothing")
    return shown


_LEVELS: dict[str, Level] = {"warn": "warning", "warning": "warning", "error": "error"}


class ProcessTool:
    """A tool of a process."""

    sequential = False

    def __init__(self, offer: ToolOffer, supervisor: Supervisor) -> None:
        self.schema = ToolSchema(
            offer.name, offer.description, {"type": "object", "properties": {}, **offer.parameters}
        )
        self._may_cancel = offer.interrupt_behavior != "block"
        self._supervisor = supervisor

    async def run(self, arguments: dict[str, Json], context: ToolContext) -> ToolResult:
        """See `Tool`."""
        params: Mapping[str, Json] = {"callId": context.call_id, "name": self.schema.name, "args": arguments}
        try:
            answer = await self._supervisor.call("tool/execute", params, context, may_cancel=self._may_cancel)
            return conversion.tool_result(answer)
        except (RpcError, NotRunningError) as error:
            raise ToolError(f"{self.schema.name} failed: {error}") from error


class CommandCall:
    """A slash command of a process."""

    def __init__(self, name: str, supervisor: Supervisor, actions: ActionRunner) -> None:
        self._name = name
        self._supervisor = supervisor
        self._actions = actions

    async def __call__(self, arguments: str, context: CommandContext) -> CommandAction | None:
        """Have the process execute it. What it shows meanwhile is the reply."""
        # Some requests of the process need what only a command may do.
        conversation = context if isinstance(context, ConversationContext) else None
        with self._actions.replies(context.conversation_id) as replies:
            try:
                params = {"name": self._name, "args": arguments}
                await self._supervisor.call("command/execute", params, conversation)
            except (RpcError, NotRunningError) as error:
                raise CommandError(f"/{self._name} failed: {error}") from error
        return Reply("\n".join(replies)) if replies else None


class ShortcutCall:
    """A key that a process handles."""

    def __init__(self, key: str, supervisor: Supervisor, actions: ActionRunner) -> None:
        self._key = key
        self._supervisor = supervisor
        self._actions = actions

    async def __call__(self, _: str, context: CommandContext) -> CommandAction | None:
        """Tell the process that the key was pressed, and do what it answers."""
        conversation = context if isinstance(context, ConversationContext) else None
        with self._actions.replies(context.conversation_id) as replies:
            try:
                answer = await self._supervisor.call("shortcut/handle", {"key": self._key}, conversation)
                self._actions.perform(wire.parse(answer or {}, ActionAnswer).action, conversation)
            except (RpcError, NotRunningError) as error:
                raise CommandError(f"{self._key} failed: {error}") from error
        return Reply("\n".join(replies)) if replies else None
