"""The tasks in benchmarks/lab: checks fail without their solution and pass with it, and all are in Harbor's format."""

import asyncio
import hashlib
import itertools
import json
import os
import stat
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kaa.frontends.lab.command import Finding, check_all
from kaa.frontends.lab.scene import Scene
from kaa.frontends.lab.tasks import Task, read_tasks
from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, start_workspace

TASKS = Path(__file__).parents[2] / "benchmarks" / "lab" / "tasks"
CHECKED = Path(__file__).with_name("checked_tasks.json")
# Of a bare Debian; whatever else a task uses, it names.
EVERYWHERE = {"sh", "awk", "sed", "grep", "diff", "tar"}


@pytest.mark.usefixtures("confined")
def test_each_check_fails_before_and_passes_with_the_solution(tmp_path: Path) -> None:
    """Those that have changed since all were checked, and one in each language; all are 7 s of CPU."""
    tasks, _ = read_tasks(TASKS, [])
    known = json.loads(CHECKED.read_text())
    samples = {task.config.metadata.language: task.name for task in tasks}.values()
    chosen = [task for task in tasks if task.name in samples or known.get(task.name) != _fingerprint(task.folder)]

    found = asyncio.run(_checked(chosen, tmp_path))

    assert [one for one in found if one.state == "bad"] == []
    assert len(found) == len(chosen) >= 6
    assert all("needs" in one.reason for one in found if one.state == "skipped")


def test_all_tasks_were_checked_as_they_are() -> None:
    tasks, _ = read_tasks(TASKS, [])

    known = json.loads(CHECKED.read_text())

    assert len(known) == 24
    assert known == {task.name: _fingerprint(task.folder) for task in tasks}, (
        "check the tasks that differ with `kaa lab check`, then run python -m tests.end_to_end.test_lab_tasks"
    )


def _fingerprint(folder: Path) -> str:
    """What a task's files contain, and which of them are programs."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            is_program = bool(path.stat().st_mode & stat.S_IXUSR)
            digest.update(f"{path.relative_to(folder)}\0{is_program}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


async def _checked(tasks: Sequence[Task], folder: Path) -> list[Finding]:
    """Check tasks in one sandbox; each of `kaa lab check` costs more than most of these checks."""
    (scenes := folder / "scenes").mkdir()
    environ = {**os.environ, "HOME": str(folder)}
    workspace = start_workspace(str(scenes), SandboxFlags("workspace-write", "off"), Home(folder / "kaa"), environ)
    numbers = itertools.count()

    @asynccontextmanager
    async def set_up(task: Task) -> AsyncIterator[Scene]:
        one = Scene(task, scenes / str(next(numbers)), lambda _: workspace)
        await one.set_up()
        yield one

    try:
        return await check_all(tasks, set_up, 2, lambda _: None)
    finally:
        await workspace.close()


def test_there_is_something_of_everything() -> None:
    tasks, errors = read_tasks(TASKS, [])

    assert errors == []
    kinds = Counter(task.config.metadata.kind for task in tasks)
    assert kinds.keys() == {"bug", "feature", "refactoring", "build", "git", "data"}
    assert min(kinds.values()) >= 3
    assert {task.config.metadata.language for task in tasks} == {"python", "shell", "javascript", "c", "make", "git"}


def test_each_task_is_whole() -> None:
    tasks, _ = read_tasks(TASKS, [])
    wrapper = (TASKS / "py-median" / "tests" / "test.sh").read_text()

    for task in tasks:
        config = tomllib.loads((task.folder / "task.toml").read_text())
        assert config["schema_version"] == "1.4"
        assert config["task"]["name"] == f"kaa/{task.name}"
        assert config["environment"]["network_mode"] == "no-network"
        assert task.solve is not None
        assert (task.folder / "tests" / "test.sh").read_text() == wrapper
        assert (task.folder / "environment" / "Dockerfile").is_file()


def test_what_a_task_uses_it_names() -> None:
    tasks, _ = read_tasks(TASKS, [])

    for task in tasks:
        scripts = [*task.folder.glob("*/*.sh"), *task.folder.glob("environment/Makefile")]
        text = "\n".join(script.read_text() for script in scripts)
        used = {word for word in ("python3", "node", "git", "cc", "make") if f"{word} " in text}
        assert used <= {*task.config.metadata.needs, *EVERYWHERE}, task.name


if __name__ == "__main__":
    tasks_now, _ = read_tasks(TASKS, [])
    fingerprints = {task.name: _fingerprint(task.folder) for task in tasks_now}
    CHECKED.write_text(json.dumps(fingerprints, indent=2) + "\n")
