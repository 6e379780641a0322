"""A session as it is shown: the whole branch, and only what is looked at is decoded."""

from pathlib import Path

from kaa.core.messages import UserMessage
from kaa.session.entries import Compaction, CustomMessage, MessageEntry, ModelChange
from kaa.session.store import session_name
from kaa.session.transcript import Transcript, Unreadable
from kaa.session.tree import Node
from tests.support.sessions import entry, opened, user_entry, write_session


def test_what_was_condensed_is_shown_too(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "first"),
        entry("compaction", "b", "a", summary="sum", firstKeptEntryId="a", tokensBefore=1),
        user_entry("c", "b", "second"),
    )

    with opened(path) as store:
        kinds = [type(shown) for shown in Transcript(store)]

    assert kinds == [MessageEntry, Compaction, MessageEntry]


def test_other_branches_and_what_is_not_for_people_are_left_out(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        entry("model_change", "m", None, provider="p", modelId="x"),
        user_entry("a", "m", "first"),
        user_entry("b", "a", "left"),
        entry("label", "l", "b", targetId="a", label="here"),
        entry("custom_message", "h", "a", customType="t", content="hidden", display=False),
        entry("custom", "k", "h", customType="t", data={"display": True}),
        entry("custom", "d", "k", customType="t", display=[{"type": "text"}]),
        entry("custom", "s", "d", customType="t", display=[{"type": "text", "text": "seen"}]),
        entry("custom_message", "v", "s", customType="t", content="visible", display=True),
    )

    with opened(path) as store:
        transcript = Transcript(store)
        ids = [shown.id for shown in transcript]

        assert ids == ["m", "a", "s", "v"]
        assert isinstance(transcript[0], ModelChange)
        assert isinstance(transcript[-1], CustomMessage)
        assert [shown.id for shown in transcript[1:]] == ["a", "s", "v"]


def test_what_nobody_understands_keeps_its_place(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "first"),
        entry("message", "b", "a", message={"role": "hologram"}),
        user_entry("c", "b", "second"),
    )

    with opened(path) as store:
        assert Transcript(store)[1] == Unreadable(id="b")


def test_it_does_not_grow_with_the_session(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "first"))

    with opened(path) as store:
        transcript = Transcript(store)
        store.append(MessageEntry(message=UserMessage("second")))

        assert len(transcript) == 1
        assert len(Transcript(store)) == 2


def test_only_what_is_looked_at_is_read(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", *(user_entry(str(n), str(n - 1) if n else None, "x") for n in range(50)))
    read: list[str] = []

    with opened(path) as store:
        line = store.line

        def listening(node: Node) -> bytes:
            read.append(node.id)
            return line(node)

        store.line = listening  # type: ignore[method-assign]
        transcript = Transcript(store)
        _ = transcript[-1], transcript[10:12]

    assert read == ["49", "10", "11"]


def test_the_last_name_is_the_sessions(tmp_path: Path) -> None:
    named = [entry("session_info", "n", "u", name=" first "), entry("session_info", "o", "n", name=" second ")]
    path = write_session(tmp_path / "s.jsonl", user_entry("u", None, "hello"), *named)
    cleared = write_session(
        tmp_path / "t.jsonl", user_entry("u", None, "hello"), named[0], entry("session_info", "o", "n")
    )

    with opened(path) as store, opened(cleared) as other:
        assert session_name(store) == "second"
        assert session_name(other) is None
