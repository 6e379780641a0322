"""What extensions show beside the conversation, as changes. `kaa.ext.showing` checks and passes them on."""

from typing import Literal, TypeAlias, get_args

import msgspec

from kaa.core.display_values import DisplayValue, Role, plain_lines

Level: TypeAlias = Literal["info", "warning", "error"]
Placement: TypeAlias = Literal["above", "below"]
DisplayKind: TypeAlias = Literal["notice", "status", "widget", "editor", "title", "working"]


class NoticeShown(msgspec.Struct, tag_field="kind", tag="notice", frozen=True):
    """A message to the user."""

    text: str
    level: Level = "info"


class StatusSection(msgspec.Struct, tag_field="kind", tag="status", frozen=True):
    """A short text beside the state of the conversation. The empty text removes it."""

    key: str
    text: str
    role: Role = "muted"


class Widget(msgspec.Struct, tag_field="kind", tag="widget", frozen=True):
    """Lines above or below the editor. No content removes it."""

    key: str
    content: tuple[DisplayValue, ...]
    placement: Placement = "above"


class EditorText(msgspec.Struct, tag_field="kind", tag="editor", frozen=True):
    """Text for the editor: instead of what is there, or at the cursor."""

    text: str
    mode: Literal["set", "insert"] = "set"


class WindowTitle(msgspec.Struct, tag_field="kind", tag="title", frozen=True):
    """The title of the window. The empty text restores kaa's own."""

    text: str


class WorkingMessage(msgspec.Struct, tag_field="kind", tag="working", frozen=True):
    """What the line says that is shown while the agent works. The empty text restores kaa's own."""

    text: str


DisplayChange: TypeAlias = NoticeShown | StatusSection | Widget | EditorText | WindowTitle | WorkingMessage
LastingChange: TypeAlias = StatusSection | Widget | WindowTitle | WorkingMessage
"""Those that stay until they are replaced or removed."""

ALL_KINDS: frozenset[DisplayKind] = frozenset(get_args(DisplayKind))


class DisplayUpdate(msgspec.Struct, frozen=True):
    """A change of what an extension shows.

    Attributes:
        conversation: the id of the conversation that it belongs to.
        extension: the path of the extension; empty for kaa's own.
        author: its name, for people; likewise.
        change: what is shown from now on, or removed.
    """

    conversation: str
    extension: str
    author: str
    change: DisplayChange


def kind_of(change: DisplayChange) -> DisplayKind:
    """The kind of a change, as frontends and programs name it."""
    match change:
        case NoticeShown():
            return "notice"
        case StatusSection():
            return "status"
        case Widget():
            return "widget"
        case EditorText():
            return "editor"
        case WindowTitle():
            return "title"
        case WorkingMessage():
            return "working"


def removal_of(change: LastingChange) -> LastingChange:
    """What removes something that is shown."""
    if isinstance(change, Widget):
        return msgspec.structs.replace(change, content=())
    return msgspec.structs.replace(change, text="")


def is_removal(change: LastingChange) -> bool:
    """Whether nothing is shown after this change."""
    return not (change.content if isinstance(change, Widget) else change.text)


def plain_text_of(change: DisplayChange) -> str:
    """What a change shows, as text."""
    return "\n".join(plain_lines(change.content)) if isinstance(change, Widget) else change.text
