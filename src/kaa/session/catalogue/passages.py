"""What can be searched for in a session: the words of an entry, without what nobody would look for."""

from collections.abc import Iterable, Iterator

from kaa.core.messages import (
    AssistantMessage,
    Json,
    TextContent,
    ToolCall,
    ToolResultContent,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from kaa.session.entries import (
    AnyEntry,
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessage,
    CustomNote,
    Label,
    MessageEntry,
    SessionInfo,
    StoredMessage,
    SystemMessage,
)

# What a tool printed is mostly noise, and its beginning says what it is; a written file is rather looked for.
_OUTPUT_CHARACTERS = 4_000
_ARGUMENT_CHARACTERS = 16_000


def passage(entry: AnyEntry | None) -> str:
    """The text of an entry; empty if there is nothing to look for. NULs are blanks."""
    return "\n".join(part for part in _parts(entry) if part).replace("\0", " ")


def _parts(entry: AnyEntry | None) -> Iterator[str]:
    match entry:
        case MessageEntry(message=message):
            yield from _message_parts(message)
        case Compaction(summary=summary) | BranchSummary(summary=summary):
            yield summary
        case CustomMessage(content=content):
            yield from _texts(content)
        case Label(label=str(label)):
            yield label
        case SessionInfo(name=name):
            yield name
        case _:
            pass


def _message_parts(message: StoredMessage) -> Iterator[str]:
    match message:
        case UserMessage() | CustomNote():
            yield from _texts(message.content)
        case AssistantMessage():
            for block in message.content:
                match block:
                    case TextContent(text=text):
                        yield text
                    case ToolCall():
                        yield block.name
                        yield from (text[:_ARGUMENT_CHARACTERS] for text in _strings(block.arguments))
                    case _:
                        pass
        case ToolResultMessage():
            yield "\n".join(_texts(message.content))[:_OUTPUT_CHARACTERS]
        case BashExecution():
            yield message.command
            yield message.output[:_OUTPUT_CHARACTERS]
        case SystemMessage():
            pass


def _texts(content: Iterable[UserContent | ToolResultContent] | str) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        yield from (block.text for block in content if isinstance(block, TextContent))


def _strings(value: Json) -> Iterator[str]:
    """All texts in a JSON value, from the outside in."""
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _strings(inner)
        case list() | tuple():
            for inner in value:
                yield from _strings(inner)
        case _:
            pass
