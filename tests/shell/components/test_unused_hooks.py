"""Hooks of other agents that the user has and kaa does not run: they are told once, where a person looks."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.shell.conversation import Conversation
from tests.support.model_server import ModelServer
from tests.support.person import Person
from tests.support.stage import Stage

GUARD = {"matcher": "Bash", "hooks": [{"type": "command", "command": "~/.claude/guard.sh"}]}


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv("HOME", str(tmp_path))
    with ModelServer([]) as server:
        stage = Stage(server, tmp_path / "kaa")
        stage.asker = Person()
        yield stage


def write(folder: Path, hooks: object, **others: object) -> None:
    (folder / ".claude").mkdir(exist_ok=True)
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks, **others}))


def told(stage: Stage) -> list[str]:
    """The notices of one start about hooks."""

    async def nothing(_: Conversation) -> None:
        pass

    stage.notices.clear()
    stage.play(nothing)
    return [notice for notice in stage.notices if "hook" in notice]


def test_they_are_told_once_for_each_state(stage: Stage, tmp_path: Path) -> None:
    write(tmp_path, {"PreToolUse": [GUARD]})

    assert told(stage) == [
        f"kaa does not run the hook in {tmp_path}/.claude/settings.json. `kaa import claude` has kaa use this file and"
        " your others of that agent; `kaa import --list` shows them."
    ]
    assert told(stage) == []
    write(tmp_path, {"PreToolUse": [GUARD]}, model="other")  # nothing about hooks
    assert told(stage) == []
    write(tmp_path, {"PreToolUse": [GUARD, GUARD]})
    assert [line.partition(" in ")[0] for line in told(stage)] == ["kaa does not run the 2 hooks"]


def test_those_that_are_used_are_not_told(stage: Stage, tmp_path: Path) -> None:
    write(tmp_path, {"PreToolUse": [GUARD]})
    stage.home.mkdir()
    (stage.home / "settings.json").write_text('{"useFilesOf": ["claude"]}')

    assert told(stage) == []


def test_a_file_without_hooks_is_not_told(stage: Stage, tmp_path: Path) -> None:
    write(tmp_path, {}, model="sonnet")

    assert told(stage) == []


def test_where_nobody_looks_nothing_is_told_and_a_person_learns_of_it_later(stage: Stage, tmp_path: Path) -> None:
    write(tmp_path, {"PreToolUse": [GUARD]})
    person, stage.asker = stage.asker, Stage(stage.server, tmp_path).asker

    assert told(stage) == []
    stage.asker = person
    assert len(told(stage)) == 1
