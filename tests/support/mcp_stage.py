"""Conversations that use servers of MCP in memory, over a scripted model."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from kaa.builtin.mcp import mcp_extension
from kaa.builtin.mcp.host import McpHost
from kaa.core.messages import Json, ToolResultMessage, user_message
from kaa.ext.display import DisplayKind, DisplayUpdate, NoticeShown
from kaa.ext.places import ExtensionId
from kaa.shell.host import HostedConversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.model_script import ScriptItem
from tests.support.stage import Stage

T = TypeVar("T")

USUAL = ConversationOptions(model="m", approvals="auto")


def play_with(
    stage: Stage,
    servers: McpHost,
    scene: Callable[[HostedConversation], Awaitable[T]],
    options: ConversationOptions = USUAL,
) -> T:
    """Open a conversation that can use servers, do `scene` with it, close it."""

    async def whole() -> T:
        host = stage.host()
        host.extensions.load(ExtensionId.built_in("kaa.builtin.mcp"), mcp_extension(servers), built_in=True)
        stage.workspace = MemoryWorkspace(stage.files)
        try:
            hosted = await host.open(options, stage.workspace)
            await hosted.begin()
            return await scene(hosted)
        finally:
            await host.close()

    return run(whole())


def results_of(
    stage: Stage, servers: McpHost, script: Sequence[ScriptItem], options: ConversationOptions = USUAL
) -> list[ToolResultMessage]:
    """What the tools answer in a conversation of one message, in which the model follows a script."""

    async def scene(hosted: HostedConversation) -> list[ToolResultMessage]:
        stage.server.begin(script)
        await hosted.work.submit(user_message("Do it."))
        messages = hosted.conversation.messages
        return [message for message in messages if isinstance(message, ToolResultMessage)]

    return play_with(stage, servers, scene, options)


def declared(body: Json) -> list[str]:
    """Names of the tools that a request declares (Chat Completions)."""
    return [tool["function"]["name"] for tool in body["tools"]]


class Notices:
    """A frontend that remembers the notices of extensions."""

    shows: tuple[DisplayKind, ...] = ("notice",)

    def __init__(self) -> None:
        self.texts: list[str] = []

    def show(self, update: DisplayUpdate) -> None:
        """Remember it."""
        assert isinstance(update.change, NoticeShown)
        self.texts.append(update.change.text)
