"""Content blocks and messages: what a conversation is made of.

The JSON shape is pi's session format v3 (camelCase, `type` tags blocks, `role` tags messages), so that
the same structs serve the loop, the session file and the JSON event stream without translation.
"""

import time
from typing import Any, Final, Literal, TypeAlias

import msgspec

# A JSON value whose shape another party decides (tool arguments, tool details).
Json: TypeAlias = Any

# Deeper than any real arguments, and shallow enough for recursive encoders.
MAX_JSON_DEPTH: Final = 256

StopReason = Literal["stop", "length", "toolUse", "error", "aborted"]


class _Block(msgspec.Struct, tag_field="type", rename="camel", omit_defaults=True, frozen=True):
    """Base of all content blocks."""


class TextContent(_Block, tag="text", frozen=True):
    """Plain text. `text_signature` is an opaque value some providers want back; `added`: see `UserMessage.said`."""

    text: str
    text_signature: str | None = None
    added: bool = False


class ThinkingContent(_Block, tag="thinking", frozen=True):
    """The model's reasoning. `thinking_signature` is opaque and only valid for the model that made it.

    `redacted` marks reasoning the provider returned encrypted: `thinking` is then empty.
    """

    thinking: str
    thinking_signature: str | None = None
    redacted: bool = False


class ImageContent(_Block, tag="image", frozen=True):
    """An image, base64 encoded. `added`: see `UserMessage.said`."""

    data: str
    mime_type: str
    added: bool = False


class ToolCall(_Block, tag="toolCall", frozen=True):
    """The model asks for a tool.

    `arguments_error` says why the argument text was not a JSON object; `arguments` is then what could be read
    of it, and the call must not be executed.
    """

    id: str
    name: str
    arguments: dict[str, Json]
    arguments_error: str | None = None
    thought_signature: str | None = None


UserContent: TypeAlias = TextContent | ImageContent
AssistantContent: TypeAlias = TextContent | ThinkingContent | ToolCall
ToolResultContent: TypeAlias = TextContent | ImageContent


class Cost(msgspec.Struct, rename="camel", frozen=True):
    """Money spent, in US dollars."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0


class Usage(msgspec.Struct, rename="camel", frozen=True):
    """Tokens of one reply.

    Attributes:
        input: without tokens read from or written to the provider's cache.
        cache_write_1h: the part of `cache_write` that is kept for an hour, which costs more; left out of files where
            there is none, as pi does it.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: Cost = Cost()
    cache_write_1h: int | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="cacheWrite1h")


def now_ms() -> int:
    """Unix time in milliseconds, as messages carry it."""
    return time.time_ns() // 1_000_000


class _Message(msgspec.Struct, tag_field="role", rename="camel", omit_defaults=True, frozen=True):
    """Base of all messages."""


# Who a message in the user's role is from. Only the person's own words are treated as theirs.
Origin: TypeAlias = Literal["person", "command", "extension", "hook", "agent"]


class ExtensionNote(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """Which extension wrote a message, and what it says of the message.

    Attributes:
        extension: its name.
        kind: its own name for this kind of message; may be empty.
        display: the user sees the message too.
        details: for the extension itself and for frontends; the model does not see them.
    """

    extension: str
    kind: str = ""
    display: bool = True
    details: Json = None


class UserMessage(_Message, tag="user", frozen=True):
    """A message to the model. Old pi files carry a plain string as content.

    `note`: for the messages that an extension wrote (`origin` is then `extension`).
    """

    content: tuple[UserContent, ...] | str
    timestamp: int = msgspec.field(default_factory=now_ms)
    origin: Origin = "person"
    note: ExtensionNote | None = None

    @property
    def text(self) -> str:
        """All text blocks, one per line."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def said(self) -> "UserMessage":
        """The message without the blocks that hooks added to it: what the person can change and send again."""
        if isinstance(self.content, str) or not any(block.added for block in self.content):
            return self
        return msgspec.structs.replace(self, content=tuple(block for block in self.content if not block.added))


class AssistantMessage(_Message, tag="assistant", frozen=True):
    """One reply of the model, complete or (stop reason `error` or `aborted`) as far as it came."""

    content: tuple[AssistantContent, ...]
    api: str
    provider: str
    model: str
    usage: Usage
    stop_reason: StopReason
    timestamp: int = msgspec.field(default_factory=now_ms)
    response_id: str | None = None
    response_model: str | None = None
    error_message: str | None = None

    @property
    def text(self) -> str:
        """All text blocks, one per line."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tool calls in the order the model made them."""
        return [block for block in self.content if isinstance(block, ToolCall)]


class ToolResultMessage(_Message, tag="toolResult", frozen=True):
    """The answer to one tool call.

    Attributes:
        details: for frontends; never sent to the model.
        usage: of the requests to a model that the tool made itself; None if it made none.
    """

    tool_call_id: str
    tool_name: str
    content: tuple[ToolResultContent, ...]
    is_error: bool
    details: Json = None
    timestamp: int = msgspec.field(default_factory=now_ms)
    usage: Usage | None = None

    @property
    def text(self) -> str:
        """All text blocks, one per line."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))


Message: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage


def user_message(
    text: str,
    images: tuple[ImageContent, ...] = (),
    *,
    origin: Origin = "person",
    note: ExtensionNote | None = None,
) -> UserMessage:
    """A user message of one text and any number of images. With a `note` its origin is an extension."""
    return UserMessage((TextContent(text), *images), origin=origin if note is None else "extension", note=note)
