"""A session as one HTML file that shows all of it: the viewer's program, and the session as data beside it.

Nothing of the session is ever markup. It is JSON in `<script type="application/json">`, in which no character can end
the element, and the viewer makes text nodes of it. The page may load nothing, may run the one program whose hash its
policy names, and may turn no text into markup (`require-trusted-types-for`).

The entries come in pieces, each an element of its own: a piece is parsed when something in it is looked at.
"""

import base64
import hashlib
import html
import itertools
from importlib.resources import files
from typing import BinaryIO

import msgspec

from kaa import __version__
from kaa.core.messages import Json
from kaa.session.entries import SessionHeader
from kaa.session.export.agents import Beginning, ExportedAgent, agent_session, agents_in, redacted
from kaa.session.export.outline import row_of
from kaa.session.export.selection import ExportSelection, Picked, pick, picked, redacted_object, remarks
from kaa.session.export.source import SessionSource
from kaa.session.export.totals import Totals
from kaa.session.file.jsonl import encode_object
from kaa.session.naming import unix_milliseconds
from kaa.session.tree import Node


class _PageRow(msgspec.Struct, array_like=True):
    """An entry in the index. `parent` and `owner` are positions, -1 for none; `time` is in Unix milliseconds.

    `parent`: of the first entry of the agent with the number n, -2 - n.
    `owner`: of a tool's result, the reply that called the tool.
    """

    id: str
    parent: int
    kind: str
    preview: str
    time: int
    owner: int


class _PageAgent(msgspec.Struct, rename="camel"):
    """An agent. Its entries follow those of the conversation.

    Attributes:
        problem: what is missing of its session.
        first: the position of its first entry; that of the next agent's if it has none.
        leaf: the position of its last entry, -1 if there are none.
        begun: where it began or went on: positions of entries, and ids of calls in them; without a call, of the entry
            that says so.
    """

    id: str
    task: str
    outcome: str
    problem: str
    first: int
    leaf: int = -1
    begun: list[tuple[int, str]] = msgspec.field(default_factory=list)


class _PageIndex(msgspec.Struct, rename="camel"):
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
    rows: list[_PageRow] = msgspec.field(default_factory=list)
    starts: list[int] = msgspec.field(default_factory=list)
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    agents: list[_PageAgent] = msgspec.field(default_factory=list)


class _Indexer:
    """Makes the index while the entries pass by."""

    def __init__(self, index: _PageIndex) -> None:
        self._index = index
        self._calls: list[tuple[str, ...]] = []
        self.begin(-1, index.totals)

    def begin(self, root: int, totals: Totals) -> None:
        """The entries of another session follow. `root`: what stands for the parent of its first ones."""
        self._root = root
        self._totals = totals
        self._positions: dict[int, int] = {}  # by identity of the node: damaged files have ids twice
        self._by_id: dict[str, int] = {}

    def add(self, entry: Picked) -> None:
        row = row_of(entry.fields)
        parent = self.nearest(entry.node.parent)
        owner = self.owner(row.calls[0], parent) if row.kind == "tool" else -1
        time = unix_milliseconds(str(entry.fields.get("timestamp")))
        self._positions[id(entry.node)] = self._by_id[entry.node.id] = len(self._index.rows)
        above = parent if parent >= 0 else self._root
        self._index.rows.append(_PageRow(entry.node.id, above, row.kind, row.preview, time, owner))
        self._calls.append(row.calls)
        self._totals.add(entry.fields)
        self.label(entry.fields)

    def nearest(self, node: Node | None) -> int:
        """The position of an entry, or of the nearest before it that is in the page; -1 if there is none."""
        while node is not None:
            if (position := self._positions.get(id(node))) is not None:
                return position
            node = node.parent
        return -1

    def owner(self, call_id: str, position: int) -> int:
        """Results follow their reply, with other results, agents and settings between. Ids of calls repeat."""
        while position >= 0 and self._index.rows[position].kind in ("tool", "setting", "remark", "agent", "other"):
            position = self._index.rows[position].parent
        return position if position >= 0 and call_id in self._calls[position] else -1

    def caller(self, agent: _PageAgent, end: int, call_id: str, time: int) -> int:
        """The position of the last reply of an agent until a time that has this call; -1 if there is none."""
        found = -1
        for position in range(agent.first, end):
            row = self._index.rows[position]
            if row.kind == "assistant" and row.time <= time and call_id in self._calls[position]:
                found = position
        return found

    def label(self, fields: dict[str, Json]) -> None:
        """Note a label, if this is one."""
        target = fields.get("targetId")
        if fields.get("type") != "label" or not isinstance(target, str) or target not in self._by_id:
            return
        position, label = str(self._by_id[target]), fields.get("label")
        self._index.labels.pop(position, None)
        if isinstance(label, str) and label:
            self._index.labels[position] = label


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
    "agents.js",
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
    index = _PageIndex(title, _header(source, selection))
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


