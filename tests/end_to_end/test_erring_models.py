"""Models that err: each measure helps the one that errs as the measure expects, and without it none gets help."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.lab.erring import MODELS, Seen
from benchmarks.lab.erring_server import ErringServer, models_json
from benchmarks.lab.measures import TRIALS, Trial, run_trial
from benchmarks.lab.playbooks import PLAYBOOKS, TASKS, Playbook
from kaa.ext.features import Features
from kaa.frontends.lab.results import Attempt
from kaa.frontends.lab.tasks import read_tasks
from tests.support.model_script import Answer

BOOK = PLAYBOOKS[0]
OPTIONS = {field.encode_name for field in msgspec.structs.fields(Features)}
# A loop that nobody ends uses all turns: a few are enough to show it.
TURNS = 66
TURNS_OF_LOOPS = 16


# Those whose options kaa knows: a measure brings its own.
TRIED = [trial for trial in TRIALS if trial.features.keys() <= OPTIONS]


@pytest.mark.parametrize("trial", TRIED, ids=lambda trial: trial.model.partition(":")[0])
def test_the_measure_makes_the_difference(trial: Trial, tmp_path: Path, confined: None) -> None:
    (task,) = trial.tasks[-1:]
    with ErringServer() as server:
        (tmp_path / "models.json").write_bytes(models_json(server.url))
        turns = TURNS_OF_LOOPS if trial.measure == "loopDetection" else TURNS
        off, on = run_trial(trial._replace(tasks=(task,)), tmp_path, tmp_path / "out", jobs=2, max_turns=turns)

    assert (len(off), len(on)) == (1, 1)
    assert _is_better(trial, off[0], on[0])


def _is_better(trial: Trial, off: Attempt, on: Attempt) -> bool:
    """Whether what the measure is for is better: the outcome, or else what it takes."""
    assert on.outcome == "solved"
    if off.outcome == "unsolved":
        return True
    match trial.measure:
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
    quiet = _said("repeat-call", *["nothing"] * 30)
    told = _said("repeat-call", "nothing", "nothing", "nothing\nYou repeat yourself: try another way")

    assert {answer.calls for answer in quiet} == {quiet[0].calls}
    assert told[-1].calls[0].name == "write"


def test_the_one_that_insists_believes_only_a_failure() -> None:
    answers = _said("insist", "text", "edited", "You have run nothing. Run the tests", "FAILED (failures=1)")

    assert [bool(answer.calls) for answer in answers] == [True, True, False, False, True]
