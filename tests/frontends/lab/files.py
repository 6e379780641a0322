"""Tasks for tests of the lab."""

from pathlib import Path

from kaa.frontends.lab.tasks import Task, read_tasks

CHECK = 'if [ -e done ]; then reward=1; else reward=0; fi; echo $reward >"$LAB_VERIFIER_DIR/reward.txt"\n'


def write_task(root: Path, name: str, *, config: str = "", check: str = CHECK, solution: str = "touch done\n") -> Path:
    """Write a task whose solution is to create the file `done`."""
    folder = root / name
    for part in ("environment", "tests", "solution"):
        (folder / part).mkdir(parents=True)
    (folder / "task.toml").write_text(config)
    (folder / "instruction.md").write_text("Create the file done.\n")
    (folder / "environment" / "Dockerfile").write_text("FROM debian\n")
    (folder / "environment" / "readme.txt").write_text("A project.\n")
    (folder / "tests" / "test.sh").write_text(f"#!/bin/sh\n{check}")
    (folder / "solution" / "solve.sh").write_text(f"#!/bin/sh\n{solution}")
    return folder


def make_task(root: Path, **parts: str) -> Task:
    """Write and read a task."""
    write_task(root, "one", **parts)
    (task,), _ = read_tasks(root, ["one"])
    return task
