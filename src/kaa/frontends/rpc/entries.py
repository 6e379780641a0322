"""The entries of a session as rpc mode tells of them: in the order of the file, and as a tree, in pi's shape."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from kaa.session.entries import Label, MessageEntry, StoredMessage
from kaa.session.file.decoding import decode_entry
from kaa.session.file.jsonl import UNREADABLE, encode_object, lenient_object
from kaa.session.tree import Node

StoredEntry: TypeAlias = tuple[Node, bytes]
"""An entry and its line in the session file."""


def entries_after(entries: Sequence[StoredEntry], since: str | None) -> list[msgspec.Raw] | None:
    """The entries after the one with the id `since`, or all; None if there is no such entry."""
    first = 0
    if since is not None:
        first = next((place for place, (node, _) in enumerate(entries, start=1) if node.id == since), 0)
        if not first:
            return None
    return [msgspec.Raw(_readable(line)) for _, line in entries[first:]]


def stored_messages(entries: Sequence[StoredEntry]) -> list[StoredMessage]:
    """The messages of all branches, those before a compaction too."""
    read = (decode_entry(line) for node, line in entries if node.type == "message")
    return [entry.message for entry in read if isinstance(entry, MessageEntry)]


def entry_tree(entries: Sequence[StoredEntry]) -> msgspec.Raw:
    """The roots, each with `entry`, `children`, and `label` and `labelTimestamp` where the user gave it a name.

    The tree is as deep as the conversation is long, so neither recursion nor an encoder of objects can write it.
    """
    labels = _labels(entries)
    children: defaultdict[Node | None, list[StoredEntry]] = defaultdict(list)
    for entry in entries:
        children[entry[0].parent].append(entry)
    parts: list[bytes] = []
    pending: list[StoredEntry | bytes] = [b"]", *_separated(children[None]), b"["]
    while pending:
        match pending.pop():
            case bytes(text):
                parts.append(text)
            case node, line:
                parts += (b'{"entry":', _readable(line), b',"children":[')
                pending += (b"]" + labels.get(node.id, b"") + b"}", *_separated(children[node]))
    return msgspec.Raw(b"".join(parts))


def _separated(entries: Sequence[StoredEntry]) -> list[StoredEntry | bytes]:
    """The entries, last first, with commas between them."""
    return [part for entry in reversed(entries) for part in (entry, b",")][:-1]


def _labels(entries: Sequence[StoredEntry]) -> dict[str, bytes]:
    """The fields of each named entry, as JSON; the last label of an entry counts."""
    labels: dict[str, bytes] = {}
    for node, line in entries:
        if node.type != "label":
            continue
        label = decode_entry(line)
        if isinstance(label, Label):
            named = {"label": label.label, "labelTimestamp": label.timestamp}
            labels[label.target_id] = b"," + msgspec.json.encode(named)[1:-1] if label.label else b""
    return labels


def _readable(line: bytes) -> bytes:
    """The line, repaired if a client could not read it: files of other programs may be damaged."""
    try:
        line.decode()
        msgspec.json.decode(line, type=msgspec.Raw)
    except UNREADABLE:
        return encode_object(lenient_object(line) or {}).rstrip()
    return line
