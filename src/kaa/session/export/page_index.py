"""The index of a page: what the viewer knows of all entries and agents before it reads any of them."""

import msgspec

from kaa import __version__
from kaa.core.messages import Json
from kaa.session.export.outline import row_of
from kaa.session.export.selection import Picked
from kaa.session.export.totals import Totals
from kaa.session.naming import unix_milliseconds
from kaa.session.tree import Node


class PageRow(msgspec.Struct, array_like=True):
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


class PageAgent(msgspec.Struct, rename="camel"):
    """An agent. Its entries follow those of the conversation.

    Attributes:
        outcome: how it ended.
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
    agents: list[PageAgent] = msgspec.field(default_factory=list)


class Indexer:
    """Makes the index while the entries pass by."""

    def __init__(self, index: PageIndex) -> None:
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
        """Note the next entry."""
        row = row_of(entry.fields)
        parent = self.nearest(entry.node.parent)
        owner = self.owner(row.calls[0], parent) if row.kind == "tool" else -1
        time = unix_milliseconds(str(entry.fields.get("timestamp")))
        self._positions[id(entry.node)] = self._by_id[entry.node.id] = len(self._index.rows)
        above = parent if parent >= 0 else self._root
        self._index.rows.append(PageRow(entry.node.id, above, row.kind, row.preview, time, owner))
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

    def caller(self, agent: PageAgent, end: int, call_id: str, time: int) -> int:
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
