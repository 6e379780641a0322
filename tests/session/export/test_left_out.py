"""What was deselected or is secret remains in no format, whichever kind of entry holds it."""

import io
from pathlib import Path
from typing import get_args

import pytest

from kaa.llm.redaction import Redactor
from kaa.session.entries import AnyEntry, StoredMessage
from kaa.session.export.request import Format
from kaa.session.export.selection import ExportSelection
from kaa.session.export.source import SnapshotFile
from kaa.shell.exporting import write_session as export
from tests.support.rich_session import call, png, reply, result, text, thought, user
from tests.support.sessions import HEADER, JsonObject, entry, write_session

WITHOUT = ExportSelection(all_branches=True, thinking=False, tools=False)
FORMATS = get_args(Format)
# In thoughts, calls and output, and in what pi recorded about its tools.
HIDDEN = "my-own-secret"

SPOKEN: tuple[JsonObject, ...] = (
    user("u", None, "question"),
    reply(
        "r",
        "u",
        {**thought(HIDDEN), "thinkingSignature": HIDDEN},
        text("answer"),
        {**call("1", "bash", command=HIDDEN), "thoughtSignature": HIDDEN},
        {"type": "unheard_of", "thinking": HIDDEN},
    ),
    result("t", "r", "1", "bash", HIDDEN, details={"diff": HIDDEN}, nestedCalls={"calls": [{"arguments": HIDDEN}]}),
    entry(
        "message",
        "b",
        "t",
        message={
            "role": "bashExecution",
            "command": "ls",
            "output": HIDDEN,
            "cancelled": False,
            "truncated": False,
            "unheardOf": HIDDEN,
        },
    ),
    entry("message", "n", "b", message={"role": "custom", "content": [text("note")], "customType": "x"}),
    entry(
        "message",
        "s",
        "n",
        message={"role": "system", "content": HIDDEN, "sections": [HIDDEN], "toolsAdded": [{"name": HIDDEN}]},
    ),
)


def edit(entry_id: str, target: str, content: str | list[JsonObject]) -> JsonObject:
    return entry("context_edit", entry_id, "s", targetId=target, replacement={"content": content})


EDITS = (
    edit("e1", "r", [thought(HIDDEN), call("1", "bash", command=HIDDEN), text("edited answer")]),
    edit("e2", "t", [text(HIDDEN)]),
    edit("e3", "t", HIDDEN),
    edit("e4", "b", HIDDEN),
    edit("e5", "s", HIDDEN),
    edit("e6", "lost", HIDDEN),
    entry("context_edit", "e7", "s", targetId="u", replacement=None),
)
OTHERS = (
    entry("model_change", "o1", "s", provider="p", modelId="m"),
    entry("thinking_level_change", "o2", "s", thinkingLevel="low"),
    entry("compaction", "o3", "s", summary="short", systemMessage={"role": "system", "content": HIDDEN}),
    entry("branch_summary", "o4", "s", summary="elsewhere", fromId="u"),
    entry("usage", "o5", "s", kind="title", usage={}),
    entry("custom", "o6", "s", customType="x"),
    entry("custom_message", "o7", "s", customType="x", content=[text("said"), thought(HIDDEN)], display=True),
    entry("label", "o8", "s", targetId="u", label="begin"),
    entry("session_info", "o9", "s", name="name"),
    entry("leaf", "o10", "s", targetId="s"),
)
ENTRIES = (*SPOKEN, *EDITS, *OTHERS)


def exported(path: Path, selection: ExportSelection, wanted: Format) -> str:
    out = io.BytesIO()
    with SnapshotFile.open(path) as source:
        export(source, selection, wanted, out)
    return out.getvalue().decode()


def test_every_kind_of_entry_and_message_is_among_them() -> None:
    kinds = {kind.__struct_config__.tag for kind in get_args(AnyEntry)}
    roles = {role.__struct_config__.tag for role in get_args(StoredMessage)}

    assert {fields["type"] for fields in ENTRIES} == kinds
    assert {fields["message"]["role"] for fields in SPOKEN} == roles


@pytest.mark.parametrize("wanted", FORMATS)
def test_deselected_content_remains_in_no_entry(tmp_path: Path, wanted: Format) -> None:
    path = write_session(tmp_path / "s.jsonl", *ENTRIES)

    text_of = exported(path, WITHOUT, wanted)

    assert "my-own-secret" not in text_of
    assert "question" in text_of


def test_an_edit_keeps_what_was_selected(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", *ENTRIES)

    assert "edited answer" in exported(path, WITHOUT, "jsonl")
    assert exported(path, ExportSelection(thinking=False, all_branches=True), "jsonl").count(HIDDEN) > 5


def saying_it(fields: JsonObject) -> JsonObject:
    """The entry with the secret in every field that can hold text, and in one nobody knows."""
    structure = {"type", "id", "parentId", "timestamp", "targetId", "fromId", "role"}

    def changed(value: object) -> object:
        match value:
            case str():
                return f"{value} {HIDDEN}"
            case list():
                return [changed(item) for item in value]
            case dict():
                return {key: item if key in structure else changed(item) for key, item in value.items()}
            case _:
                return value

    said = changed(fields)
    assert isinstance(said, dict)
    return {**said, "unheardOf": [HIDDEN, {HIDDEN: HIDDEN}]}


@pytest.mark.parametrize("wanted", FORMATS)
def test_secrets_remain_in_no_entry(tmp_path: Path, wanted: Format) -> None:
    header = {**HEADER, "cwd": f"/{HIDDEN}"}
    path = write_session(tmp_path / "s.jsonl", *map(saying_it, ENTRIES), header=header)

    assert HIDDEN not in exported(path, ExportSelection(all_branches=True, redactor=Redactor([HIDDEN])), wanted)


def test_what_stands_beside_an_image_is_redacted(tmp_path: Path) -> None:
    image = {"type": "image", "data": png(), "mimeType": "image/png", "caption": HIDDEN}
    question = user("u", None, "look")
    question["message"]["content"].append(image)
    path = write_session(tmp_path / "s.jsonl", question)

    text_of = exported(path, ExportSelection(redactor=Redactor([HIDDEN])), "jsonl")

    assert HIDDEN not in text_of
    assert png() in text_of
