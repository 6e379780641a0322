"""What may step into a run: before each request, before and after each tool, and before the end."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from kaa.core.messages import AssistantMessage, Json, Message, ToolCall
from kaa.core.provider import Request, ThinkingLevel
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
    """Run the tool with these arguments instead. A permit that an earlier hook gave was for the others and is void.

    Attributes:
        source: who wants that, for people.
    """

    arguments: dict[str, Json]
    source: str = ""


class RunAgain(msgspec.Struct, frozen=True):
    """Run the tool once more, because the situation has changed or with a permit. All hooks see the new result."""

    permit: Permit | None = None


class Refuse(msgspec.Struct, frozen=True):
    """What the tool wanted is not permitted: its result is an error. The reason is appended.

    Attributes:
        advice: more for the model, which people are not shown.
        denied: the run counts as not permitted.
        appended: what is appended instead of the reason, where the result says a part of it already.
        is_error: False where the tool did what it should, and only something beside it is not permitted.
    """

    reason: str
    advice: str = ""
    denied: bool = True
    appended: str | None = None
    is_error: bool = True


class ReplaceMessages(msgspec.Struct, frozen=True):
    """Send these messages with this request. The conversation itself stays as it is."""

    messages: tuple[Message, ...]


class UseThinking(msgspec.Struct, frozen=True):
    """Send this request with this thinking level, one that the model has. The level of the conversation stays."""

    level: ThinkingLevel


class Continue(msgspec.Struct, frozen=True):
    """Do not end the run. The reason goes to the model as the next message.

    Attributes:
        source: who wants that, for people.
        progress: a part of the work is done and the next one begins: the limit of continuations counts from here.
    """

    reason: str
    source: str = ""
    progress: bool = False


class GiveUp(msgspec.Struct, frozen=True):
    """End the run: the model stops, and what was asked for is not reached.

    Attributes:
        reason: why, for people.
        ends_as: `unfinished`; `unverified`: commands that verify the work do not succeed; `loop`: the model repeats
            itself.
    """

    reason: str
    ends_as: Literal["unfinished", "unverified", "loop"] = "unfinished"


class RunGivenUpError(Exception):
    """A hook ends the run instead of letting a request be sent."""

    def __init__(self, demand: GiveUp) -> None:
        super().__init__(demand.reason)
        self.demand = demand


BeforeRequest: TypeAlias = Callable[[Request], Awaitable[ReplaceMessages | UseThinking | GiveUp | None]]
BeforeTool: TypeAlias = Callable[[ToolCall], Awaitable[Block | ReplaceArguments | Permit | None]]
AfterTool: TypeAlias = Callable[[ToolCall, ToolResult], Awaitable[ToolResult | RunAgain | Refuse | None]]
MissingTool: TypeAlias = Callable[[str], Awaitable[str | None]]
BeforeEnd: TypeAlias = Callable[[AssistantMessage], Awaitable[Continue | GiveUp | None]]


class Hooks(Protocol):
    """What steps into runs, in this order. Read anew each time: hooks come and go with their extensions."""

    @property
    def before_request(self) -> Sequence[BeforeRequest]:
        """Called before every request of a run, repeated ones too. If one raises, the request is not sent."""

    @property
    def before(self) -> Sequence[BeforeTool]:
        """Called before every tool call."""

    @property
    def after(self) -> Sequence[AfterTool]:
        """Called after every tool call."""

    @property
    def missing_tool(self) -> Sequence[MissingTool]:
        """Called with the name of a tool that does not exist: the first answer tells the model what to do instead."""

    @property
    def before_end(self) -> Sequence[BeforeEnd]:
        """Called where a run would end because the model has nothing more to do."""


class FixedHooks(msgspec.Struct, frozen=True):
    """Hooks that stay the same."""

    before: tuple[BeforeTool, ...] = ()
    after: tuple[AfterTool, ...] = ()
    before_end: tuple[BeforeEnd, ...] = ()
    before_request: tuple[BeforeRequest, ...] = ()
    missing_tool: tuple[MissingTool, ...] = ()
