"""A session as one HTML file that shows all of it: the viewer's program, and the session as data beside it.

Nothing of the session is ever markup. It is JSON in `<script type="application/json">`, in which no character can end
the element, and the viewer makes text nodes of it. The page may load nothing, may run the one program whose hash its
policy names, and may turn no text into markup (`require-trusted-types-for`).

The entries come in pieces, each an element of its own: a piece is parsed when something in it is looked at.
"""

import base64
import hashlib
import html
from importlib.resources import files
from typing import BinaryIO

import msgspec

from kaa import __version__
from kaa.core.messages import Json
from kaa.session.entries import SessionHeader
from kaa.session.export.outline import ExportRow, row_of
from kaa.session.export.selection import ExportSelection, Picked, pick, picked, redacted_object, remarks
from kaa.session.export.source import SessionSource
from kaa.session.export.totals import Totals
from kaa.session.file.jsonl import encode_object
from kaa.session.naming import unix_milliseconds
from kaa.session.tree import Node

# Parsing one takes some milliseconds, and a session of 100 MB has some hundred.
_PIECE_BYTES = 256 * 1024

# In the order in which they build on one another.
_SCRIPTS = (
    "session.js",
    "code.js",
    "ansi.js",
    "markdown.js",
    "tools.js",
    "display.js",
    "entries.js",
    "transcript.js",
    "tree.js",
    "search.js",
    "main.js",
)

