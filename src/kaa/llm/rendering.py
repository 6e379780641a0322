"""Renders each message and each tool of a conversation once, however often they are sent.

Servers that load definitions of tools themselves are told which a search has found.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from kaa.core.messages import Json, Message, ToolResultMessage
from kaa.core.provider import TOOL_SEARCH, Model, ToolSchema

ItemT = TypeVar("ItemT")
RenderedT = TypeVar("RenderedT")
JsonObject: TypeAlias = dict[str, Json]


class RenderedOnce(Generic[ItemT, RenderedT]):
    """Remembers what `render` made of the items of the request before.

    Items are immutable and stay the same objects while a conversation grows, so identity tells them apart.

    Args:
        render: depends on nothing but the item and the model. Nobody may change what it returns.
    """

    def __init__(self, render: Callable[[ItemT, Model], RenderedT]) -> None:
        self._render = render
        self._model: Model | None = None
        self._known: dict[int, tuple[ItemT, RenderedT]] = {}

    def __call__(self, items: Iterable[ItemT], model: Model) -> list[tuple[ItemT, RenderedT]]:
        """Every item with its rendering for `model`; the renderings of other items are forgotten."""
        known = self._known if model == self._model else {}
        pairs = [known.get(id(item)) or (item, self._render(item, model)) for item in items]
        self._known, self._model = {id(pair[0]): pair for pair in pairs}, model
        return pairs


class RequestRenderer(NamedTuple):
    """What an adapter keeps from request to request: the renderings in its wire format."""

    messages: RenderedOnce[Message, list[JsonObject]]
    tools: RenderedOnce[ToolSchema, JsonObject]


def deferred_tools(tools: Sequence[ToolSchema]) -> dict[str, ToolSchema]:
    """The deferred ones of a request's tools, by name."""
    return {tool.name: tool for tool in tools if tool.deferred}


def found_tools(message: Message, deferred: dict[str, ToolSchema]) -> list[ToolSchema]:
    """The tools that a message says were found and that are still there; none if it is no result of a search."""
    if not isinstance(message, ToolResultMessage) or message.tool_name != TOOL_SEARCH or message.is_error:
        return []
    match message.details:
        case {"found": [*names]}:
            return [deferred[name] for name in names if isinstance(name, str) and name in deferred]
        case _:
            return []
