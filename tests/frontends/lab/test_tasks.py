"""A task is used as it is, or refused with a sentence that says which one, why, and what to do."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kaa.frontends.lab.scene import Scene
from kaa.frontends.lab.tasks import TaskError, read_tasks
from kaa.workspace.local import LocalWorkspace
from tests.frontends.lab.files import write_task
from tests.support.known_project import make_known


def only_error(root: Path) -> str:
    tasks, errors = read_tasks(root, [])
    assert tasks == []
    (error,) = errors
    return str(error)


def test_a_task_has_its_limits_and_its_digest(tmp_path: Path) -> None:
    folder = write_task(tmp_path, "one", config='metadata = { kind = "bug", needs = ["sh"] }\nagent.timeout_sec = 5\n')

    (task,), errors = read_tasks(tmp_path, [])

    assert errors == []
    assert (task.name, task.instruction, task.missing) == ("one", "Create the file done.", ())
    assert (task.config.metadata.kind, task.config.agent.timeout_sec) == ("bug", 5)
    (folder / "tests" / "test.sh").write_text("exit 1\n")
    assert read_tasks(tmp_path, [])[0][0].digest != task.digest


def test_what_harbor_has_besides_is_no_mistake(tmp_path: Path) -> None:
    more = '[task]\nname = "a/b"\n[environment]\ncpus = 2\ndocker_image = "debian"\nnetwork_mode = "public"\n'
    write_task(tmp_path, "one", config=f'schema_version = "1.4"\nartifacts = ["/a"]\n{more}')

    assert len(read_tasks(tmp_path, [])[0]) == 1


def test_tasks_are_chosen_by_name(tmp_path: Path) -> None:
    for name in ("py-a", "py-b", "sh-a", ".hidden"):
        write_task(tmp_path, name)

    assert [task.name for task in read_tasks(tmp_path, ["py-*", "sh-?"])[0]] == ["py-a", "py-b", "sh-a"]
    assert [task.name for task in read_tasks(tmp_path / "py-b", [])[0]] == ["py-b"]
    with pytest.raises(TaskError, match=r"no task in .* whose name matches js-\*"):
        read_tasks(tmp_path, ["js-*"])


def test_programs_that_are_missing_are_named(tmp_path: Path) -> None:
    write_task(tmp_path, "one", config='[metadata]\nneeds = ["sh", "kaa-no-such-program"]\n')

    assert read_tasks(tmp_path, [])[0][0].missing == ("kaa-no-such-program",)


def _no_workspace(_: Scene) -> LocalWorkspace:
    raise AssertionError("nothing is to run")


def _remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_remove("tests/test.sh"), "one: it has no check. Write tests/test.sh"),
        (_remove("instruction.md"), "one: it has no instruction.md. Write it"),
        (_remove("task.toml"), "one: it has no task.toml"),
        (lambda folder: (folder / "instruction.md").write_text(" \n"), "one: instruction.md is empty"),
        (lambda folder: (folder / "instruction.md").write_bytes(b"\xff"), "one: instruction.md is not UTF-8"),
        (lambda folder: (folder / "task.toml").write_text("[agent\n"), "one: task.toml is not TOML: .*line 1"),
        (lambda folder: (folder / "task.toml").write_text("agent.timeout_sec = -1"), r"`\$.agent.timeout_sec`"),
        (lambda folder: (folder / "task.toml").write_text("agent = 1"), "one: task.toml: Expected `object`"),
        (lambda folder: (folder / "task.toml").write_text("verifier.env = {A = '${B}'}"), "does not expand"),
        (lambda folder: (folder / "task.toml").write_text('[[steps]]\nname = "a"'), "it has several steps"),
        (lambda folder: (folder / "task.toml").write_bytes(b"#" * 1_000_001), "it is larger than"),
        (lambda folder: (folder / "environment").rename(folder / "other"), "no folder environment"),
    ],
)
def test_a_broken_task_is_refused(tmp_path: Path, spoil: Callable[[Path], object], said: str) -> None:
    spoil(write_task(tmp_path, "one"))

    with pytest.raises(AssertionError, match=said):
        raise AssertionError(only_error(tmp_path))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = write_task(tmp_path, "one")
    (folder / "instruction.md").unlink()
    os.mkfifo(folder / "instruction.md")

    assert "instruction.md cannot be read (it is a named pipe" in only_error(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"there is no folder .*--tasks DIR"):
        read_tasks(tmp_path / "none", [])


@pytest.mark.parametrize("part", ["environment", "instruction.md"])
def test_what_a_link_of_a_command_leads_to_is_no_part_of_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    folder, private = write_task(tmp_path / "project", "one"), tmp_path / "private"
    for one in (private, tmp_path / "kaa"):
        one.mkdir()
    make_known(tmp_path / "project", tmp_path / "kaa", monkeypatch)
    (private / "key").write_text("KEY")
    (folder / part).rename(folder / "other")
    (folder / part).symlink_to(private if part == "environment" else private / "key")

    tasks, errors = read_tasks(tmp_path / "project", [])
    for task in tasks:
        with pytest.raises(TaskError) as raised:
            asyncio.run(Scene(task, tmp_path / "scene", _no_workspace).set_up())
        errors.append(raised.value)

    assert "a command could have made the link" in str(errors[0])
    assert not list((tmp_path / "scene").rglob("key"))
