"""A language server at work: its start, the documents that it knows, and their diagnostics."""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, unquote, urlsplit

import msgspec

from kaa.core.lenient_json import decode_lenient_as
from kaa.core.messages import Json
from kaa.host.log import LOG
from kaa.lsp.client import LanguageClient
from kaa.lsp.errors import LanguageServerError, LanguageServerGoneError
from kaa.lsp.structure import (
    Diagnostic,
    DiagnosticOptions,
    DiagnosticReport,
    InitializeResult,
    PublishedDiagnostics,
    SaveOptions,
    ServerCapabilities,
    SyncOptions,
)

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter


# A server that publishes diagnostics does so in steps: syntax, types, linters.
_QUIET_SECONDS = 0.15
# Servers that have nothing to say of a document may not say so.
_SILENCE_SECONDS = 5.0
_MOST_DOCUMENTS = 20
_MOST_PUBLISHED = 5_000
_SYMBOL_KINDS: list[Json] = [*range(1, 27)]

ResultT = TypeVar("ResultT")

_CAPABILITIES: dict[str, Json] = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "applyEdit": False,
        "configuration": True,
        "workspaceFolders": True,
        # kaa tells of the files that it changes, and watches none: servers need not look for themselves either.
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": False},
        "symbol": {"symbolKind": {"valueSet": _SYMBOL_KINDS}},
        "workspaceEdit": {"documentChanges": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True, "dynamicRegistration": False},
        "publishDiagnostics": {"relatedInformation": False, "versionSupport": True},
        "diagnostic": {"dynamicRegistration": False, "relatedDocumentSupport": True},
        "definition": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True, "symbolKind": {"valueSet": _SYMBOL_KINDS}},
        "rename": {"prepareSupport": False},
    },
    "window": {"workDoneProgress": True},
}


class _Document(msgspec.Struct):
    """A document as the server knows it.

    Attributes:
        version: goes up with each change.
        published: set when diagnostics of this version, or of no version, came.
        is_fresh: whether diagnostics came that nobody has seen.
    """

    text: str
    version: int
    published: asyncio.Event
    is_fresh: bool = False


