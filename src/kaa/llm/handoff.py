"""What of a conversation may be sent to a model: parts another model made, and text no server would take."""

import re
import zlib
from collections.abc import Callable, Iterable
from typing import Final

from kaa.core.messages import (
    AssistantMessage,
    ImageContent,
    Json,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    UserContent,
)
from kaa.core.provider import Model, Request
from kaa.llm.former_names import current_name
from kaa.llm.unicode_text import clean

_PORTABLE_LENGTH: Final = 64
_PORTABLE: Final = re.compile(rf"[A-Za-z0-9_-]{{1,{_PORTABLE_LENGTH}}}")
# "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."
_MISTRAL_LENGTH: Final = 9
_MISTRAL: Final = re.compile(rf"[A-Za-z0-9]{{{_MISTRAL_LENGTH}}}")
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")

IMAGE_OMITTED = "(image omitted: no images can be sent to this model)"


def made_by(message: AssistantMessage, model: Model) -> bool:
    """Whether `model` made `message`, so that its opaque signatures mean something to it."""
    return (current_name(message.provider), message.api, message.model) == (model.provider, model.api, model.id)


def kept_reasoning(request: Request) -> frozenset[str]:
    """The signatures of all reasoning in the conversation that its model may be sent again."""
    return frozenset(
        block.thinking_signature
        for message in request.messages
        if isinstance(message, AssistantMessage) and made_by(message, request.model)
        for block in message.content
        if isinstance(block, ThinkingContent) and block.thinking_signature
    )


def takes_images(model: Model) -> bool:
    """Whether `model` can be sent images."""
    return "image" in model.input


def shortened_id(call_id: str, longest: int) -> str:
    """The id of a call in at most `longest` characters; a checksum keeps different ids different."""
    checked = clean(call_id)
    if len(checked) <= longest:
        return checked
    checksum = f"_{zlib.crc32(checked.encode()):08x}"
    return checked[: longest - len(checksum)] + checksum


def portable_id(name: str) -> str:
    """An id in the alphabet and length that Anthropic and OpenAI allow; a checksum keeps different ids different."""
    if _PORTABLE.fullmatch(name):
        return name
    checksum = f"_{zlib.crc32(clean(name).encode()):08x}"
    return _FOREIGN.sub("_", name)[: _PORTABLE_LENGTH - len(checksum)] + checksum


def mistral_id(call_id: str) -> str:
    """An id as Mistral's models want them, nine letters and digits; theirs stay as they are."""
    if _MISTRAL.fullmatch(call_id):
        return call_id
    from hashlib import blake2b  # lazy: only those who switch to Mistral's models need it

    return blake2b(clean(call_id).encode(), digest_size=5).hexdigest()[:_MISTRAL_LENGTH]


def portable_name(name: str) -> str:
    """The name of a called tool as vendors take it; one that they would refuse was made up: no tool has it."""
    return name if _PORTABLE.fullmatch(name) else _FOREIGN.sub("_", name)[:_PORTABLE_LENGTH] or "unnamed"


def thinking_as_text(block: ThinkingContent) -> str:
    """Reasoning for a model that cannot take it as such; empty if it is encrypted."""
    return "" if block.redacted else clean(block.thinking)


def visible_parts(
    content: str | Iterable[UserContent | ToolResultContent],
    model: Model,
    text: Callable[[str], dict[str, Json]],
    image: Callable[[ImageContent], dict[str, Json]],
) -> list[dict[str, Json]]:
    """Text and images as `text` and `image` write them, without blank text, which servers refuse.

    A note stands in place of each image that `model` cannot see.
    """
    parts: list[dict[str, Json]] = []
    for block in (TextContent(content),) if isinstance(content, str) else content:
        if isinstance(block, ImageContent):
            parts.append(image(block) if takes_images(model) else text(IMAGE_OMITTED))
        elif block.text.strip():
            parts.append(text(block.text))
    return parts


def joined_text(content: tuple[UserContent, ...] | tuple[ToolResultContent, ...], model: Model) -> str:
    """All text of `content`, with a note in place of each image that `model` cannot see."""
    notes = not takes_images(model)
    parts = [clean(b.text) if isinstance(b, TextContent) else IMAGE_OMITTED if notes else "" for b in content]
    return "\n".join(part for part in parts if part)
