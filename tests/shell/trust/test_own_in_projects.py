"""Files of the user's that lie in projects do with the user's rights what the user approved, and nothing else."""

import json
import os
from pathlib import Path

import pytest

from kaa.ext.questions import Confirmation
from kaa.host.linked_settings import project_of
from kaa.shell.conversation import Conversation
from kaa.workspace.places import Places
from tests.support.person import yes_or_no
from tests.support.stage import Stage

_SKILL = """---
name: foo
description: does foo
{more}---
Do foo.
"""
_HOOKS = """hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: "echo {word}"
"""
_GRANT = "allowed-tools: Bash(make *)\n"


@pytest.fixture
def project(stage: Stage, tmp_path: Path) -> Path:
    """A repository of skills that kaa worked in: all of it is a folder of the user's skills."""
    repository = tmp_path / "repository"
    (repository / "foo").mkdir(parents=True)
    _ran_in(repository)
    stage.home.mkdir(exist_ok=True)
    (stage.home / "skills").symlink_to(repository)
    return repository


def _ran_in(project: Path) -> None:
    assert Places.of(os.environ, os.path.expanduser("~"), str(project)).caches


def _write(project: Path, more: str) -> None:
    (project / "foo" / "SKILL.md").write_text(_SKILL.format(more=more))


def _listing(stage: Stage, command: str = "/hooks") -> str:
    async def scene(conversation: Conversation) -> str:
        return str(await conversation.submit(command))

    return stage.play(scene)


def test_hooks_that_commands_could_write_run_in_the_sandbox(stage: Stage, project: Path) -> None:
    _write(project, _HOOKS.format(word="one"))

    assert "runs in the sandbox" in _listing(stage)

    assert any(f"{project}" in notice and "run in the sandbox" in notice for notice in stage.notices)


def test_hooks_have_the_users_rights_as_the_user_approved_them(stage: Stage, project: Path) -> None:
    _write(project, _HOOKS.format(word="one"))
    stage.asker = person = yes_or_no(True, False)

    assert "runs with your rights" in _listing(stage)
    assert "runs with your rights" in _listing(stage)  # not asked again
    (question,) = person.questions
    assert isinstance(question, Confirmation)
    assert question.only_person
    assert question.title == "Run these hooks with your rights?"
    assert "echo one (with your rights)" in question.details

    _write(project, "model: x\n" + _HOOKS.format(word="one"))  # whatever else is in the file may change
    assert "runs with your rights" in _listing(stage)
    _write(project, _HOOKS.format(word="two"))
    assert "runs in the sandbox" in _listing(stage)
    changed = ["".join(line.split()) for line in person.questions[1].diff.splitlines()]
    assert '-"command":"echoone"' in changed
    assert '+"command":"echotwo"' in changed


def test_the_question_says_which_hooks_a_yes_gives_rights(stage: Stage, project: Path) -> None:
    script = project / "log.sh"
    script.write_text("#!/bin/sh\necho x\n")
    hooks: list[dict[str, object]] = [
        {"command": "echo one"},
        {"command": f"sh {script}"},
        {"command": f"sh {script} x", "sandbox": False},
    ]
    entries = [{"hooks": [{"type": "command", **hook}]} for hook in hooks]
    (project / "hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": entries}}))
    (stage.home / "hooks.json").symlink_to(project / "hooks.json")
    stage.asker = person = yes_or_no(True)

    _listing(stage)

    (question,) = person.questions
    assert isinstance(question, Confirmation)
    told = [line.rpartition(" (")[2] for line in question.details.splitlines() if line.startswith("- ")]
    assert told == [
        "with your rights)",
        "in the sandbox, also after a yes)",
        'with your rights; "sandbox": false: kaa does not ask again if a script that it names changes)',
    ]


def test_whether_a_hook_sees_the_users_scripts_is_asked(
    stage: Stage, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs in the sandbox, which shows a line that commands could have written none of them."""
    monkeypatch.setenv("HOME", str(tmp_path))
    _ran_in(project)
    (guard := tmp_path / "guard.py").write_text("import subprocess\n")
    _write(project, _HOOKS.format(word="one").replace("echo one", f"python3 {guard}"))
    stage.asker = person = yes_or_no(True)

    assert "runs in the sandbox" in _listing(stage)

    (question,) = person.questions
    assert isinstance(question, Confirmation)
    assert question.title == "Are these hooks yours?"
    assert "(in the sandbox, also after a yes, which then shows its scripts)" in question.details


def test_hooks_without_the_users_rights_are_no_question(stage: Stage, project: Path) -> None:
    _write(project, _HOOKS.format(word="one").replace("echo", "make"))
    stage.asker = yes_or_no()

    assert "runs in the sandbox" in _listing(stage)
    assert stage.notices == []


def test_tools_are_granted_as_the_user_approved_them(stage: Stage, project: Path) -> None:
    _write(project, _GRANT)

    assert "`allowed-tools` is not used" in _listing(stage, "/skills")
    stage.asker = yes_or_no(True)
    assert "`allowed-tools` is not used" not in _listing(stage, "/skills")


def test_files_of_hooks_count_likewise(stage: Stage, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    hooks = '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo x", "sandbox": false}]}]}}'
    (dotfiles / "hooks.json").write_text(hooks)
    stage.home.mkdir(exist_ok=True)
    (stage.home / "hooks.json").symlink_to(dotfiles / "hooks.json")
    assert "runs with your rights" in _listing(stage)

    _ran_in(dotfiles)

    assert "runs in the sandbox" in _listing(stage)
    stage.asker = yes_or_no(True)
    assert "runs with your rights" in _listing(stage)


def test_a_hard_link_counts_like_a_link(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    hooks = '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo x", "sandbox": false}]}]}}'
    (tmp_path / "dotfiles/hooks.json").write_text(hooks)
    stage.home.mkdir(exist_ok=True)
    (stage.home / "hooks.json").hardlink_to(tmp_path / "dotfiles/hooks.json")

    assert "runs in the sandbox" in _listing(stage)

    (tmp_path / "dotfiles/hooks.json").unlink()
    assert "runs with your rights" in _listing(stage)


def test_a_link_that_commands_could_make_counts_like_a_file(tmp_path: Path) -> None:
    repository, home = tmp_path / "repository", tmp_path / "agent"
    (repository / "foo").mkdir(parents=True)
    _ran_in(repository)
    (tmp_path / "private").mkdir()
    (repository / "bar").symlink_to(tmp_path / "private")
    home.mkdir()
    (home / "skills").symlink_to(repository)

    assert project_of(str(home / "skills" / "bar" / "SKILL.md"), home) == str(repository)
    assert project_of(str(tmp_path / "private" / "SKILL.md"), home) == ""


def test_kaas_own_folder_in_a_project_is_not_of_the_project(tmp_path: Path) -> None:
    home = tmp_path / "dotfiles" / "agent"
    home.mkdir(parents=True)
    _ran_in(tmp_path / "dotfiles")

    assert project_of(str(home / "hooks.json"), home) == ""
    _ran_in(home)  # an earlier kaa did
    assert project_of(str(home / "hooks.json"), home) == str(home)