class LanguageSession:
    """A server that runs.

    Args:
        settings: what it may ask for (`workspace/configuration`), by sections.
    """

    def __init__(self, reader: "StreamReader", writer: "StreamWriter", root: str, settings: Json = None) -> None:
        self._root = root
        self._settings = settings
        self._client = LanguageClient(reader, writer, self._notified, self._answer)
        self._documents: OrderedDict[str, _Document] = OrderedDict()
        self._published: dict[str, tuple[Diagnostic, ...]] = {}
        self.capabilities = ServerCapabilities()

    async def initialize(self, options: Json = None) -> None:
        """Start the conversation with the server.

        Args:
            options: `initializationOptions`.

        Raises:
            LanguageServerError: it refused, or is gone.
        """
        uri = uri_of(self._root)
        folders: list[Json] = [{"uri": uri, "name": os.path.basename(self._root)}]
        params: dict[str, Json] = {
            "processId": None,  # in the sandbox it would be that of another process
            "clientInfo": {"name": "kaa"},
            "rootPath": self._root,
            "rootUri": uri,
            "workspaceFolders": folders,
            "capabilities": _CAPABILITIES,
            **({} if options is None else {"initializationOptions": options}),
        }
        self.capabilities = (await self._client.request("initialize", params, InitializeResult)).capabilities
        self._client.notify("initialized", {})
        if self._settings is not None:
            self._client.notify("workspace/didChangeConfiguration", {"settings": self._settings})

    async def request(self, method: str, params: Json, result: type[ResultT]) -> ResultT:
        return await self._client.request(method, params, result)

    async def request_any(self, method: str, params: Json, result: type[ResultT]) -> ResultT | None:
        return await self._client.request_any(method, params, result)

    async def ended(self) -> str:
        return await self._client.ended()

    async def close(self, seconds: float) -> None:
        """Ask the server to end, and wait for its answer for some seconds."""
        with suppress(LanguageServerError, TimeoutError):
            async with asyncio.timeout(seconds):
                await self._client.request("shutdown", None, msgspec.Raw)
                self._client.notify("exit", None)
                await self._client.ended()
        await self._client.close()

    def text_of(self, path: str) -> str | None:
        """What the server thinks is in a file; None if kaa did not tell it."""
        document = self._documents.get(path)
        return None if document is None else document.text

    def show(self, path: str, language: str, text: str, *, is_new: bool = False) -> None:
        """Tell the server what is in a file now.

        Args:
            path: absolute.
            is_new: whether the file did not exist before.

        Raises:
            LanguageServerGoneError: it is gone.
        """
        uri, document = uri_of(path), self._documents.get(path)
        if document is None:
            self._make_room()
            self._documents[path] = _Document(text, 1, asyncio.Event())
            self._published.pop(path, None)
            item: dict[str, Json] = {"uri": uri, "languageId": language, "version": 1, "text": text}
            self._client.notify("textDocument/didOpen", {"textDocument": item})
        elif document.text != text:
            document.text, document.version = text, document.version + 1
            document.published.clear()
            identifier: dict[str, Json] = {"uri": uri, "version": document.version}
            change: dict[str, Json] = {"textDocument": identifier, "contentChanges": [{"text": text}]}
            self._client.notify("textDocument/didChange", change)
        self._documents.move_to_end(path)
        self._client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 1 if is_new else 2}]})
        match self.capabilities.text_document_sync:
            case SyncOptions(save=SaveOptions(include_text=with_text)):
                saved: dict[str, Json] = {"textDocument": {"uri": uri}, **({"text": text} if with_text else {})}
                self._client.notify("textDocument/didSave", saved)
            case SyncOptions(save=True):
                self._client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    async def errors(self, path: str) -> tuple[Diagnostic, ...]:
        """The errors in a file that `show` told of, as soon as the server knows them.

        Raises:
            LanguageServerError: it does not say, or is gone.
        """
        document = self._documents[path]
        if (options := self.capabilities.diagnostic_provider) is not None:
            return await self._pulled(path, options)
        over = asyncio.ensure_future(self._client.ended())
        published = asyncio.ensure_future(document.published.wait())
        try:
            await asyncio.wait({over, published}, timeout=_SILENCE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if over.done():
                raise LanguageServerGoneError(over.result() or "it ended")
            while document.is_fresh:
                document.is_fresh = False
                await asyncio.wait({over}, timeout=_QUIET_SECONDS)
        finally:
            over.cancel()
            published.cancel()
        return self._errors_of(path)

    def errors_elsewhere(self, path: str) -> dict[str, tuple[Diagnostic, ...]]:
        """The errors in all other files that the server told of by itself, by path."""
        return {other: self._errors_of(other) for other in self._published if other != path}

    async def errors_of_open(self, path: str) -> dict[str, tuple[Diagnostic, ...]]:
        """The errors in the other files that `show` told of, where they have to be asked for and may depend on `path`.

        Raises:
            LanguageServerError: as `errors` does.
        """
        options = self.capabilities.diagnostic_provider
        if options is None or not options.inter_file_dependencies:
            return {}
        return {other: await self._pulled(other, options) for other in list(self._documents) if other != path}

    def _errors_of(self, path: str) -> tuple[Diagnostic, ...]:
        return tuple(one for one in self._published.get(path, ()) if one.is_error)

    async def _pulled(self, path: str, options: DiagnosticOptions) -> tuple[Diagnostic, ...]:
        params: dict[str, Json] = {"textDocument": {"uri": uri_of(path)}}
        if options.identifier is not None:
            params["identifier"] = options.identifier
        report = await self._client.request("textDocument/diagnostic", params, DiagnosticReport)
        for uri, related in report.related_documents.items():
            if related.kind == "full" and (other := path_of(uri)) is not None:
                self._keep(other, related.items)
        return tuple(one for one in report.items if one.is_error)

    def _make_room(self) -> None:
        while len(self._documents) >= _MOST_DOCUMENTS:
            path, _ = self._documents.popitem(last=False)
            self._client.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(path)}})

    def _keep(self, path: str, diagnostics: tuple[Diagnostic, ...]) -> None:
        if path in self._published or len(self._published) < _MOST_PUBLISHED:
            self._published[path] = diagnostics

    def _notified(self, method: str, params: msgspec.Raw) -> None:
        if method != "textDocument/publishDiagnostics":
            return
        try:
            published = decode_lenient_as(params, PublishedDiagnostics)
        except msgspec.MsgspecError as error:
            LOG.debug("language server: diagnostics that cannot be read: %s", error)
            return
        path = path_of(published.uri)
        if path is None:
            return
        document = self._documents.get(path)
        if document is not None and published.version is not None and published.version < document.version:
            return  # of a former text
        self._keep(path, published.diagnostics)
        if document is not None:
            document.is_fresh = True
            document.published.set()

    def _answer(self, method: str, params: msgspec.Raw) -> Json:
        """Answer a request of the server.

        Raises:
            LookupError: kaa does not know it.
        """
        match method:
            case "workspace/configuration":
                return [self._section(section) for section in _sections_in(params)]
            case "workspace/workspaceFolders":
                return [{"uri": uri_of(self._root), "name": os.path.basename(self._root)}]
            case "workspace/applyEdit":
                return {"applied": False, "failureReason": "kaa edits files itself"}
            case (
                "client/registerCapability"
                | "client/unregisterCapability"
                | "window/workDoneProgress/create"
                | "window/showMessageRequest"
                | "workspace/diagnostic/refresh"
                | "workspace/semanticTokens/refresh"
                | "workspace/inlayHint/refresh"
                | "workspace/codeLens/refresh"
            ):
                return None
            case _:
                raise LookupError(method)

    def _section(self, section: str) -> Json:
        found = self._settings
        for name in filter(None, section.split(".")):
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


class _Item(msgspec.Struct, frozen=True):
    section: str = ""


class _Items(msgspec.Struct, frozen=True):
    items: tuple[_Item, ...] = ()


def _sections_in(params: msgspec.Raw) -> list[str]:
    try:
        return [item.section for item in decode_lenient_as(params, _Items).items]
    except msgspec.MsgspecError:
        return []


_PLAIN = "+/:@!$&'()*,;=~"


def uri_of(path: str) -> str:
    """The URI of an absolute path."""
    return f"file://{quote(path, safe=_PLAIN)}"


def path_of(uri: str) -> str | None:
    """The path that a URI names; None if it names no file. Servers escape characters in ways of their own."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        return None
    path = unquote(parts.path)
    return None if "\0" in path else path
