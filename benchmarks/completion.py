"""What the completion check and loop detection cost: requests, tokens and time of runs with them and without."""

import json
from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.bench import Bench, Result, Runner
from benchmarks.request_body import parse
from tests.support.model_script import ScriptItem, call, say

_EDIT = [call("write", path="a.py", content="x = 1\n"), say("Done.")]
_TESTED = [call("bash", command="python3 -S test_a.py"), say("Tested.")]
_CALLS = 40
_LOOKS = [*(call("bash", command=f"echo {number}") for number in range(_CALLS)), say("Done.")]
_OFF = {"features": {"completionCheck": "off", "loopDetection": False}}
_ON = {"features": {"completionCheck": "full", "loopDetection": True}}
_RUNS: Mapping[str, tuple[Mapping[str, object], Sequence[ScriptItem]]] = {
    "an edit, without the check": (_OFF, _EDIT),
    "an edit, a reminder, a test": (_ON, [*_EDIT, *_TESTED]),
    "an edit, `verify: [true]`": ({"verify": ["true"]}, _EDIT),
    f"{_CALLS} commands, both off": (_OFF, _LOOKS),
    f"{_CALLS} commands, both on": (_ON, _LOOKS),
}


def measure(bench: Bench) -> list[Result]:
    own = [runner for runner in bench.runners if runner.name == "kaa"]
    found = {name: bench.samples(partial(_run, name=name), own) for name in _RUNS}
    return [
        Result(f"{name}: {measure}", unit, samples[measure])
        for name, samples in found.items()
        for measure, unit in (("requests", ""), ("given in all", "tokens"), ("wall", "s"))
    ]


def _run(runner: Runner, name: str) -> Mapping[str, float]:
    settings, script = _RUNS[name]
    (runner.home / "settings.json").write_text(json.dumps(settings))
    (runner.project / "a.py").unlink(missing_ok=True)
    (runner.project / "test_a.py").write_text("import unittest\n")
    try:
        measured = runner.prompt(script)
    finally:
        (runner.home / "settings.json").unlink()
    tokens = [parse(request.body).tokens for request in runner.requests()]
    return {"requests": len(tokens), "given in all": sum(tokens), "wall": measured.wall}
