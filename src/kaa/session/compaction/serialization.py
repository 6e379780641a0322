"""A conversation as one text, for a model that is to sum it up and not to go on with it."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultContent,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from kaa.core.usage import CHARACTERS_PER_TOKEN, tokens_in
from kaa.session.compaction.quoting import in_record, shortened
from kaa.session.compaction.steps import PathStep
from kaa.session.entries import BashExecution, BranchSummary, CustomMessage, CustomNote, MessageEntry

# As pi cuts tool results. It does not cut thinking, which can then be larger than all the rest.
_LONGEST_RESULT_CHARACTERS = 2000
_LONGEST_THINKING_CHARACTERS = 2000
# An argument can be a whole file; which one, is what counts.
_LONGEST_ARGUMENT_CHARACTERS = 500
_IMAGE = "[image]"


def passages(steps: Iterable[PathStep], *, results: bool = True) -> Iterator[str]:
    """What each step says, in the order of `steps`; without tool results if `results` is false."""
    for step in steps:
        if step.message is None or (not results and isinstance(step.message, ToolResultMessage)):
            continue
        text = _passage(step, step.message)
        if text:
            yield text


def passage(label: str, text: str) -> str:
    """What somebody said; `label`, one of `quoting.LABELS`, says who."""
    return f"[{label}]: {in_record(text)}"


def pieces(texts: Iterable[str], tokens: int) -> Iterator[str]:
    """The texts together, in pieces of at most about `tokens` tokens; a text that is larger by itself is cut."""
    together: list[str] = []
    size = 0
    for whole in texts:
        text = shortened(whole, tokens * CHARACTERS_PER_TOKEN)
        taken = tokens_in(text) + 1
        if together and size + taken > tokens:
            yield "\n\n".join(together)
            together, size = [], 0
        together.append(text)
        size += taken
    if together:
        yield "\n\n".join(together)


def newest_pieces(texts: Iterable[str], tokens: int, most: int) -> list[str]:
    """The last `most` of the `pieces`; the first of them says if there were others."""
    kept: deque[str] = deque(maxlen=most)
    count = 0
    for piece in pieces(texts, tokens):
        kept.append(piece)
        count += 1
    if count > most:
        kept[0] = f"[Of the record, the first {count - most} of {count} parts are left out here.]\n\n{kept[0]}"
    return list(kept)


def _passage(step: PathStep, message: Message) -> str:
    match message:
        case UserMessage():
            return _user(step, message)
        case ToolResultMessage(content=content):
            text = shortened(_text(content), _LONGEST_RESULT_CHARACTERS)
            return passage("Tool result, an error" if message.is_error else "Tool result", text or "(nothing)")
        case AssistantMessage(content=content):
            return _assistant(content) if message.stop_reason != "error" else ""


def _user(step: PathStep, message: UserMessage) -> str:
    content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
    text = _text(content)
    match step.entry:
        case MessageEntry(message=BashExecution()):
            return passage("Command of the user's", shortened(text, _LONGEST_RESULT_CHARACTERS))
        case BranchSummary(summary=summary):
            return passage("Summary of another branch", summary)
        case CustomMessage() | MessageEntry(message=CustomNote()):
            return passage("Note", text)
        case _:
            return passage("User", text)


def _assistant(content: Sequence[AssistantContent]) -> str:
    said = []
    for block in content:
        match block:
            case ThinkingContent(thinking=thinking) if thinking:
                said.append(passage("Assistant thinking", shortened(thinking, _LONGEST_THINKING_CHARACTERS)))
            case TextContent(text=text) if text.strip():
                said.append(passage("Assistant", text))
            case _:
                pass
    if calls := "; ".join(_call(block) for block in content if isinstance(block, ToolCall)):
        said.append(passage("Assistant tool calls", calls))
    return "\n\n".join(said)


def _call(call: ToolCall) -> str:
    arguments = (f"{name}={_argument(value)}" for name, value in call.arguments.items())
    return f"{call.name}({', '.join(arguments)})"


def _argument(value: object) -> str:
    return shortened(msgspec.json.encode(value).decode(), _LONGEST_ARGUMENT_CHARACTERS)


def _text(content: Iterable[UserContent | ToolResultContent]) -> str:
    return "\n".join(_IMAGE if isinstance(block, ImageContent) else block.text for block in content)
