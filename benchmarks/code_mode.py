"""A task of 20 calls of a tool: one call a reply, all in one reply, and by a program (`call_tools`).

Each call reads a file of 1.2 KB of which one line matters. What counts is what the model is given over all requests.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.bench import Bench, Result, Runner
from benchmarks.request_body import parse
from tests.support.model_script import Answer, Call, ScriptItem, call, say

_COUNT = 20
_FILE = '{{"number": {0}, "state": "{1}", "title": "Issue {0}"}}\n' + "What nobody asked for, at length. " * 35 + "\n"
_PROGRAM = f"""\
for n in range({_COUNT}):
    issue = json.loads((await tools.read(path=f"issue-{{n}}.txt")).split("\\n")[0])
    if issue["state"] == "open":
        print(n, issue["title"])
"""
_READS = tuple(Call("read", f'{{"path":"issue-{n}.txt"}}') for n in range(_COUNT))
_SCRIPTS: Mapping[str, Sequence[ScriptItem]] = {
    "one call a reply": [*(Answer(calls=(read,)) for read in _READS), say("Done.")],
    "all in one reply": [Answer(calls=_READS), say("Done.")],
    "by a program": [call("call_tools", program=_PROGRAM), say("Done.")],
}


def measure(bench: Bench) -> list[Result]:
    own = [runner for runner in bench.runners if runner.name == "kaa"]
    found = {way: bench.samples(partial(_task, way=way), own) for way in _SCRIPTS}
    return [
        Result(f"{_COUNT} calls, {way}: {measure}", unit, samples[measure])
        for way, samples in found.items()
        for measure, unit in (
            ("requests", ""),
            ("given in all", "tokens"),
            ("the last request", "tokens"),
            ("wall", "s"),
        )
    ]


def _task(runner: Runner, way: str) -> Mapping[str, float]:
    for n in range(_COUNT):
        (runner.project / f"issue-{n}.txt").write_text(_FILE.format(n, "closed" if n % 5 else "open"))
    measured = runner.prompt(_SCRIPTS[way], flags=["--tools", "+call_tools"] if way == "by a program" else [])
    tokens = [parse(request.body).tokens for request in runner.requests()]
    return {
        "requests": len(tokens),
        "given in all": sum(tokens),
        "the last request": tokens[-1],
        "wall": measured.wall,
    }