# What the HTML parser could take for the end of the element, or an old JavaScript parser for the end of a line.
# They change the order in which text is shown, so that it reads as what it is not. They are shown instead of obeyed.
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_VISIBLE = {ord(mark): f"⟨U+{ord(mark):04X}⟩" for mark in _DIRECTIONS}
_ESCAPES = (
    *((chr(mark).encode(), shown.encode()) for mark, shown in _VISIBLE.items()),
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


class PageRow(msgspec.Struct, array_like=True):
    """An entry in the index. `parent` and `owner` are positions, -1 for none; `time` is in Unix milliseconds.

    `owner`: of a tool's result, the reply that called the tool.
    """

    id: str
    parent: int
    kind: str
    preview: str
    time: int
    owner: int


class PageIndex(msgspec.Struct, rename="camel"):
    """What the viewer reads first.

    Attributes:
        starts: the position of the first entry of each piece.
        leaf: the position of the entry that the session goes on from, -1 if it is empty.
        labels: by position.
    """

    title: str
    header: dict[str, Json]
    generator: str = f"kaa {__version__}"
    totals: Totals = msgspec.field(default_factory=Totals)
    leaf: int = -1
    rows: list[PageRow] = msgspec.field(default_factory=list)
    starts: list[int] = msgspec.field(default_factory=list)
    labels: dict[str, str] = msgspec.field(default_factory=dict)


def write_page(source: SessionSource, selection: ExportSelection, out: BinaryIO) -> Totals:
    """Write the page. Takes the memory of one piece and of one row for each entry.

    Raises:
        OSError: `out` cannot be written.
        SessionError: the session cannot be read any more.
    """
    style = _asset("viewer.css")
    script = "\n".join(_asset(name) for name in _SCRIPTS)
    title = title_of(source, selection)
    before, after = _asset("viewer.html").split("{session}")
    before = before.replace("{policy}", _policy(style, script)).replace("{style}", style)
    out.write(before.replace("{title}", html.escape(title.translate(_VISIBLE))).encode("utf-8", "replace"))
    index = PageIndex(title, _header(source, selection))
    _write_entries(source, selection, out, index)
    out.write(b'<script type="application/json" id="index">' + embed(_encode(index)) + b"</script>\n")
    out.write(after.replace("{script}", script).encode())
    return index.totals


def embed(data: bytes) -> bytes:
    """JSON as it may stand in a script element, with directional marks made visible.

    What JSON has outside of strings is none of the escaped.
    """
    for character, escape in _ESCAPES:
        data = data.replace(character, escape)
    return data


def title_of(source: SessionSource, selection: ExportSelection) -> str:
    """The session's name, or what its first message begins with."""
    info = source.tree.info
    named = picked(source, info, selection) if info is not None else None
    name = named.fields.get("name") if named is not None else None
    if isinstance(name, str) and name.strip():
        return name.strip()
    for entry in pick(source, msgspec.structs.replace(selection, all_branches=False)):
        row = row_of(entry.fields)
        if row.kind == "user" and row.preview:
            return row.preview
    return "Session"


class _Indexer:
    """Makes the index while the entries pass by."""

    def __init__(self, index: PageIndex) -> None:
        self._index = index
        self._positions: dict[int, int] = {}  # by identity of the node: damaged files have ids twice
        self._by_id: dict[str, int] = {}
        self._calls: list[tuple[str, ...]] = []

    def add(self, entry: Picked) -> None:
        """Note the next entry."""
        row = row_of(entry.fields)
        parent = self.nearest(entry.node.parent)
        owner = self._owner(row, parent) if row.kind == "tool" else -1
        time = unix_milliseconds(str(entry.fields.get("timestamp")))
        self._positions[id(entry.node)] = self._by_id[entry.node.id] = len(self._index.rows)
        self._index.rows.append(PageRow(entry.node.id, parent, row.kind, row.preview, time, owner))
        self._calls.append(row.calls)
        self._index.totals.add(entry.fields)
        self.label(entry.fields)

    def nearest(self, node: Node | None) -> int:
        """The position of an entry, or of the nearest before it that is in the page; -1 if there is none."""
        while node is not None:
            if (position := self._positions.get(id(node))) is not None:
                return position
            node = node.parent
        return -1

    def _owner(self, result: ExportRow, position: int) -> int:
        """Results follow their reply, with other results and settings between. Ids of calls repeat in a session."""
        while position >= 0 and self._index.rows[position].kind in ("tool", "setting", "remark"):
            position = self._index.rows[position].parent
        return position if position >= 0 and result.calls[0] in self._calls[position] else -1

    def label(self, fields: dict[str, Json]) -> None:
        """Note a label, if this is one."""
        target = fields.get("targetId")
        if fields.get("type") != "label" or not isinstance(target, str) or target not in self._by_id:
            return
        position, label = str(self._by_id[target]), fields.get("label")
        self._index.labels.pop(position, None)
        if isinstance(label, str) and label:
            self._index.labels[position] = label


def _write_entries(source: SessionSource, selection: ExportSelection, out: BinaryIO, index: PageIndex) -> None:
    indexer = _Indexer(index)
    piece: list[bytes] = []
    size = 0
    for position, entry in enumerate(pick(source, selection)):
        indexer.add(entry)
        encoded = embed(_encode(entry.fields))
        if piece and size + len(encoded) > _PIECE_BYTES:
            _write_piece(out, piece)
            piece, size = [], 0
        if not piece:
            index.starts.append(position)
        piece.append(encoded)
        size += len(encoded)
    if piece:
        _write_piece(out, piece)
    index.leaf = indexer.nearest(source.tree.leaf)
    for node in () if selection.all_branches else remarks(source, source.tree.path()):
        if (remark := picked(source, node, selection)) is not None:
            indexer.label(remark.fields)


def _write_piece(out: BinaryIO, piece: list[bytes]) -> None:
    out.write(b'<script type="application/json" class="piece">[' + b",\n".join(piece) + b"]</script>\n")


def _encode(value: "PageIndex | dict[str, Json]") -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # unpaired surrogates
        return encode_object(msgspec.to_builtins(value)).rstrip(b"\n")


def _header(source: SessionSource, selection: ExportSelection) -> dict[str, Json]:
    header: SessionHeader = source.header
    fields: dict[str, Json] = msgspec.to_builtins(header)
    return fields if selection.redactor is None else redacted_object(fields, selection.redactor)


def _asset(name: str) -> str:
    return (files("kaa.session.export") / "viewer" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """The content security policy: this style and this script, images that are in the page, and nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "trusted-types 'none'",
            "require-trusted-types-for 'script'",
        )
    )


def _hash(text: str) -> str:
    """As CSP level 3 names what stands in the page (§2.3.1, hash-source)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
