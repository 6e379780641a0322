"""The start and a turn in homes as they are after months: with 20 MCP servers, with 100 skills, with 2,000 sessions.

Beside these stands an empty home.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.agents import Agent
from benchmarks.bench import Bench, Result, Runner
from benchmarks.mcp_sets import CONFIGURE, configure
from benchmarks.process_tree import RunFailedError
from benchmarks.starts import measure_starts
from tests.support.model_server import Answer, say

_SERVERS, _TOOLS = 20, 20
_SKILLS = 100
_SESSIONS, _TURNS = 2_000, 10

_SKILL = """\
---
name: task-{number}
description: Carry out task {number} of this company. Use when the user asks for a report on subject {number}.
---
1. Read the notes of subject {number}.
2. Write a summary of at most ten lines.
"""
_PARAGRAPH = "A paragraph in which the model says what it has seen in the files and what it does next. " * 20

# The id of a session in the name of its file: a UUID, or 32 digits.
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")


class _Home(NamedTuple):
    """A kind of home.

    Attributes:
        title: what it has.
        fill: puts that into a home of an agent.
        suits: whether an agent can have it.
    """

    title: str
    fill: Callable[[Runner], None]
    suits: Callable[[Agent], bool] = lambda _agent: True


def measure(bench: Bench) -> list[Result]:
    results: list[Result] = []
    for home in _HOMES:
        participants = [one for one in bench.participants if home.suits(one.agent)]
        results += measure_starts(bench, home.title, partial(_filled, bench, home), participants)
    return results


def _filled(bench: Bench, home: _Home, runner: Runner) -> Runner:
    other = runner.another(bench.folder / "homes" / f"{home.title}, {runner.name}")
    home.fill(other)
    return other


def _add_skills(runner: Runner) -> None:
    for number in range(_SKILLS):
        folder = runner.home / "skills" / f"task-{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(_SKILL.format(number=number))


def _add_sessions(runner: Runner) -> None:
    """Let the agent keep one session of its project, and copy that under other ids."""
    calls = runner.agent.commands(_TURNS)
    runner.prompt([*(Answer((_PARAGRAPH,), calls=(call,)) for call in calls), say("Done.")])
    kept = [path for path in runner.home.glob("sessions/**/*.jsonl") if _ID.search(path.name)]
    if len(kept) != 1:
        raise RunFailedError(f"{runner.name} kept {len(kept)} sessions of a run")
    copy_session(kept[0], _SESSIONS - 1)
    for derived in runner.home.glob("*.sqlite*"):
        derived.unlink()  # codex reads the sessions into these again
    runner.prompt([say("Hello.")])  # whoever keeps a list of sessions has it from an earlier run


def copy_session(path: Path, count: int) -> None:
    """Copy a session under so many new ids, and likewise the lines about it in the lists beside it."""
    found = _ID.search(path.name)
    assert found is not None
    old = found[0]
    text = path.read_text()
    ids = [f"{number:08x}{old[8:]}" for number in range(count)]
    for new in ids:
        path.with_name(path.name.replace(old, new)).write_text(text.replace(old, new))
    for beside in path.parent.glob("*.jsonl"):
        if not _ID.search(beside.name):
            lines = beside.read_text().splitlines(keepends=True)
            about = "".join(line for line in lines if old in line)
            beside.write_text("".join([*lines, *(about.replace(old, new) for new in ids)]))


_HOMES = (
    _Home("an empty home", lambda _runner: None),
    _Home(
        f"{_SERVERS} MCP servers of {_TOOLS} tools",
        lambda runner: configure(runner, _SERVERS, _TOOLS),
        lambda agent: agent.name in CONFIGURE,
    ),
    _Home(f"{_SKILLS} skills", _add_skills),
    _Home(f"{_SESSIONS:,} sessions", _add_sessions),
)
