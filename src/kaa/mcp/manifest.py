"""What a server offers, as it was listed: parsed, limited, and kept so that the server need not run to be known.

Texts are free of control characters and of characters that nobody sees; digests are of what the server sent.
"""

import hashlib
from typing import Literal, TypeAlias

import msgspec

from kaa.core.messages import Json

Era: TypeAlias = Literal["modern", "legacy"]
"""`modern`: 2026-07-28, each request stands alone. `legacy`: up to 2025-11-25, sessions begin with `initialize`."""

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The revisions of each era, the newest first."""

NAMESPACE = "io.modelcontextprotocol/"
"""Of the keys in `_meta` that the specification defines."""


class ServerInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who the server says it is."""

    name: str = ""
    title: str = ""
    version: str = ""


class ServerFeatures(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the server says it can do. A server is asked for nothing else."""

    tools: bool = False
    tools_change: bool = False
    prompts: bool = False
    prompts_change: bool = False
    resources: bool = False
    resources_change: bool = False
    completions: bool = False
    logging: bool = False


class ToolHints(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool's annotations, with the specification's defaults: hints of the server, never a promise."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


class ToolInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool.

    Attributes:
        input_schema: JSON Schema of its arguments, an object; `$ref`s are kept and never followed.
        output_schema: JSON Schema of the structured content of its results; None if it has none.
        digest: SHA-256, hexadecimal, of name, title, description, schemas and annotations as the server sent them.
    """

    name: str
    title: str = ""
    description: str = ""
    input_schema: dict[str, Json] = {}
    output_schema: dict[str, Json] | None = None
    hints: ToolHints = ToolHints()
    digest: str = ""


class PromptArgument(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    description: str = ""
    required: bool = False


class PromptInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A prompt that people call by name."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class ResourceInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A resource. `size` is in bytes; None if the server does not say."""

    uri: str
    name: str = ""
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None


class TemplateInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Resources whose addresses have parts to fill in (`uri_template`, RFC 6570)."""

    uri_template: str
    name: str = ""
    title: str = ""
    description: str = ""
    mime_type: str = ""


class ServerManifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that a server offers.

    Attributes:
        era: how to talk to it.
        protocol: the revision that was agreed on.
        instructions: the server's advice for the model, at most 2,048 bytes.
        instructions_digest: SHA-256, hexadecimal, of the advice as the server sent it; empty without any.
        left_out: what is missing and why, one sentence each.
    """

    era: Era
    protocol: str
    server: ServerInfo = ServerInfo()
    capabilities: ServerFeatures = ServerFeatures()
    instructions: str = ""
    instructions_digest: str = ""
    tools: tuple[ToolInfo, ...] = ()
    prompts: tuple[PromptInfo, ...] = ()
    resources: tuple[ResourceInfo, ...] = ()
    templates: tuple[TemplateInfo, ...] = ()
    left_out: tuple[str, ...] = ()


def digest(value: Json) -> str:
    """SHA-256, hexadecimal, of any JSON value, whatever the order of its keys: tells what has changed."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
