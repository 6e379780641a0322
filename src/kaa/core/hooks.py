"""What may step between the model and a tool."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from kaa.core.messages import Json, ToolCall
from kaa.core.tool import Permit, ToolResult


class Block(msgspec.Struct, frozen=True):
    """Do not run the tool; the reason goes to the model. `denied`: a person or a policy said no.

    Attributes:
        advice: more for the model, which people are not shown.
    """

    reason: str
    denied: bool = False
    advice: str = ""


class ReplaceArguments(msgspec.Struct, frozen=True):
    """Run the tool with these arguments instead. A permit that an earlier hook gave was for the others and is void."""

    arguments: dict[str, Json]


class RunAgain(msgspec.Struct, frozen=True):
    """Run the tool once more, because the situation has changed or with a permit. All hooks see the new result."""

    permit: Permit | None = None


class Refuse(msgspec.Struct, frozen=True):
    """What the tool wanted is not permitted: its result is an error and the run no success. The reason is appended.

    Attributes:
        advice: more for the model, which people are not shown.
    """

    reason: str
    advice: str = ""


BeforeTool: TypeAlias = Callable[[ToolCall], Awaitable[Block | ReplaceArguments | Permit | None]]
AfterTool: TypeAlias = Callable[[ToolCall, ToolResult], Awaitable[ToolResult | RunAgain | Refuse | None]]


class ToolHooks(msgspec.Struct, frozen=True):
    """What steps in before and after every call, in this order."""

    before: tuple[BeforeTool, ...] = ()
    after: tuple[AfterTool, ...] = ()
