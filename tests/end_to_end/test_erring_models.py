"""Models that err: each measure helps the one that errs as the measure expects, and without it none gets help."""

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from benchmarks.lab.erring import MODELS, Seen
from benchmarks.lab.erring_server import ErringServer, models_json
from benchmarks.lab.measures import TRIALS, Trial, run_trial
from benchmarks.lab.playbooks import PLAYBOOKS, TASKS, Playbook
from kaa.core.messages import Json, UserMessage
from kaa.ext.features import Features
from kaa.frontends.lab.attempt import furnish
from kaa.frontends.lab.tasks import read_tasks
from kaa.frontends.lab.variants import every_measure_off
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.shell.safety import SandboxFlags, start_workspace
from tests.support.model_script import Answer

BOOK = PLAYBOOKS[0]
OPTIONS = {field.encode_name for field in msgspec.structs.fields(Features)}
# A loop that nobody ends uses all turns: a few are enough to show it.
TURNS = 66
TURNS_OF_LOOPS = 16


# Those whose options kaa knows: a measure brings its own.
TRIED = [trial for trial in TRIALS if trial.features.keys() <= OPTIONS]


class Run(NamedTuple):
    """What a conversation about a task led to."""

    is_solved: bool
    turns: int
    tokens: int


@pytest.mark.parametrize("trial", TRIED, ids=lambda trial: trial.model.partition(":")[0])
def test_the_measure_makes_the_difference(trial: Trial, tmp_path: Path, confined: None) -> None:
    settings = {**every_measure_off(), **trial.settings}
    with_measure = {**settings, "features": {**settings["features"], **trial.features}}
    with ErringServer() as server:
        (tmp_path / "models.json").write_bytes(models_json(server.url))
        for name in ("off", "on"):
            (tmp_path / name / "home").mkdir(parents=True)
        off = asyncio.run(_run(trial, settings, tmp_path / "off"))
        on = asyncio.run(_run(trial, with_measure, tmp_path / "on"))

    assert on.is_solved
    assert not off.is_solved or _takes_less(trial.measure, off, on)


def test_the_lab_runs_a_trial(tmp_path: Path, confined: None) -> None:
    (trial,) = [trial for trial in TRIED if trial.model == "stop-untested"]
    with ErringServer() as server:
        (tmp_path / "models.json").write_bytes(models_json(server.url))
        off, on = run_trial(trial._replace(tasks=trial.tasks[:1]), tmp_path, tmp_path / "out", jobs=2)

    assert [run.outcome for run in off] == ["unsolved"]
    assert [run.outcome for run in on] == ["solved"]


async def _run(trial: Trial, settings: Mapping[str, Json], folder: Path) -> Run:
    """Have the model of a trial work on its last task in this process, with settings of kaa."""
    (book,) = [book for book in PLAYBOOKS if book.task == trial.tasks[-1]]
    project, home = folder / "project", Home(folder / "home")
    shutil.copytree(TASKS / book.task / "environment", project)
    furnish(home.path, Home(folder.parent), settings, ())
    # Without what else is installed: one model tries pytest and cargo, and would wait for them to start.
    environ = {**os.environ, "PATH": os.defpath, "HOME": str(folder), "KAA_LOCAL_SERVERS": "none"}
    flags = SandboxFlags("workspace-write")
    workspace = start_workspace(str(project), flags, home, environ)
    host = Host(HostOptions(), home, environ, lambda _: None)
    host.workspaces.adopt(workspace, flags)
    turns = TURNS_OF_LOOPS if trial.measure == "loopDetection" else TURNS
    try:
        hosted = await host.open(ConversationOptions(model=f"erring/{trial.model}", max_turns=turns), workspace)
        await hosted.begin()
        await hosted.work.submit(UserMessage(book.instruction))
        await hosted.work.settled()
        used = hosted.conversation.usage.total
    finally:
        await host.close()
        await workspace.close()
    return Run((project / book.file).read_text() == book.right, used.replies, used.usage.total_tokens)


def _takes_less(measure: str, off: Run, on: Run) -> bool:
    match measure:
        case "resultMasking" | "adaptiveThinking":
            return on.tokens < 0.8 * off.tokens
        case _:
            return on.turns < off.turns


@pytest.mark.parametrize("book", PLAYBOOKS, ids=lambda book: book.task)
def test_a_playbook_fits_its_task(book: Playbook) -> None:
    (task,), _ = read_tasks(TASKS, [book.task])
    content = (task.folder / "environment" / book.file).read_text()

    assert content.count(book.old) == 1
    assert len({book.old, book.wrong, book.broken}) == 3
    assert task.instruction == book.instruction
    assert book.right != content


def _said(model: str, *told: str) -> list[Answer]:
    """What a model replies to the start and to each text that it is told."""
    replies = MODELS[model](BOOK)
    tools = frozenset({"edit", "write"})
    return [next(replies), *(replies.send(Seen(text, text, tools, "")) for text in told)]


def test_a_loop_goes_on_until_something_else_is_said() -> None:
    _, *quiet = _said("repeat-call", "text", *["nothing"] * 30)
    told = _said("repeat-call", "text", "nothing", "nothing", "nothing\nYou repeat yourself: try another way")

    assert {answer.calls for answer in quiet} == {quiet[0].calls}
    assert told[-1].calls[0].name == "write"


def test_the_one_that_insists_believes_only_a_failure() -> None:
    answers = _said("insist", "text", "edited", "You have run nothing. Run the tests", "FAILED (failures=1)")

    assert [bool(answer.calls) for answer in answers] == [True, True, False, False, True]
