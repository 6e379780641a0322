"""Tools, slash commands and keys whose work a process does."""

from collections.abc import Mapping

from kaa.core.messages import Json
from kaa.core.provider import ToolSchema
from kaa.core.tool import ToolError, ToolResult
from kaa.ext.command_context import CommandContext
from kaa.ext.commands import CommandAction, Reply
from kaa.ext.context import ConversationContext, ToolContext
from kaa.ext.errors import CommandError
from kaa.ext.process import conversion, wire
from kaa.ext.process.actions import ActionAnswer, ActionRunner
from kaa.ext.process.offers import ToolOffer
from kaa.ext.process.process_run import NotRunningError
from kaa.ext.process.supervisor import Supervisor
from kaa.ext.process.wire import RpcError


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
