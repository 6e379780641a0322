"""Tools, commands and extensions that are there: `host/listTools`, `host/executeTool`, `host/extInfos`."""

from collections.abc import Iterator, Mapping

import msgspec

from kaa.core.messages import Json
from kaa.ext.context import ToolContext
from kaa.ext.permissions import Permissions
from kaa.ext.process.conversion import result_json
from kaa.ext.process.services.caller import WRITES_SESSION, Caller
from kaa.ext.process.wire import INVALID_PARAMS, RpcError, parse
from kaa.ext.tools import RegisteredTool

# Of a call, in what users see of it.
_SHOWN_CHARACTERS = 200


class _Filter(msgspec.Struct, frozen=True):
    filter: str = "all"


class _Call(msgspec.Struct, frozen=True):
    name: str
    args: dict[str, Json] = {}


class _Name(msgspec.Struct, frozen=True):
    name: str


async def listed(params: Mapping[str, Json], caller: Caller) -> Json:
    """All tools with their schemas; `background_safe` are those that only read."""
    chosen = parse(params, _Filter).filter or "all"
    if chosen not in ("all", "background_safe"):
        raise RpcError(INVALID_PARAMS, f"invalid filter {chosen!r}: use all or background_safe")
    active = caller.in_conversation().active_tools
    return {
        "tools": [
            {
                "name": tool.name,
                "description": tool.tool.schema.description,
                "parameters": tool.tool.schema.parameters,
                "deferred": tool.name not in active,
            }
            for tool in _tools(caller)
            if chosen == "all" or tool.risk == "read"
        ]
    }


async def described(_params: Mapping[str, Json], caller: Caller) -> Json:
    """All tools, without their schemas."""
    return {"tools": [{"name": tool.name, "description": tool.tool.schema.description} for tool in _tools(caller)]}


async def activate(params: Mapping[str, Json], caller: Caller) -> Json:
    """Let the model call a tool from the next request on."""
    caller.require(WRITES_SESSION)
    caller.in_conversation().activate_tool(parse(params, _Name).name)
    return {}


async def execute(params: Mapping[str, Json], caller: Caller) -> Json:
    """Run a tool that the model has or could have, with the approvals that its call would need."""
    asked = parse(params, _Call)
    caller.require(Permissions(tools=(asked.name,)))
    conversation = caller.in_conversation()
    usable = (*conversation.active_tools, *conversation.deferred_tools)
    if asked.name not in usable:
        raise RpcError(INVALID_PARAMS, f"no tool {asked.name!r} can be called here: there are {', '.join(usable)}")
    shown = f"{asked.name} {msgspec.json.encode(asked.args).decode()}"[:_SHOWN_CHARACTERS]
    if isinstance(conversation, ToolContext):
        conversation.update(f"{shown}\n")
    else:
        conversation.show.notice(f"runs {shown}")
    result = await conversation.call_tool(asked.name, asked.args)
    return result_json(result)


async def commands(_params: Mapping[str, Json], caller: Caller) -> Json:
    """All slash commands."""
    found = (command for scope in caller.host.scopes() for command in scope.commands.values())
    known = sorted(found, key=lambda command: command.name)
    return {"commands": [{"name": command.name, "description": command.description} for command in known]}


async def prompt_sections(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The sections that extensions added to the system prompt."""
    return {"sections": [{"title": name} for scope in caller.host.scopes() for name in scope.sections]}


async def has_compactor(_params: Mapping[str, Json], caller: Caller) -> Json:
    """Whether an extension writes summaries."""
    return {"present": any(scope.compactors for scope in caller.host.scopes())}


async def extensions(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The extensions that are loaded, without paths of the user's machine."""
    return {
        "extensions": [
            {
                "name": scope.extension.name,
                "kind": "builtin" if scope.built_in else "extension",
                "tools": list(scope.tools),
                "commands": list(scope.commands),
            }
            for scope in caller.host.scopes()
        ]
    }


def _tools(caller: Caller) -> Iterator[RegisteredTool]:
    return (tool for scope in caller.host.scopes() for tool in scope.tools.values())
