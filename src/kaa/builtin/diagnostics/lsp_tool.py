"""The work of the tool `lsp`: questions to the language server of a file, and names changed wherever they are."""

import asyncio
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from kaa.builtin.diagnostics.edited import name_of
from kaa.builtin.diagnostics.server_pool import ServerPool
from kaa.builtin.file_paths import locate_file
from kaa.core.messages import Json
from kaa.core.terminal_text import plain_text
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.api import ToolContext
from kaa.ext.errors import RegistrationError
from kaa.lsp.errors import LanguageServerError
from kaa.lsp.session import LanguageSession, path_of, uri_of
from kaa.lsp.structure import (
    Hover,
    Location,
    LocationLink,
    MarkedString,
    Range,
    Symbol,
    TextDocument,
    TextEdit,
    WorkspaceEdit,
)
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.builtin.diagnostics import LspArguments

# With the start of the server, which may read a large project first.
_SECONDS = 60.0
_MAX_FILE_BYTES = 8 * 1024 * 1024
_MOST_PLACES = 100
_MOST_RENAMED_FILES = 200
_LINE_CHARACTERS = 200
_TEXT_CHARACTERS = 10_000
_WORD = re.compile(r"\w+")
# By number (specification, SymbolKind).
_KINDS = (
    *("symbol", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor"),
    *("enum", "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object"),
    *("key", "null", "enum member", "struct", "event", "operator", "type parameter"),
)

_Answered: TypeAlias = Location | list[Location] | None
_Linked: TypeAlias = list[LocationLink] | None


class _Where(msgspec.Struct, frozen=True):
    """A file and a position in it, for requests."""

    path: str
    text: TextDocument
    params: dict[str, Json]


async def ask_server(arguments: "LspArguments", pool: ServerPool, context: ToolContext) -> ToolResult:
    """What a server answers.

    Raises:
        ToolError: there is no server, it refused, or the arguments name nothing.
    """
    file = await locate_file(context.workspace, arguments.path)
    path = file.info.path
    text = await _text(path, context.workspace)
    if text is None:
        raise ToolError(f"{arguments.path} is not text in UTF-8, or larger than {_MAX_FILE_BYTES // 1024**2} MiB.")
    servers = pool.of_file(path, for_diagnostics=False)
    if not servers:
        raise ToolError(f"There is no language server for {arguments.path}. Use search and edits instead.")
    try:
        async with asyncio.timeout(_SECONDS), servers[0].showing(path, text) as session:
            where = _where(path, text, arguments)
            if arguments.operation == "rename":
                changes = await _changes(session, where, arguments.new_name)
            else:
                return text_result(await _answer(session, where, arguments, context.workspace))
    except LanguageServerError as error:
        reason = f": {servers[0].reason}" if servers[0].reason else ""
        raise ToolError(f"{plain_text(str(error))}{plain_text(reason)}.") from error
    except TimeoutError as error:
        raise ToolError(f"The language server {servers[0].name} did not answer within {_SECONDS:g} s.") from error
    return text_result(await _rename(changes, context))  # without the server, which checks each edit


def _where(path: str, text: str, arguments: "LspArguments") -> _Where:
    """Where the name is that is asked about; the beginning of the file where none is needed.

    Raises:
        ToolError: it is not there.
    """
    document = TextDocument(text)
    identifier: dict[str, Json] = {"textDocument": {"uri": uri_of(path)}}
    if arguments.operation in ("symbols", "workspace_symbols"):
        return _Where(path, document, identifier)
    if arguments.line is None or not arguments.symbol:
        raise ToolError(f"{arguments.operation} needs `line` and `symbol`.")
    line = document.line(arguments.line - 1)
    # The last part of a.b.c is what is meant.
    word = arguments.symbol.rpartition(".")[2] or arguments.symbol
    found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", line)
    if found is None:
        raise ToolError(f"Line {arguments.line} of {arguments.path} has no {word!r}. It is: {line[:_LINE_CHARACTERS]}")
    place = document.position(arguments.line - 1, found.start())
    position: dict[str, Json] = {"line": place.line, "character": place.character}
    return _Where(path, document, {**identifier, "position": position})


async def _answer(session: LanguageSession, where: _Where, arguments: "LspArguments", workspace: Workspace) -> str:
    match arguments.operation:
        case "definition":
            found = await session.request("textDocument/definition", where.params, msgspec.Raw)
            return await _places(_locations(found), workspace)
        case "references":
            params = {**where.params, "context": {"includeDeclaration": True}}
            found = await session.request("textDocument/references", params, msgspec.Raw)
            return await _places(_locations(found), workspace)
        case "hover":
            known = await session.request_any("textDocument/hover", where.params, Hover)
            return "Nothing is known of it." if known is None else _hover_text(known)
        case "symbols":
            symbols = await session.request_any("textDocument/documentSymbol", where.params, list[Symbol])
        case _:
            symbols = await session.request_any("workspace/symbol", {"query": arguments.symbol}, list[Symbol])
    lines = list(_symbol_lines(symbols or (), workspace))
    more = len(lines) - _MOST_PLACES
    shown = [*lines[:_MOST_PLACES], *([f"... {more} more"] if more > 0 else [])]
    return "\n".join(shown) or "There are none."


def _locations(answer: msgspec.Raw) -> list[Location]:
    """The places in an answer, whichever form it has.

    Raises:
        LanguageServerError: it has none.
    """
    try:
        found = msgspec.json.decode(answer, type=_Answered)
    except msgspec.ValidationError:
        try:
            links = msgspec.json.decode(answer, type=_Linked)
        except msgspec.ValidationError as error:
            raise LanguageServerError(f"the language server answered with nonsense: {error}") from error
        return [Location(link.target_uri, link.target_selection_range) for link in links or ()]
    return [found] if isinstance(found, Location) else found or []


async def _places(locations: list[Location], workspace: Workspace) -> str:
    """A line for each place, with what is in it."""
    texts: dict[str, TextDocument | None] = {}
    lines: list[str] = []
    for location in dict.fromkeys((one.uri, one.range.start.line, one.range.start.character) for one in locations):
        uri, line, column = location
        if (path := path_of(uri)) is None:
            lines.append(plain_text(f"{uri}:{line + 1}"))
            continue
        if path not in texts:
            text = await _text(path, workspace)
            texts[path] = None if text is None else TextDocument(text)
        content = document.line(line).strip()[:_LINE_CHARACTERS] if (document := texts[path]) else ""
        lines.append(plain_text(f"{name_of(path, workspace)}:{line + 1}:{column + 1}: {content}"))
        if len(lines) == _MOST_PLACES:
            lines.append(f"... {len(locations) - _MOST_PLACES} more")
            break
    return "\n".join(lines) or "There is none."


def _hover_text(hover: Hover) -> str:
    contents = hover.contents if isinstance(hover.contents, tuple) else (hover.contents,)
    texts = (one.value if isinstance(one, MarkedString) else one for one in contents)
    return plain_text("\n".join(texts))[:_TEXT_CHARACTERS] or "Nothing is known of it."


def _symbol_lines(symbols: Iterable[Symbol], workspace: Workspace, indent: str = "") -> Iterator[str]:
    for symbol in symbols:
        kind = _KINDS[symbol.kind] if 0 < symbol.kind < len(_KINDS) else _KINDS[0]
        location = symbol.location
        path = path_of(location.uri) if location is not None else None
        span: Range | None = symbol.selection_range or (location.range if location is not None else None)
        line = f":{span.start.line + 1}" if span is not None else ""
        place = f"{name_of(path, workspace)}{line}" if path is not None else line.lstrip(":")
        inside = f" in {symbol.container_name}" if symbol.container_name else ""
        yield plain_text(f"{indent}{place} {kind} {symbol.name}{inside}")
        yield from _symbol_lines(symbol.children, workspace, f"{indent}  ")


async def _changes(session: LanguageSession, where: _Where, new_name: str) -> dict[str, list[TextEdit]]:
    """What a renaming changes, by path.

    Raises:
        ToolError: it cannot be done.
    """
    if not _WORD.search(new_name):
        raise ToolError("rename needs `newName`.")
    params = {**where.params, "newName": new_name}
    edit = await session.request_any("textDocument/rename", params, WorkspaceEdit)
    if edit is None:
        raise ToolError("The language server cannot rename this.")
    found: dict[str, list[TextEdit]] = {}
    for change in edit.document_changes or ():
        if change.kind or change.text_document is None:
            raise ToolError("The language server wants to create, move or delete files, which kaa does not do for it.")
        _add(found, change.text_document.uri, change.edits)
    if edit.document_changes is None:
        for uri, edits in edit.changes.items():
            _add(found, uri, edits)
    if len(found) > _MOST_RENAMED_FILES:
        raise ToolError(f"It would change {len(found)} files, more than {_MOST_RENAMED_FILES}. Use a command.")
    return found


def _add(found: dict[str, list[TextEdit]], uri: str, edits: Iterable[TextEdit]) -> None:
    if (path := path_of(uri)) is None:
        raise ToolError(f"The language server wants to change {plain_text(uri[:_LINE_CHARACTERS])}, which is no file.")
    found.setdefault(os.path.normpath(path), []).extend(edits)


async def _rename(changes: Mapping[str, list[TextEdit]], context: ToolContext) -> str:
    """Change the files, each by a call of `write` as the model would make it: approvals and checkpoints know of it.

    Raises:
        ToolError: one cannot be changed.
    """
    contents: dict[str, str] = {}
    for path, edits in sorted(changes.items()):
        name = name_of(path, context.workspace)
        text = await _text(path, context.workspace)
        if name == path or text is None:
            raise ToolError(f"Nothing was changed: {name} is not in the project, or not text in UTF-8.")
        try:
            contents[name] = TextDocument(text).edited(edits)
        except ValueError as error:
            raise ToolError(f"Nothing was changed: of {name}, {error}.") from error
    done: list[str] = []
    for name, content in contents.items():
        try:
            result = await context.call_tool("write", {"path": name, "content": content})
        except RegistrationError as error:
            raise ToolError("Nothing was changed: renaming needs the tool `write`, which is off.") from error
        if result.is_error:
            before = f"Changed before: {', '.join(done)}." if done else "Nothing was changed."
            raise ToolError(f"{name} was not changed. {before}")
        done.append(f"{name} ({len(changes[_path(name, context.workspace)])})")
    return f"Changed {', '.join(done)}." if done else "There is nothing to change."


def _path(name: str, workspace: Workspace) -> str:
    return f"{workspace.root.rstrip('/')}/{name}"


async def _text(path: str, workspace: Workspace) -> str | None:
    try:
        content = await workspace.read(path, 0, _MAX_FILE_BYTES + 1)
        return content.data.decode() if len(content.data) <= _MAX_FILE_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None
