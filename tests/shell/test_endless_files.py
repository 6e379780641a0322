"""Files of the user's that commands made longer than the memory of the machine, such as behind links into a project."""

import os
from pathlib import Path

import pytest

from kaa.llm.models.models_file import load_models_file
from kaa.shell.conversation import Conversation
from kaa.shell.settings import SettingsError, load_user_settings
from tests.support.stage import Stage


def _endless(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "ab") as opened:
        opened.truncate(1 << 40)
    return file


@pytest.mark.parametrize(
    "name",
    [
        "AGENTS.md",
        "APPEND_SYSTEM.md",
        "hooks.json",
        "skills/long/SKILL.md",
        "agents/long.md",
        "prompts/long.md",
        "mcp.json",
    ],
)
def test_kaa_does_without_a_file_of_the_user_that_is_too_long(stage: Stage, name: str) -> None:
    _endless(stage.home / name)

    async def scene(conversation: Conversation) -> str:
        return str(await conversation.submit("/hooks"))

    assert "no hooks" in stage.play(scene)


def test_settings_and_models_that_are_too_long_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"settings\.json"):
        load_user_settings(_endless(tmp_path / "settings.json"))

    read = load_models_file(_endless(tmp_path / "models.json"))
    assert read.providers == {}
    assert "larger than 64 MiB" in read.problems[0]
    assert os.path.getsize(tmp_path / "models.json") == 1 << 40
