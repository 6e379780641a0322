"""A task is used as it is, or refused with a sentence that says which one, why, and what to do."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kaa.frontends.lab.tasks import TaskError, read_tasks
from tests.frontends.lab.files import write_task


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
        (lambda folder: (folder / "task.toml").write_bytes(b"#" * 1_000_001), "more than 1,000,000 bytes"),
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

    assert "it has no instruction.md" in only_error(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"there is no folder .*--tasks DIR"):
        read_tasks(tmp_path / "none", [])
