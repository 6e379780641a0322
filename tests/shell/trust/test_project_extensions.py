"""Extensions of a project: without trust nothing of them runs, and with it only what the user trusted."""

import importlib.util
import marshal
from pathlib import Path

import pytest

from kaa.ext.choices import TrustChoice
from kaa.shell.conversation import Conversation
from kaa.shell.home import Home
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.shell.trust.configuration import survey
from kaa.shell.trust.store import TrustStore
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.stage import Stage

_FILE = "/project/.kaa/extensions/rules.py"


def source(canary: Path) -> bytes:
    return (
        f"import pathlib\npathlib.Path({str(canary)!r}).touch()\n"
        "async def tell(text, context):\n    return None\n"
        "def extend(kaa):\n    kaa.register_command('rules', 'Tell the rules', tell)\n"
    ).encode()


def has_rules(stage: Stage, trust: TrustChoice | None) -> bool:
    """Open and close a conversation. Returns whether it has the command of the extension."""

    async def look(conversation: Conversation) -> bool:
        return any(command.name == "rules" for command in conversation.commands)

    return stage.play(look, ConversationOptions(model="m", trust=trust))


def decide_yes(stage: Stage) -> None:
    TrustStore(Home(stage.home)).trust(run(survey(MemoryWorkspace(stage.files), Home(stage.home))))


def test_an_extension_of_a_project_that_is_not_trusted_does_not_run(stage: Stage, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    stage.files[_FILE] = source(canary)

    assert not has_rules(stage, "no")

    assert not canary.exists()
    assert any(".kaa/extensions/rules.py" in notice and "/trust" in notice for notice in stage.notices)
    assert not (stage.home / "project-extensions").exists()


def test_a_trusted_one_is_loaded_from_a_copy(stage: Stage, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    stage.files[_FILE] = source(canary)
    decide_yes(stage)

    assert has_rules(stage, "stored")

    assert canary.exists()
    (copy,) = (stage.home / "project-extensions").rglob("rules.py")
    assert copy.read_bytes() == source(canary)
    assert stage.notices == []


def test_a_folder_keeps_its_structure_without_compiled_files(stage: Stage, tmp_path: Path) -> None:
    canary, hidden = tmp_path / "canary", tmp_path / "hidden"
    folder = "/project/.kaa/extensions/rules"
    compiled = marshal.dumps(compile(f"open({str(hidden)!r}, 'w')", "part.py", "exec"))
    unchecked = importlib.util.MAGIC_NUMBER + b"\1\0\0\0" + b"\0" * 8 + compiled
    tag = importlib.util.cache_from_source("part.py").rpartition("/")[2]
    stage.files |= {
        f"{folder}/__init__.py": b"from .part import extend\n",
        f"{folder}/part.py": source(canary),
        f"{folder}/__pycache__/{tag}": unchecked,
    }

    assert has_rules(stage, "yes")

    assert canary.exists()
    assert not hidden.exists()


def test_a_change_ends_the_trust(stage: Stage, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    stage.files[_FILE] = source(first)
    decide_yes(stage)
    has_rules(stage, "stored")

    stage.files[_FILE] = source(second)

    assert not has_rules(stage, "stored")
    assert not second.exists()
    assert any("has changed since you trusted it" in notice for notice in stage.notices)
    decide_yes(stage)
    assert has_rules(stage, "stored")
    assert second.exists()


def test_a_change_during_a_conversation_is_not_executed(stage: Stage, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    stage.files[_FILE] = source(first)

    async def change_and_reload(conversation: Conversation) -> bool:
        await stage.workspace.write(_FILE, source(second))
        await conversation.submit("/reload")
        return any(command.name == "rules" for command in conversation.commands)

    assert stage.play(change_and_reload, ConversationOptions(model="m", trust="yes"))

    assert first.exists()
    assert not second.exists()


def test_hidden_files_and_invalid_names_are_left_out(stage: Stage, tmp_path: Path) -> None:
    stage.files[_FILE] = source(tmp_path / "canary")
    stage.files["/project/.kaa/extensions/.hidden.py"] = b"raise SystemExit\n"
    stage.files["/project/.kaa/extensions/two words.py"] = b"raise SystemExit\n"

    assert has_rules(stage, "yes")

    assert any("'two words.py' is not loaded: invalid extension name" in notice for notice in stage.notices)


@pytest.mark.parametrize("trust", ["yes", "stored"])
def test_without_extensions_those_of_the_project_are_left_out_too(
    stage: Stage, tmp_path: Path, trust: TrustChoice
) -> None:
    canary = tmp_path / "canary"
    stage.files[_FILE] = source(canary)
    decide_yes(stage)
    stage.host_options = HostOptions(discover_extensions=False)

    assert not has_rules(stage, trust)
    assert not canary.exists()
