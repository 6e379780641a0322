"""Starts a server when the model begins to write a call of one of its tools, so that both take the time together."""

import re

from kaa.builtin.mcp.host import McpHost
from kaa.builtin.mcp.names import GATEWAY
from kaa.builtin.mcp.tools import McpTools, hindrance_to_start, view_of
from kaa.core.events import MessageUpdate, ToolCallDelta, ToolCallEnd, ToolCallStart
from kaa.ext.context import ConversationContext

_SERVER = re.compile(r'"server"\s*:\s*"([^"\\]{1,80})"')
# The name of the server comes early, if it comes.
_MOST_CHARACTERS = 400


class Prewarming:
    """Watches replies while they are written."""

    def __init__(self, host: McpHost, tools: McpTools) -> None:
        self._host = host
        self._tools = tools
        self._written: dict[tuple[str, int], str] = {}  # arguments of calls of the gateway, as far as they have come

    def see(self, event: MessageUpdate, context: ConversationContext) -> None:
        match event.assistant_message_event:
            case ToolCallStart(content_index=index, name=name):
                if name == GATEWAY:
                    self._written[(context.conversation_id, index)] = ""
                elif (server := self._tools.server_of(name)) is not None:
                    self._prewarm(server, context)
            case ToolCallDelta(content_index=index, delta=delta) if self._written:
                self._read((context.conversation_id, index), delta, context)
            case ToolCallEnd(content_index=index):
                self._written.pop((context.conversation_id, index), None)
            case _:
                pass

    def _prewarm(self, server: str, context: ConversationContext) -> None:
        if not hindrance_to_start(view_of(self._host, server), context):
            self._host.prewarm(server)

    def _read(self, call: tuple[str, int], delta: str, context: ConversationContext) -> None:
        if (written := self._written.get(call)) is None:
            return
        written += delta
        if (named := _SERVER.search(written)) is not None:
            self._prewarm(named[1], context)
        if named is not None or len(written) > _MOST_CHARACTERS:
            del self._written[call]
        else:
            self._written[call] = written
