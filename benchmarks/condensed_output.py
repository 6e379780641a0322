"""What the model gets of a long run of pytest: with what failed first, and with the end of the output only.

A real pytest runs 3,000 tests, verbosely, of which one in the middle of 40 fails; each failure has a captured log.
"""

import asyncio
import subprocess
import sys
import time
from types import SimpleNamespace

from benchmarks.bench import Bench, Result
from kaa.builtin.condensing.failures import failures_in
from kaa.builtin.tools.running import kept_output, shorter
from kaa.builtin.truncate import SHORT_END_BYTES, SHORT_END_LINES
from kaa.core.messages import Json
from kaa.core.usage import tokens_in
from kaa.ext.features import Features
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import CommandResult

_TESTS = """\
import pytest

@pytest.mark.parametrize("number", range(3000))
def test_it(number):
    for line in range(60 if number % 75 == 0 else 0):
        print(f"line {line} of a log that the test wrote before it failed")
    assert number % 75, f"number {number} is a multiple"
"""


def measure(bench: Bench) -> list[Result]:
    folder = bench.folder / "condensed"
    folder.mkdir()
    (folder / "test_long.py").write_text(_TESTS)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:randomly", "test_long.py"]
    output = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=False).stdout
    result = CommandResult(1, None, output[-50 * 1024 :], len(output), output.count(b"\n"), "/output.log")
    context: Json = SimpleNamespace(workspace=MemoryWorkspace({"/output.log": output}), features=Features())
    began = time.perf_counter()
    failures = asyncio.run(failures_in("pytest -v", result, context))
    taken = (time.perf_counter() - began) * 1e3
    whole = kept_output(result).text
    assert failures is not None
    condensed = f"{failures}\n{shorter(kept_output(result), SHORT_END_LINES, SHORT_END_BYTES).text}"
    return [
        Result("output of pytest", "KB", {"kaa": len(output) / 1024}),
        Result("result with the end of the output", "tokens", {"kaa": float(tokens_in(whole))}),
        Result("whole failures in it", "", {"kaa": float(whole.count("\nE       AssertionError"))}),
        Result("result with what failed first", "tokens", {"kaa": float(tokens_in(condensed))}),
        Result("failures described in it", "", {"kaa": float(condensed.count("\nE       AssertionError"))}),
        Result("finding what failed", "ms", {"kaa": taken}),
    ]
