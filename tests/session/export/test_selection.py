"""What is left out of an export, and that nothing else is."""

from pathlib import Path

import msgspec

from kaa.llm.redaction import Redactor
from kaa.session.export.selection import ExportSelection, pick
from kaa.session.export.source import SnapshotFile
from tests.support.rich_session import call, png, reply, result, text, thought, user, write_rich_session
from tests.support.sessions import JsonObject, entry, write_session

SECRET = "sk-ant-api03-0123456789abcdefghijklmnop"


def picked(path: Path, selection: ExportSelection) -> list[JsonObject]:
    with SnapshotFile.open(path) as source:
        return [entry.fields for entry in pick(source, selection)]


def blocks(entries: list[JsonObject]) -> set[str]:
    messages = [fields["message"] for fields in entries if fields["type"] == "message"]
    return {block["type"] for message in messages for block in message.get("content", ())}


def test_thinking_can_be_left_out(tmp_path: Path) -> None:
    path = write_rich_session(tmp_path)

    assert "thinking" in blocks(picked(path, ExportSelection()))
    assert "thinking" not in blocks(picked(path, ExportSelection(thinking=False)))


def test_without_tools_neither_calls_nor_output_nor_diffs_are_there(tmp_path: Path) -> None:
    path = write_rich_session(tmp_path)

    without = str(picked(path, ExportSelection(tools=False)))

    assert "toolCall'" not in without
    assert "AssertionError" not in without
    assert "GRAVITY" not in without
    assert "pendulum.py | 2" not in without  # what the user's own command printed


def test_what_only_a_provider_can_read_is_left_out(tmp_path: Path) -> None:
    path = write_rich_session(tmp_path)

    assert "opaque-signature" not in str(picked(path, ExportSelection()))


def test_output_that_pi_keeps_twice_is_kept_once(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        reply("a", None, call("1", "bash", command="ls")),
        result("b", "a", "1", "bash", "listing", details={"truncation": {"content": "listing", "truncated": False}}),
    )

    assert str(picked(path, ExportSelection())).count("listing") == 1


def test_secrets_are_taken_out_of_every_text_and_the_tree_stays(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user("a", None, SECRET),
        reply("b", "a", thought(SECRET), text(SECRET), call("1", SECRET, **{SECRET: [SECRET, {"deep": SECRET}]})),
        result("c", "b", "1", SECRET, SECRET, details={"diff": SECRET}),
        entry("label", "d", "c", targetId="a", label=SECRET),
        entry("session_info", "e", "d", name=SECRET),
        entry("unheard_of", "f", "e", strange={"list": [SECRET]}),
    )
    redactor = Redactor()

    entries = picked(path, ExportSelection(redactor=redactor))

    assert SECRET not in str(entries)
    assert [fields["parentId"] for fields in entries] == [None, "a", "b", "c", "d", "e"]
    assert redactor.kinds == {"API key": 13}


def test_images_stay_whole(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user("a", None, "look", png()))

    (fields,) = picked(path, ExportSelection(redactor=Redactor([png()[:40]])))

    assert fields["message"]["content"][1]["data"] == png()


def test_entries_survive_unpaired_surrogates(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user("a", None, "\ud800 half a pair"))

    (fields,) = picked(path, ExportSelection())

    assert msgspec.json.encode(fields)
