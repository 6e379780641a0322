"""What extensions show: a closed set of values that every frontend draws in its own way, and the changes of a display.

Values are plain data without escape sequences. `kaa.ext.showing` checks and passes them on.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from kaa.ext.places import label

Role: TypeAlias = Literal["text", "muted", "dim", "accent", "success", "warning", "error"]
"""What a text is for; the theme gives it a colour."""

Level: TypeAlias = Literal["info", "warning", "error"]
Placement: TypeAlias = Literal["above", "below"]
DisplayKind: TypeAlias = Literal["notice", "status", "widget", "editor", "title", "working"]


class Text(msgspec.Struct, tag="text", frozen=True):
    """Plain text in one role. It is wrapped at words."""

    text: str
    role: Role = "text"


class Markdown(msgspec.Struct, tag="markdown", frozen=True):
    """Markdown."""

    text: str


class Diff(msgspec.Struct, tag="diff", frozen=True):
    """A unified diff."""

    text: str


class Code(msgspec.Struct, tag="code", frozen=True):
    """Code. `language`: its name or the ending of its files, such as `python` or `py`."""

    text: str
    language: str = ""


class Fields(msgspec.Struct, tag="fields", frozen=True):
    """Names with values, one in each line."""

    fields: tuple[tuple[str, str], ...]


class Table(msgspec.Struct, tag="table", frozen=True):
    """Rows below a heading; each row has as many cells as there are columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


DisplayValue: TypeAlias = Text | Markdown | Diff | Code | Fields | Table


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
        extension: the name of the extension; empty for kaa's own.
        change: what is shown from now on, or removed.
    """

    conversation: str
    extension: str
    change: DisplayChange

    @property
    def author(self) -> str:
        """The extension for people; empty for kaa's own."""
        return label(self.extension) if self.extension else ""


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


def plain_lines(content: Sequence[DisplayValue]) -> list[str]:
    """Display values as lines of text, for frontends that have no styles."""
    return [line for value in content for line in _lines_of(value)]


def _lines_of(value: DisplayValue) -> list[str]:
    match value:
        case Text(text=text) | Markdown(text=text) | Diff(text=text) | Code(text=text):
            return text.removesuffix("\n").split("\n")
        case Fields(fields=fields):
            return [f"{name}: {text}" for name, text in fields]
        case Table(columns=columns, rows=rows):
            return [" | ".join(row) for row in (columns, *rows)]
