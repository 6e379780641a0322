"""What servers answer: contents of results, prompts and resources, parsed and limited."""

from typing import Literal, TypeAlias

import msgspec

from kaa.core.messages import Json


class TextPart(msgspec.Struct, frozen=True):
    text: str


class ImagePart(msgspec.Struct, frozen=True):
    """An image of any format: `mime_type` is what the server says."""

    data: bytes
    mime_type: str


class AudioPart(msgspec.Struct, frozen=True):
    """A sound."""

    data: bytes
    mime_type: str


class LinkPart(msgspec.Struct, frozen=True):
    """The address of a resource that can be read from the same server."""

    uri: str
    name: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None


class ResourcePart(msgspec.Struct, frozen=True):
    """The content of a resource: a text or bytes."""

    uri: str
    mime_type: str
    content: str | bytes


Part: TypeAlias = TextPart | ImagePart | AudioPart | LinkPart | ResourcePart


class CallResult(msgspec.Struct, frozen=True):
    """What a tool answered.

    Attributes:
        structured: its `structuredContent`, any JSON; None if it sent none.
        failed: whether the tool says that it failed (`isError`).
        hindrance: what kept it from its work, in a sentence of kaa's; empty if nothing is known to have.
    """

    parts: tuple[Part, ...] = ()
    structured: Json = None
    failed: bool = False
    hindrance: str = ""


class PromptMessage(msgspec.Struct, frozen=True):
    """One message of a prompt, or of what a server asks the user's model."""

    role: Literal["user", "assistant"]
    part: Part


class PromptResult(msgspec.Struct, frozen=True):
    """A prompt with its arguments filled in."""

    messages: tuple[PromptMessage, ...]
    description: str = ""


class Progress(msgspec.Struct, frozen=True):
    """How far a call is. `total` is None if the server does not know it."""

    progress: float
    total: float | None = None
    message: str = ""


class LogLine(msgspec.Struct, frozen=True):
    """A line that a server logged. `level` is one of the eight of syslog (RFC 5424)."""

    level: str
    text: str
