"""The tasks in benchmarks/lab: checks fail without their solution and pass with it, and all are in Harbor's format."""

import tomllib
from collections import Counter
from pathlib import Path

from kaa.frontends.lab.tasks import read_tasks
from tests.end_to_end.kaa_process import Kaa

TASKS = Path(__file__).parents[2] / "benchmarks" / "lab" / "tasks"
# Of a bare Debian; whatever else a task uses, it names.
EVERYWHERE = {"sh", "awk", "sed", "grep", "diff", "tar"}


def test_each_check_fails_before_and_passes_with_the_solution(kaa: Kaa) -> None:
    done = kaa.run("lab", "check", "--tasks", str(TASKS), "--jobs", "2")

    found = {line.split()[1].rstrip(":"): line for line in done.out.splitlines()}
    assert [line for line in found.values() if line.startswith("bad")] == []
    assert (done.code, len(found), done.err) == (0, 24, "")
    assert all("needs" in line for line in found.values() if not line.startswith("ok"))


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
