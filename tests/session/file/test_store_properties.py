"""What holds for every session file, whatever happened to it."""

import io
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kaa.session.entries import Leaf, MessageEntry
from kaa.session.errors import NotASessionError
from kaa.session.file.decoding import decode_entry
from kaa.session.file.file_store import FileStore
from kaa.session.store import MemoryStore, grow, new_header
from kaa.session.tree import SessionTree
from tests.support.agents import run, say
from tests.support.sessions import HEADER, opened, reply, texts, user_entry, write_session

_TEXT = st.text(max_size=40)


@given(st.lists(st.lists(_TEXT, min_size=1, max_size=3), max_size=6))
def test_what_was_appended_is_read_back_whatever_the_number_of_restarts(batches: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        for number, batch in enumerate(batches):
            store = FileStore.open(path) if number else FileStore.create(path, new_header("/p"))
            store.append(*(MessageEntry(message=say(text)) for text in batch))
            run(store.close())

        if batches:
            with opened(path) as again:
                assert texts(again) == [text for batch in batches for text in batch]


@given(st.lists(_TEXT, min_size=1, max_size=4), st.data())
def test_a_file_cut_anywhere_keeps_every_whole_line_and_can_be_continued(said: list[str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        store = FileStore.create(path, new_header("/p"))
        store.append(*(MessageEntry(message=say(text)) for text in said))
        run(store.close())
        whole = path.read_bytes()
        header_end = whole.index(b"\n")
        cut = data.draw(st.integers(min_value=header_end, max_value=len(whole)))
        path.write_bytes(whole[:cut])

        with opened(path) as torn:
            # An entry that lacks nothing but its line feed is whole.
            kept = [said[number] for number in range(len(said)) if _is_whole(whole, number, cut)]
            assert texts(torn) == kept
            torn.append(MessageEntry(message=say("next")))
        with opened(path) as again:
            assert texts(again) == [*kept, "next"]
        assert path.read_bytes().startswith(whole[:cut])


def _is_whole(content: bytes, entry_number: int, cut: int) -> bool:
    end = len(b"\n".join(content.split(b"\n")[: entry_number + 2]))
    return end <= cut


def test_a_file_cut_at_every_byte_can_be_opened_or_is_refused_untouched(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "ä"), user_entry("b", "a", "two"))
    whole = path.read_bytes()
    header_length = len(json.dumps(HEADER))

    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        try:
            with opened(path) as store:
                texts(store)
            was_opened = True
        except NotASessionError:
            was_opened = False
        assert was_opened == (cut >= header_length)
        assert path.read_bytes() == whole[:cut]


@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([b"{}", b'{"type":"message"}', b'{"type":"leaf"}']))))
def test_garbage_between_entries_never_hides_them(garbage: list[bytes]) -> None:
    tree = SessionTree()
    lines = [json.dumps(user_entry("first", None, "one")).encode()]
    lines += [line.replace(b"\n", b" ") for line in garbage]
    lines += [json.dumps(user_entry("last", "first", "two")).encode()]

    grow(tree, io.BytesIO(b"\n".join(lines)))

    assert [node.id for node in tree.path()] == ["first", "last"]


_IDS = st.sampled_from(["a", "b", "c", "d", ""])


@given(st.lists(st.tuples(_IDS, st.one_of(st.none(), _IDS, st.integers()), st.sampled_from(["x", "leaf"]))))
def test_every_entry_is_reached_from_the_end_or_by_a_branch_whatever_parents_it_claims(
    claims: list[tuple[str, str | int | None, str]],
) -> None:
    tree = SessionTree()
    lines = [
        json.dumps({"type": kind, "id": entry_id, "parentId": parent, "targetId": parent}).encode() + b"\n"
        for entry_id, parent, kind in claims
    ]

    grow(tree, lines)

    assert len(tree) == len(claims)
    for node in tree.nodes:
        path = tree.path(node)
        assert path[0].parent is None
        assert len(path) <= len(claims)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | _TEXT, lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner)
    )
)
def test_decoding_an_entry_never_fails_whatever_the_message_is(message: object) -> None:
    line = json.dumps({"type": "message", "id": "a", "parentId": None, "message": message}).encode()

    decode_entry(line)


_MESSAGE_FIELDS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "toolResult", "bashExecution", "custom", "system", "?"])},
    optional={
        name: st.one_of(st.none(), st.integers(), _TEXT, st.lists(st.one_of(_TEXT, st.dictionaries(_TEXT, _TEXT))))
        for name in ("content", "usage", "stopReason", "timestamp", "toolCallId", "command", "output", "errorMessage")
    },
)


@given(_MESSAGE_FIELDS)
def test_decoding_a_damaged_message_never_fails(message: dict[str, object]) -> None:
    line = json.dumps({"type": "message", "id": "a", "parentId": None, "message": message}).encode()

    entry = decode_entry(line)

    assert entry is None or isinstance(entry, MessageEntry)


@given(st.lists(st.tuples(st.booleans(), st.integers(min_value=0, max_value=20)), max_size=20))
def test_file_and_memory_agree_on_every_tree(steps: list[tuple[bool, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept, unkept = FileStore.create(Path(folder, "s.jsonl"), new_header("/p")), MemoryStore("/p")
        for number, (moves, target) in enumerate(steps):
            for store in (kept, unkept):
                if moves and len(store.tree):
                    store.append(Leaf(target_id=store.tree.nodes[target % len(store.tree)].id))
                else:
                    store.append(MessageEntry(message=reply(str(number))))

        assert texts(kept) == texts(unkept)
        run(kept.close())
        if kept.path.exists():
            with opened(kept.path) as again:
                assert texts(again) == texts(unkept)


def test_readers_find_all_whole_entries_while_the_file_grows(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = FileStore.create(path, new_header("/p"))
    store.append(MessageEntry(message=say("0")))
    done = threading.Event()
    seen = []

    def read() -> None:
        while not done.is_set():
            seen.append(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(300):
        store.append(MessageEntry(message=say("x" * number)), MessageEntry(message=reply("y" * 9000)))
    done.set()
    reader.join()
    run(store.close())

    # A read may see the beginning of a write of several pages, as a torn last line.
    for content in (seen[0], *seen[-20:]):
        tree = SessionTree()
        grow(tree, io.BytesIO(content))
        assert path.read_bytes().startswith(content)
        assert len(tree) >= content.count(b"\n") - 1


def test_a_very_long_session_can_be_let_go(tmp_path: Path) -> None:
    program = """
from kaa.session.store import grow
from kaa.session.tree import SessionTree

tree = SessionTree()
grow(tree, (b'{"type":"x","id":"%d"}' % number for number in range(400_000)))
leaf = tree.leaf
del tree
del leaf
print("alive")
"""
    # In a process of its own: what is to be seen is that it does not crash.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stdout == "alive\n"
