"""What may step between the model and a tool."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from kaa.core.messages import Json, ToolCall
from kaa.core.tool import ToolResult


class Block(msgspec.Struct, frozen=True):
    """Do not run the tool; the reason goes to the model. `denied`: a person or a policy said no."""

    reason: str
    denied: bool = False


class ReplaceArguments(msgspec.Struct, frozen=True):
    """Run the tool with these arguments instead."""

    arguments: dict[str, Json]


BeforeTool: TypeAlias = Callable[[ToolCall], Awaitable[Block | ReplaceArguments | None]]
AfterTool: TypeAlias = Callable[[ToolCall, ToolResult], Awaitable[ToolResult | None]]


class ToolHooks(msgspec.Struct, frozen=True):
    """What steps in before and after every call, in this order."""

    before: tuple[BeforeTool, ...] = ()
    after: tuple[AfterTool, ...] = ()
