"""What each measure changes for the model that errs as it expects: `python -m benchmarks.lab.measures`.

Runs `kaa lab` with each measure alone, beside no measure at all, and prints the table of docs/effectiveness.md.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec

from benchmarks.lab.erring_server import ErringServer, models_json
from benchmarks.lab.playbooks import TASKS
from kaa.core.messages import Json
from kaa.frontends.lab.reports import by_variant
from kaa.frontends.lab.results import Attempt, Results
from kaa.frontends.lab.variants import every_measure_off

# How long measures with a time limit are waited for: the machine may be busy.
_PATIENCE_MS = 30_000
_PYTHON = ("py-median", "py-cache-expiry")
_ALL = (*_PYTHON, "js-deep-merge", "c-ring-buffer")


class Trial(NamedTuple):
    """A model that errs, and the measure that should help it.

    Attributes:
        features: of the measure.
        settings: others that it needs.
    """

    model: str
    measure: str
    tasks: tuple[str, ...]
    features: Mapping[str, Json]
    settings: Mapping[str, Json] = {}


TRIALS = (
    Trial("stop-untested", "completionCheck", _ALL, {"completionCheck": "full"}),
    Trial("wrong-file", "completionCheck", _ALL, {"completionCheck": "full"}),
    Trial(
        "insist",
        "completionCheck with verify",
        ("py-median",),
        {"completionCheck": "full"},
        {"verify": ["python3 test_stats.py"]},
    ),
    Trial("repeat-call", "loopDetection", _ALL, {"loopDetection": True}),
    Trial("alternate", "loopDetection", _ALL, {"loopDetection": True}),
    # Of these languages, kaa has a parser for Python; others need a language server.
    Trial("break-syntax", "diagnostics", _PYTHON, {"diagnostics": "full", "diagnosticsWaitMs": _PATIENCE_MS}),
    Trial("break-syntax-and-test", "diagnostics", _PYTHON, {"diagnostics": "full", "diagnosticsWaitMs": _PATIENCE_MS}),
    Trial("search-for-tests", "briefing", _ALL, {"briefing": True, "briefingWaitMs": _PATIENCE_MS}),
    Trial("read-much", "resultMasking", ("py-median",), {"resultMasking": True}),
    Trial("test-noisily", "condensedOutput", ("py-median",), {"condensedOutput": True}),
    Trial("quote-inexactly", "editTool", _PYTHON, {"editTool": "apply_patch"}),
    Trial("think-as-told:high", "adaptiveThinking", ("py-median",), {"adaptiveThinking": True}),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab.measures", description=__doc__)
    parser.add_argument("--model", action="append", help="only trials with this model")
    parser.add_argument("--out", metavar="DIR", help="keep results and traces there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parsed = parser.parse_args()
    trials = [trial for trial in TRIALS if not parsed.model or _name(trial) in parsed.model]
    with tempfile.TemporaryDirectory() as folder, ErringServer() as server:
        (Path(folder) / "models.json").write_bytes(models_json(server.url))
        out = Path(parsed.out or folder)
        rows = [_row(trial, *run_trial(trial, Path(folder), out, parsed.jobs)) for trial in trials]
    head = ("model", "measure", "solved", "turns", "tokens", "cost")
    for cells in (head, ("---",) * len(head), *rows):
        print(f"| {' | '.join(cells)} |")
    return 0


def run_trial(
    trial: Trial, home: Path, out: Path, jobs: int, max_turns: int = 70
) -> tuple[Sequence[Attempt], Sequence[Attempt]]:
    """The runs without and with the measure.

    Args:
        trial: what to run.
        home: of kaa; its models.json leads to the erring models.
        out: where results are kept, in a folder of the trial.
        jobs: at a time.
        max_turns: of a run.
    """
    off = {**every_measure_off(), **trial.settings}
    on = {**off, "features": {**off["features"], **trial.features}}
    folder = out / f"{_name(trial)}-{trial.measure.partition(' ')[0]}"
    command = [sys.executable, "-m", "kaa", "lab", "run", "--tasks", str(TASKS), "--model", f"erring/{trial.model}"]
    for name in trial.tasks:
        command += ["--task", name]
    for variant, settings in (("off", off), ("on", on)):
        command += ["--variant", f"{variant}={msgspec.json.encode(settings).decode()}"]
    command += ["--max-turns", str(max_turns), "--jobs", str(jobs), "--out", str(folder)]
    environ = os.environ | {"KAA_DIR": str(home), "KAA_LOCAL_SERVERS": "none"}
    subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=True)
    variants = by_variant(Results(folder))
    return variants["off"], variants["on"]


def _row(trial: Trial, off: Sequence[Attempt], on: Sequence[Attempt]) -> tuple[str, ...]:
    return (_name(trial), trial.measure, *_cells(off, on))


def _name(trial: Trial) -> str:
    return trial.model.partition(":")[0]


def _cells(off: Sequence[Attempt], on: Sequence[Attempt]) -> Iterator[str]:
    """Each figure without and with the measure."""
    yield " → ".join(f"{sum(one.outcome == 'solved' for one in runs)}/{len(runs)}" for runs in (off, on))
    yield " → ".join(f"{fmean(one.turns for one in runs):.1f}" for runs in (off, on))
    yield " → ".join(f"{fmean(one.tokens for one in runs):,.0f}" for runs in (off, on))
    yield " → ".join(f"${fmean(one.cost or 0.0 for one in runs):.4f}" for runs in (off, on))


if __name__ == "__main__":
    sys.exit(main())
