"""The parts of the protocol that kaa reads, by their names in the specification. Other fields are ignored.

Positions count UTF-16 code units.
"""

import re
from collections.abc import Sequence

import msgspec

from kaa.core.messages import Json

ERROR = 1
_LINE_END = re.compile(r"\r\n|\r|\n")


"""`DiagnosticSeverity.Error`."""


class TextPosition(msgspec.Struct, frozen=True, order=True):
    """A place between two characters. `line` from 0 on, `character` in UTF-16 code units."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    """From one position up to another."""

    start: TextPosition
    end: TextPosition


class MarkupContent(msgspec.Struct, frozen=True):
    """Text in Markdown or plain."""

    value: str


class Diagnostic(msgspec.Struct, frozen=True):
    """Something wrong in a document."""

    range: Range
    message: str | MarkupContent
    severity: int | None = None
    code: int | str | None = None
    source: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether it is an error. Without a severity the client decides."""
        return self.severity in (ERROR, None)

    @property
    def text(self) -> str:
        return self.message if isinstance(self.message, str) else self.message.value


class PublishedDiagnostics(msgspec.Struct, frozen=True):
    """`textDocument/publishDiagnostics`."""

    uri: str
    diagnostics: tuple[Diagnostic, ...]
    version: int | None = None


class RelatedReport(msgspec.Struct, frozen=True):
    """Diagnostics of another document that came with those asked for."""

    kind: str = "full"
    items: tuple[Diagnostic, ...] = ()


class DiagnosticReport(msgspec.Struct, rename="camel", frozen=True):
    """The answer to `textDocument/diagnostic`."""

    kind: str = "full"
    items: tuple[Diagnostic, ...] = ()
    related_documents: dict[str, RelatedReport] = {}


class Location(msgspec.Struct, frozen=True):
    """A range in a document."""

    uri: str
    range: Range


class LocationLink(msgspec.Struct, rename="camel", frozen=True):
    """Where a definition is; newer servers answer with it."""

    target_uri: str
    target_selection_range: Range


class SymbolLocation(msgspec.Struct, frozen=True):
    """Where a symbol is; servers may leave the range out."""

    uri: str
    range: Range | None = None


class Symbol(msgspec.Struct, rename="camel", frozen=True):
    """`DocumentSymbol`, `SymbolInformation` or `WorkspaceSymbol`."""

    name: str
    kind: int
    location: SymbolLocation | None = None
    selection_range: Range | None = None
    container_name: str | None = None
    children: "tuple[Symbol, ...]" = ()


class MarkedString(msgspec.Struct, frozen=True):
    """Code in older answers about a symbol."""

    value: str


class Hover(msgspec.Struct, frozen=True):
    """What is known of a symbol; `MarkupContent` has a `value` as `MarkedString`."""

    contents: "str | MarkedString | tuple[str | MarkedString, ...]"


class TextEdit(msgspec.Struct, rename="camel", frozen=True):
    """A change of a document."""

    range: Range
    new_text: str


class DocumentIdentifier(msgspec.Struct, frozen=True):
    """Names a document."""

    uri: str


class DocumentChange(msgspec.Struct, rename="camel", frozen=True):
    """Edits of a document, or with a `kind` an operation on files."""

    kind: str = ""
    text_document: DocumentIdentifier | None = None
    edits: tuple[TextEdit, ...] = ()


class WorkspaceEdit(msgspec.Struct, rename="camel", frozen=True):
    """What a renaming changes."""

    changes: dict[str, tuple[TextEdit, ...]] = {}
    document_changes: tuple[DocumentChange, ...] | None = None


class SaveOptions(msgspec.Struct, rename="camel", frozen=True):
    """What a server wants to know of saving."""

    include_text: bool = False


class SyncOptions(msgspec.Struct, frozen=True):
    """How documents are kept in step."""

    save: bool | SaveOptions | None = None


class DiagnosticOptions(msgspec.Struct, rename="camel", frozen=True):
    """How diagnostics are asked for."""

    identifier: str | None = None
    inter_file_dependencies: bool = False


class ServerCapabilities(msgspec.Struct, rename="camel", frozen=True):
    """What a server can do."""

    text_document_sync: SyncOptions | int | None = None
    diagnostic_provider: DiagnosticOptions | None = None
    definition_provider: Json = None
    references_provider: Json = None
    hover_provider: Json = None
    document_symbol_provider: Json = None
    workspace_symbol_provider: Json = None
    rename_provider: Json = None


class InitializeResult(msgspec.Struct, frozen=True):
    """The answer to `initialize`."""

    capabilities: ServerCapabilities


class TextDocument:
    """A document, by its lines as the protocol counts them: a line ends with LF, CRLF or CR."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def line(self, number: int) -> str:
        """A line without its end; empty if there is none. `number`: from 0 on."""
        if not 0 <= number < len(self._starts):
            return ""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self._text)
        return self._text[self._starts[number] : end].rstrip("\r\n")

    def position(self, line: int, column: int) -> TextPosition:
        """The position of a column. Both: from 0 on, in characters."""
        before = self.line(line)[:column]
        return TextPosition(line, len(before.encode("utf-16-le", "surrogatepass")) // 2)

    def offset(self, position: TextPosition) -> int:
        """Where in the text a position is; beyond the end of a line is at its end."""
        if position.line >= len(self._starts):
            return len(self._text)
        units, column = 0, 0
        line = self.line(position.line)
        while units < position.character and column < len(line):
            units += 2 if ord(line[column]) > 0xFFFF else 1
            column += 1
        return self._starts[position.line] + column

    def edited(self, edits: Sequence[TextEdit]) -> str:
        """The text with changes, which all name places in it as it is.

        Raises:
            ValueError: they overlap.
        """
        places = sorted((self.offset(one.range.start), self.offset(one.range.end), one.new_text) for one in edits)
        parts: list[str] = []
        end = 0
        for start, stop, new in places:
            if start < end or stop < start:
                raise ValueError("the changes overlap")
            parts += (self._text[end:start], new)
            end = stop
        return "".join((*parts, self._text[end:]))
