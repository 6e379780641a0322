"""The parts of a conversation that take the most of the window: which tool, file, output or message."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from kaa.core.messages import AssistantMessage, Json, Message, TextContent, ToolCall, ToolResultMessage, UserMessage
from kaa.core.usage import estimate, size_of_call, tokens_in

# Arguments that say what a call is about, the best first.
_TELLING = ("path", "command", "pattern", "url", "query", "name")
_LABEL_LENGTH = 60


class ContextItem(msgspec.Struct, frozen=True):
    """A part of the next request. `tokens`: by an estimate."""

    label: str
    tokens: int


def largest(messages: Sequence[Message], count: int = 5) -> tuple[ContextItem, ...]:
    """The largest messages, calls and results, the largest first. The labels are as foreign as what they quote."""
    return tuple(heapq.nlargest(count, _items(messages), key=lambda item: item.tokens))


class ToolShare(msgspec.Struct, frozen=True):
    """What a tool takes of the next request, by an estimate.

    Attributes:
        calls: how many there are.
        call_tokens: of their arguments.
        result_tokens: of their results, with images.
    """

    name: str
    calls: int = 0
    call_tokens: int = 0
    result_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All of it."""
        return self.call_tokens + self.result_tokens


def by_tool(messages: Iterable[Message]) -> tuple[ToolShare, ...]:
    """What each tool takes, the one that takes most first. The names are the model's, so as foreign as its words."""
    shares: dict[str, ToolShare] = {}

    def add(name: str, calls: int, call_tokens: int, result_tokens: int) -> None:
        known = shares.get(name, ToolShare(name))
        shares[name] = ToolShare(
            name, known.calls + calls, known.call_tokens + call_tokens, known.result_tokens + result_tokens
        )

    for message in messages:
        match message:
            case ToolResultMessage(tool_name=name):
                add(name, 0, 0, estimate(message))
            case AssistantMessage() if message.stop_reason not in ("error", "aborted"):  # whose calls are not sent
                for call in message.tool_calls:
                    add(call.name, 1, size_of_call(call), 0)
            case _:
                pass
    return tuple(sorted(shares.values(), key=lambda share: (-share.tokens, share.name)))


def _items(messages: Iterable[Message]) -> Iterator[ContextItem]:
    calls: dict[str, ToolCall] = {}
    for message in messages:
        match message:
            case UserMessage():
                yield ContextItem(f"your message {_beginning(message.text)}".rstrip(), estimate(message))
            case ToolResultMessage(tool_call_id=call_id, tool_name=name):
                yield ContextItem(
                    about_call(name, call.arguments if (call := calls.get(call_id)) else {}), estimate(message)
                )
            case AssistantMessage():
                calls.update((call.id, call) for call in message.tool_calls)
                yield from _said(message)


def _said(message: AssistantMessage) -> Iterator[ContextItem]:
    if message.stop_reason == "error":
        return  # is not sent
    whole = estimate(message)
    for call in message.tool_calls if message.stop_reason != "aborted" else ():
        tokens = tokens_in(msgspec.json.encode(call.arguments).decode())
        whole -= tokens
        yield ContextItem(f"call of {about_call(call.name, call.arguments)}", tokens)
    text = next((block.text for block in message.content if isinstance(block, TextContent)), "")
    yield ContextItem(f"reply {_beginning(text)}".rstrip(), max(whole, 0))


def about_call(name: str, arguments: Mapping[str, Json]) -> str:
    """A tool, and the argument that says most of a call of it, in one short line, as foreign as the argument."""
    about = next((value for key in _TELLING if isinstance(value := arguments.get(key), str) and value.strip()), "")
    return f"{name} {_one_line(about)}".rstrip()


def _beginning(text: str) -> str:
    return f'"{line}"' if (line := _one_line(text)) else ""


def _one_line(text: str) -> str:
    # No more of it is looked at than could be shown: it may be megabytes.
    line = " ".join(text[: 4 * _LABEL_LENGTH].split())
    return line if len(line) <= _LABEL_LENGTH else f"{line[: _LABEL_LENGTH - 1]}…"
