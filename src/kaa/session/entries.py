"""The header and the entries of a session file: pi's format v3 as of pi 1.5.2, one struct per line.

An entry without an id is a draft: the store stamps id, parent and time when it is appended.
Drafts use the empty string and not None as default because `parentId: null` is written for roots.
"""

from typing import ClassVar, Final, TypeAlias, get_args

import msgspec

from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    Json,
    ToolResultMessage,
    Usage,
    UserContent,
    UserMessage,
)

FORMAT_VERSION = 3


class SessionHeader(msgspec.Struct, tag_field="type", tag="session", rename="camel", omit_defaults=True, frozen=True):
    """Line 1. A header without `version` is v1; `parent_session` is the path of the session this one came from."""

    version: int = 1
    id: str = ""
    timestamp: str = ""
    cwd: str = ""
    parent_session: str | None = None


class BashExecution(
    msgspec.Struct, tag_field="role", tag="bashExecution", rename="camel", omit_defaults=True, kw_only=True, frozen=True
):
    """A command the user ran himself (`!command`); with `!!command` it stays out of the model's context."""

    command: str
    output: str
    exit_code: int | None = None
    cancelled: bool
    truncated: bool
    full_output_path: str | None = None
    exclude_from_context: bool = False
    timestamp: int = 0


class CustomNote(msgspec.Struct, tag_field="role", tag="custom", rename="camel", omit_defaults=True, frozen=True):
    """An extension's message stored as a message: pi writes these when it migrates v2 files."""

    content: tuple[UserContent, ...] | str
    custom_type: str = ""
    display: bool = True
    details: Json = None
    timestamp: int = 0


class SystemMessage(msgspec.Struct, tag_field="role", tag="system", rename="camel", omit_defaults=True, frozen=True):
    """The instructions and tools of pi, or a change of them. The model gets those of kaa instead."""

    content: Json = ""
    sections: Json = None
    tools_added: Json = None
    tools_removed: Json = None
    timestamp: int = 0


StoredMessage: TypeAlias = (
    UserMessage | AssistantMessage | ToolResultMessage | BashExecution | CustomNote | SystemMessage
)


class Entry(msgspec.Struct, tag_field="type", rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """What all entries have. `timestamp` is ISO 8601 in UTC with milliseconds.

    Attributes:
        agent: the id of the agent that a tool ran and that caused this; None for the conversation's own.
        speaks: it holds words of the conversation, or a summary of them.
        keeps_books: it records a choice, a name or a cost, and changes nothing of what the model and extensions know.
    """

    speaks: ClassVar[bool] = False
    keeps_books: ClassVar[bool] = False

    id: str = ""
    parent_id: str | None = ""
    timestamp: str = ""
    agent: str | None = None


class MessageEntry(Entry, tag="message", kw_only=True, frozen=True):
    """A message of the conversation."""

    speaks: ClassVar[bool] = True

    message: StoredMessage


class ModelChange(Entry, tag="model_change", kw_only=True, frozen=True):
    """From here on this model answers."""

    keeps_books: ClassVar[bool] = True

    provider: str
    model_id: str


class ThinkingLevelChange(Entry, tag="thinking_level_change", kw_only=True, frozen=True):
    """From here on the model thinks this hard."""

    keeps_books: ClassVar[bool] = True

    thinking_level: str


class Compaction(Entry, tag="compaction", kw_only=True, frozen=True):
    """A summary takes the place of everything before `first_kept_entry_id`. `from_hook`: an extension made it.

    `usage`: what the summary cost, as pi writes it since 0.80. `system_message`: the instructions and tools of pi then.
    """

    speaks: ClassVar[bool] = True

    summary: str
    first_kept_entry_id: str = ""
    tokens_before: int = 0
    details: Json = None
    from_hook: bool | None = None
    usage: Usage | None = None
    system_message: Json = None


class EditedContent(msgspec.Struct, frozen=True):
    """The content that a message has for the model from an edit on."""

    content: tuple[UserContent | AssistantContent, ...] | str


class ContextEdit(Entry, tag="context_edit", kw_only=True, frozen=True):
    """From here on the model sees `replacement` as the content of the entry `target_id`; None removes the entry.

    The entry itself stays: transcripts, exports and figures show it unchanged.
    """

    target_id: str
    replacement: EditedContent | None


class BranchSummary(Entry, tag="branch_summary", kw_only=True, frozen=True):
    """What happened on a branch that was left. `from_id` is an entry id or `root`."""

    speaks: ClassVar[bool] = True

    from_id: str = ""
    summary: str
    details: Json = None
    from_hook: bool | None = None
    usage: Usage | None = None


class RequestUsage(Entry, tag="usage", kw_only=True, frozen=True):
    """Tokens and cost of a request outside the conversation, such as a cache warm-up. Any `kind` counts."""

    keeps_books: ClassVar[bool] = True

    kind: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage
    note: str | None = None


class Custom(Entry, tag="custom", kw_only=True, frozen=True):
    """State of an extension, never shown to the model. `display`: what the user sees of it, kaa's addition."""

    custom_type: str = ""
    data: Json = None
    display: Json = None


class CustomMessage(Entry, tag="custom_message", kw_only=True, frozen=True):
    """A message of an extension; the model sees it as a user's. `display`: the user sees it too."""

    speaks: ClassVar[bool] = True

    custom_type: str = ""
    content: tuple[UserContent, ...] | str
    display: bool
    details: Json = None


class Label(Entry, tag="label", kw_only=True, frozen=True):
    """A name for another entry; without `label` the name is taken away."""

    keeps_books: ClassVar[bool] = True

    target_id: str
    label: str | None = None


class SessionInfo(Entry, tag="session_info", kw_only=True, frozen=True):
    """The session's title; an empty one clears it."""

    keeps_books: ClassVar[bool] = True

    name: str = ""


class Leaf(Entry, tag="leaf", kw_only=True, frozen=True):
    """The conversation goes on after `target_id`; None means before the first entry."""

    keeps_books: ClassVar[bool] = True

    target_id: str | None


Note: TypeAlias = (
    ModelChange
    | ThinkingLevelChange
    | Compaction
    | ContextEdit
    | BranchSummary
    | RequestUsage
    | Custom
    | CustomMessage
    | Label
    | SessionInfo
    | Leaf
)
"""Every entry but a message."""

AnyEntry: TypeAlias = MessageEntry | Note

ENTRY_KINDS: Final[dict[str, type[AnyEntry]]] = {kind.__struct_config__.tag: kind for kind in get_args(AnyEntry)}
"""The entries that kaa knows, by their `type` in the file."""

SPEAKING: Final = frozenset(tag for tag, kind in ENTRY_KINDS.items() if kind.speaks)
"""The types of the entries that hold words of the conversation."""

BOOKKEEPING: Final = frozenset(tag for tag, kind in ENTRY_KINDS.items() if kind.keeps_books)
"""The types of the entries behind which the conversation can go back without a loss."""
