"""From pi's formats v1 and v2 to v3: the same entries with ids, parents and today's names."""

from collections.abc import Iterable

from kaa.core.messages import Json
from kaa.session.file.decoding import read_head
from kaa.session.file.jsonl import encode_object, lenient_object
from kaa.session.store import grow
from kaa.session.tree import Node, SessionTree


def migrate(lines: Iterable[bytes]) -> bytes:
    """The entries of an old file, without its header, as lines of v3.

    v1 has no ids: entries follow one another, and a compaction names the first kept entry by an index that
    counts the header as 0. v2 calls the role `custom` by the name `hookMessage`. Lines that are no entries
    are kept as they are.
    """
    tree = SessionTree()
    migrated = []
    for line in lines:
        head = read_head(line)
        if head is not None and head.type == "session":
            continue
        before = len(tree)
        grow(tree, [line])
        fields = lenient_object(line) if len(tree) > before else None
        if fields is None:
            migrated.append(line.rstrip(b"\n") + b"\n")
        else:
            migrated.append(encode_object(_migrated(fields, tree.nodes[-1], tree.nodes)))
    return b"".join(migrated)


def _migrated(fields: dict[str, Json], node: Node, earlier: list[Node]) -> dict[str, Json]:
    fields["id"] = node.id
    fields["parentId"] = node.parent.id if node.parent is not None else None
    index = fields.pop("firstKeptEntryIndex", None)
    if isinstance(index, int) and 0 < index <= len(earlier):
        fields["firstKeptEntryId"] = earlier[index - 1].id
    message = fields.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        message["role"] = "custom"
    return fields
