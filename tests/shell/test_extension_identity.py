"""Extensions of equal name: which data, settings and switches belong to which of them."""

import json
from pathlib import Path

import pytest

from kaa.ext.errors import ExtensionError
from kaa.ext.places import ExtensionId
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.extensions.records import ExtensionRecord, ExtensionRecords
from kaa.shell.home import Home
from kaa.shell.options import ConversationOptions, HostOptions
from tests.support.stage import Stage

# `/COMMAND TEXT` keeps a text, and replies with all that it finds.
_KEEPER = """
import msgspec

class Settings(msgspec.Struct):
    secret: str = "none"

def extend(kaa):
    async def keep(text, context):
        before = await context.store("user").get("text")
        entries = [entry.data for entry in context.session.entries()]
        await context.store("user").set("text", text)
        context.session.append(text)
        return f"{before}, {entries}, {context.settings(Settings).secret}"

    kaa.settings(Settings)
    kaa.register_command("COMMAND", "Keep a text", keep)
"""


def _keeper(path: Path, command: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_KEEPER.replace("COMMAND", command))
    return path


async def _said(conversation: Conversation, command: str) -> str:
    reply = await conversation.submit(command)
    assert isinstance(reply, CommandReply)
    return reply.text


def test_neither_one_from_elsewhere_nor_one_of_the_project_has_what_belongs_to_the_users(
    stage: Stage, tmp_path: Path
) -> None:
    _keeper(stage.home / "extensions/todo.py", "mine")
    elsewhere = _keeper(tmp_path / "todo.py", "elsewhere")
    stage.files["/project/.kaa/extensions/todo.py"] = _KEEPER.replace("COMMAND", "projects").encode()
    stage.host_options = HostOptions(extensions=(elsewhere,))
    (stage.home / "settings.json").write_text(json.dumps({"extensionSettings": {"todo": {"secret": "s3"}}}))

    async def scene(conversation: Conversation) -> list[str]:
        return [await _said(conversation, f"/{one} kept") for one in ("mine", "elsewhere", "projects", "mine")]

    replies = stage.play(scene, ConversationOptions(model="m", trust="yes"))

    nothing = "None, [], none"
    assert replies == ["None, [], s3", nothing, nothing, "kept, ['kept'], s3"]
    key = ExtensionId.at(elsewhere).key
    assert {"todo", key} < {folder.name for folder in (stage.home / "extension-data").iterdir()}


def test_one_of_a_project_keeps_its_data_when_it_changes(stage: Stage) -> None:
    file = "/project/.kaa/extensions/todo.py"
    replies: list[str] = []
    for version in ("", "\n# changed\n"):
        stage.files[file] = (_KEEPER.replace("COMMAND", "keep") + version).encode()
        reply = stage.play(lambda one: _said(one, "/keep milk"), ConversationOptions(model="m", trust="yes"))
        replies.append(reply)

    assert replies == ["None, [], none", "milk, [], none"]


def test_a_switch_in_the_records_is_for_the_one_in_the_home(stage: Stage, tmp_path: Path) -> None:
    _keeper(stage.home / "extensions/todo.py", "mine")
    elsewhere = _keeper(tmp_path / "todo.py", "elsewhere")
    (stage.home / "settings.json").write_text(json.dumps({"extensions": [str(elsewhere)]}))
    with ExtensionRecords(Home(stage.home)).rewriting() as records:
        records["todo"] = ExtensionRecord(enabled=False)

    async def commands(conversation: Conversation) -> set[str]:
        return {one.name for one in conversation.commands} & {"mine", "elsewhere"}

    assert stage.play(commands) == {"elsewhere"}


def test_of_two_in_the_home_with_one_name_the_second_is_left_out_with_both_paths(stage: Stage) -> None:
    folder = _keeper(stage.home / "extensions/todo/__init__.py", "first").parent
    file = _keeper(stage.home / "extensions/todo.py", "second")

    async def scene(conversation: Conversation) -> tuple[set[str], str]:
        commands = {one.name for one in conversation.commands} & {"first", "second"}
        return commands, await _said(conversation, "/extensions")

    commands, listed = stage.play(scene)

    problem = f"Extension {file} is not loaded: {folder} has the same name. Rename or remove one"
    assert commands == {"first"}
    assert [notice for notice in stage.notices if problem in notice]
    assert problem in listed


def test_records_that_cannot_be_read_load_nothing_that_could_be_disabled(stage: Stage, tmp_path: Path) -> None:
    mine = _keeper(stage.home / "extensions/todo.py", "mine")
    given = _keeper(tmp_path / "given.py", "given")
    stage.host_options = HostOptions(extensions=(given,))
    records = stage.home / "extensions.json"
    records.write_text("{")
    records.chmod(0o600)

    async def commands(conversation: Conversation) -> set[str]:
        return {one.name for one in conversation.commands} & {"mine", "given"}

    assert stage.play(commands) == {"given"}
    [notice] = [one for one in stage.notices if str(records) in one]
    assert f"Extension {mine} is not loaded: kaa cannot read whether it is disabled" in notice
    assert "Correct it, or remove it" in notice


@pytest.mark.parametrize("where", ["project", "disabled", "nowhere"])
def test_a_required_extension_that_is_not_there_opens_no_conversation(stage: Stage, where: str) -> None:
    if where == "project":
        stage.files["/project/.kaa/extensions/policy.py"] = b"def extend(kaa): pass\n"
    stage.home.mkdir(exist_ok=True)
    (stage.home / "settings.json").write_text(json.dumps({"requiredExtensions": ["policy"]}))
    if where == "disabled":
        _keeper(stage.home / "extensions/policy.py", "mine")
        with ExtensionRecords(Home(stage.home)).rewriting() as records:
            records["policy"] = ExtensionRecord(enabled=False)

    async def nothing(_: Conversation) -> None:
        raise AssertionError("it was opened")

    with pytest.raises(ExtensionError, match="requiredExtensions names 'policy': there is no such extension, or it is"):
        stage.play(nothing, ConversationOptions(model="m", trust="yes"))