class _Pieces:
    def __init__(self, out: BinaryIO, index: _PageIndex) -> None:
        self._out = out
        self._index = index
        self._piece: list[bytes] = []
        self._size = 0
        self._count = 0

    def add(self, entry: Picked) -> None:
        """Write the next entry, soon."""
        encoded = embed(_encode(entry.fields))
        if self._piece and self._size + len(encoded) > _PIECE_BYTES:
            self.flush()
        if not self._piece:
            self._index.starts.append(self._count)
        self._piece.append(encoded)
        self._size += len(encoded)
        self._count += 1

    def flush(self) -> None:
        if self._piece:
            _write_piece(self._out, self._piece)
        self._piece, self._size = [], 0


def _write_entries(source: SessionSource, selection: ExportSelection, out: BinaryIO, index: _PageIndex) -> None:
    indexer, pieces = _Indexer(index), _Pieces(out, index)
    for entry in pick(source, selection):
        indexer.add(entry)
        pieces.add(entry)
    index.leaf = indexer.nearest(source.tree.leaf)
    for node in () if selection.all_branches else remarks(source, source.tree.path()):
        if (remark := picked(source, node, selection)) is not None:
            indexer.label(remark.fields)
    agents = agents_in(source, selection)
    begun = [[indexer.nearest(beginning.node) for beginning in agent.beginnings] for agent in agents]
    for agent in agents:
        _write_agent(source, selection, agent, indexer, pieces, index)
    pieces.flush()
    for agent, page_agent, positions in zip(agents, index.agents, begun, strict=True):
        page_agent.begun = [
            _begun_at(beginning, position, indexer, index)
            for beginning, position in zip(agent.beginnings, positions, strict=True)
        ]


def _write_agent(
    source: SessionSource,
    selection: ExportSelection,
    agent: ExportedAgent,
    indexer: _Indexer,
    pieces: _Pieces,
    index: _PageIndex,
) -> None:
    branch = msgspec.structs.replace(selection, all_branches=False)
    totals = Totals()
    task = redacted(agent.beginnings[0].begun.task, selection)
    indexer.begin(-2 - len(index.agents), totals)
    with agent_session(source, agent.id) as (session, problem):
        shown = _PageAgent(agent.id, task, redacted(agent.outcome, selection), problem, len(index.rows))
        index.agents.append(shown)
        for entry in pick(session, branch) if session is not None else ():
            indexer.add(entry)
            pieces.add(entry)
            shown.leaf = len(index.rows) - 1
    index.totals.add_agent(totals)


def _begun_at(beginning: Beginning, position: int, indexer: _Indexer, index: _PageIndex) -> tuple[int, str]:
    """Where an agent is shown: the entry with the call that began it; else the one that says that it began."""
    begun = beginning.begun
    owner = -1
    if begun.call and begun.parent is None:
        owner = indexer.owner(begun.call, position)
    elif begun.call:
        for agent, following in itertools.pairwise((*index.agents, None)):
            if agent is not None and agent.id == begun.parent:
                end = len(index.rows) if following is None else following.first
                owner = indexer.caller(agent, end, begun.call, unix_milliseconds(beginning.timestamp))
    return (owner, begun.call) if owner >= 0 else (position, "")


def _write_piece(out: BinaryIO, piece: list[bytes]) -> None:
    out.write(b'<script type="application/json" class="piece">[' + b",\n".join(piece) + b"]</script>\n")


def _encode(value: "_PageIndex | dict[str, Json]") -> bytes:
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
