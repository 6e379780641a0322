"""What a tool is: a name and a schema for the model, a parser for what the model sends, and the work itself."""

from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

import msgspec

from kaa.core.arguments import parse_arguments, schema_of
from kaa.core.messages import Json, TextContent, ToolResultContent
from kaa.core.provider import ToolSchema


class ToolResult(msgspec.Struct, frozen=True):
    """What a tool answers. `content` goes to the model, `details` only to frontends and the session.

    Attributes:
        denials: calls within this one that were not permitted, with the reason.
    """

    content: tuple[ToolResultContent, ...]
    details: Json = None
    is_error: bool = False
    denials: tuple[str, ...] = ()


class ToolError(Exception):
    """A tool could not do what it was asked.

    Args:
        message: for the model; says what to do instead.
        details: for frontends and hooks, as in `ToolResult`.
    """

    def __init__(self, message: str, details: Json = None) -> None:
        super().__init__(message)
        self.details = details


def text_result(text: str, *, details: Json = None, is_error: bool = False) -> ToolResult:
    """A result of one text."""
    return ToolResult((TextContent(text),), details, is_error)


class Permit(msgspec.Struct, frozen=True):
    """Lets one call do more than others. Subclasses hold the means to do it, which the core does not know."""


class ToolRun(Protocol):
    """What a running tool knows of its call."""

    @property
    def call_id(self) -> str:
        """The id of the tool call."""

    @property
    def permit(self) -> Permit | None:
        """What a hook gave this call, if any did."""

    def update(self, delta: str, skipped_bytes: int = 0) -> None:
        """Show more output while the tool runs. `skipped_bytes`: output left out before this delta."""


RunT_contra = TypeVar("RunT_contra", contravariant=True)


@runtime_checkable
class Tool(Protocol[RunT_contra]):
    """A tool. The loop uses tools that work with a `ToolRun`.

    Attributes:
        sequential: the calls of a reply that contains a call of this tool run one after another.
    """

    @property
    def schema(self) -> ToolSchema:
        """Name, description and JSON Schema."""

    @property
    def sequential(self) -> bool:
        """Whether a batch with this tool may not run in parallel."""

    async def run(self, arguments: dict[str, Json], run: RunT_contra) -> ToolResult:
        """Parse the arguments and do the work. Cancellation is asyncio cancellation.

        Raises:
            ArgumentError: the arguments do not fit the schema.
            ToolError: the work could not be done.
        """


Arguments = TypeVar("Arguments", bound=msgspec.Struct)
Prepare: TypeAlias = Callable[[dict[str, Json]], dict[str, Json]]


def preparation_of(tool: object) -> Prepare | None:
    """What repairs the arguments of a tool, if it has something like that."""
    prepare: Prepare | None = getattr(tool, "prepare", None)
    return prepare


class TypedTool(Generic[Arguments, RunT_contra]):
    """A tool whose arguments are a msgspec struct; the schema comes from its type hints.

    Args:
        name: as the model calls it.
        description: for the model; keep it short, every request carries it.
        arguments: the struct; descriptions of fields come from `Annotated[..., Meta(description=...)]`.
        execute: the work.
        prepare: repairs usual mistakes of models, such as other names of arguments, before anybody sees the call.
        sequential: see `Tool`.
        shown: the struct whose schema models see, if other tools may give more arguments than they.

    Attributes:
        prepare: repairs arguments; None if there is nothing to repair.
        schema: name, description and JSON Schema.
        sequential: whether a batch with this tool may not run in parallel.
    """

    def __init__(
        self,
        name: str,
        description: str,
        arguments: type[Arguments],
        execute: Callable[[Arguments, RunT_contra], Awaitable[ToolResult]],
        *,
        prepare: Prepare | None = None,
        sequential: bool = False,
        shown: type[msgspec.Struct] | None = None,
    ) -> None:
        self._arguments = arguments
        self._execute = execute
        self.prepare = prepare
        self.sequential = sequential
        self.schema = ToolSchema(name, description, schema_of(shown or arguments))

    async def run(self, arguments: dict[str, Json], run: RunT_contra) -> ToolResult:
        """Prepare, coerce and validate the arguments, then do the work."""
        if self.prepare is not None:
            arguments = self.prepare(arguments)
        return await self._execute(parse_arguments(arguments, self._arguments), run)
