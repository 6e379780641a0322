"""The start with 20 Python extensions, beside the start without: the screen and typing must not wait for them."""

from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.bench import Bench, Result, Runner, percentile
from tests.support.model_server import say

_EXTENSIONS = 20
_KEYS_WHILE_LOADING = 60
_BETWEEN_KEYS_SECONDS = 0.015

# As small extensions are: imports of the standard library, a hook, a command, a section of the prompt.
_SOURCE = """
import asyncio
import json
import re

async def hook(call, context):
    return None

async def command(arguments, context):
    return None

def extend(kaa):
    kaa.before_tool(hook)
    kaa.register_command("command-NUMBER", "Do something.", command)
    kaa.add_prompt_section("section-NUMBER", lambda _: None)
"""


def measure(bench: Bench) -> list[Result]:
    runners = [runner for runner in bench.runners if runner.name == "kaa"]
    results: list[Result] = []
    for count in (0, _EXTENSIONS):
        taken = bench.collect(partial(_start, count), runners)
        title = f"with {count} extensions" if count else "without extensions"
        for key, name in (("painted", "exec to input box"), ("request", "a run of one turn")):
            results.append(Result(f"{name}, {title}", "ms", percentile(taken[key], 50)))
        results.append(Result(f"key shown while loading, p99, {title}", "ms", percentile(taken["echo"], 99)))
    return results


def _start(count: int, runner: Runner) -> Mapping[str, Sequence[float]]:
    folder = runner.project.parent / "extensions"
    folder.mkdir(exist_ok=True)
    flags: list[str] = []
    for number in range(count):
        path = folder / f"extension_{number}.py"
        path.write_text(_SOURCE.replace("NUMBER", str(number)))
        flags += ["-e", str(path)]
    with runner.open(*flags) as seat:
        painted = seat.wait_for_box()
        echo = seat.type_steadily(_KEYS_WHILE_LOADING, _BETWEEN_KEYS_SECONDS)
    measured = runner.prompt([say("Hello.")], flags=flags)
    return {"painted": [painted], "echo": echo, "request": [measured.wall * 1000]}
