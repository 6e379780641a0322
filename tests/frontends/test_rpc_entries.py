"""The entries of a session as rpc mode sends them."""

import json
from typing import Any

import msgspec

from kaa.frontends.rpc.entries import StoredEntry, entries_after, entry_tree
from kaa.session.store import grow
from kaa.session.tree import SessionTree


def stored(*lines: bytes) -> list[StoredEntry]:
    """The entries of a file with these lines."""
    tree = SessionTree()
    grow(tree, lines)
    return list(zip(tree.nodes, lines, strict=True))


def entry(name: str, parent: str | None, **fields: str) -> bytes:
    return msgspec.json.encode({"type": "custom", "id": name, "parentId": parent, **fields})


def read(sent: msgspec.Raw) -> Any:
    return json.loads(bytes(sent))


def test_a_long_conversation_is_sent_as_a_deep_tree() -> None:
    names = [str(number) for number in range(20_000)]
    lines = [entry(name, parent) for name, parent in zip(names, [None, *names], strict=False)]

    sent = bytes(entry_tree(stored(*lines)))

    assert sent.startswith(b'[{"entry":' + lines[0] + b',"children":[{"entry":' + lines[1])
    assert sent.endswith(lines[-1] + b',"children":[]}' + b"]}" * 19_999 + b"]")


def test_the_last_label_counts_and_an_empty_one_takes_it_away() -> None:
    def label(name: str, parent: str, text: str) -> bytes:
        fields = {"type": "label", "targetId": parent, "label": text, "timestamp": f"time of {name}"}
        return entry(name, parent, **fields)

    lines = entry("a", None), label("b", "a", "one"), label("c", "a", "two"), label("d", "c", "x"), label("e", "c", "")
    (root,) = read(entry_tree(stored(*lines)))

    assert (root["label"], root["labelTimestamp"]) == ("two", "time of c")
    assert "label" not in root["children"][1]


def test_damaged_entries_are_sent_as_json_that_every_client_reads() -> None:
    damaged = b'{"type":"custom","id":"a","parentId":null,"text":"\xff \\ud83d"}'

    (node,) = read(entry_tree(stored(damaged)))
    sent = entries_after(stored(damaged), None)

    assert node["entry"]["text"] == "\ufffd ?"
    assert sent is not None
    assert [read(one) for one in sent] == [node["entry"]]
