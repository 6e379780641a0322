import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from scripts.mutants import probes
from scripts.mutants.listed import Mutant, MutantError

TEXT = '''\
"""Says what a number is."""

from __future__ import annotations

LEAST = 1


def name(number: int) -> str:
    """Name it."""
    if number < LEAST:
        return "none"
    elif number == 2 or (
        number == 3
    ):
        return "few"
    return "many"
'''


def mutant(original: str) -> Mutant:
    return Mutant("core-01", "src/kaa/core/name.py", 1, original, "pass", "it breaks")


def counted(original: str, *numbers: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], int]:
    """What the function says with a probe at a line, and how often the probe was reached."""
    reached: Counter[int] = Counter()
    package = ModuleType("kaa")
    package.__dict__["_reached"] = lambda probe: reached.update([probe])
    monkeypatch.setitem(sys.modules, "kaa", package)
    scope: dict[str, object] = {}
    exec(probes.instrument(TEXT, {7: mutant(original)}), scope)  # it is the text above
    name = scope["name"]
    assert callable(name)
    return [name(number) for number in numbers], reached[7]


@pytest.mark.parametrize(
    ("original", "times"),
    [
        ("if number < LEAST:", 4),
        ('return "none"', 1),
        ("elif number == 2 or (", 3),
        ("number == 3", 3),
        ('return "few"', 2),
        ('return "many"', 1),
    ],
)
def test_a_probe_counts_how_often_its_line_is_reached(
    original: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, reached = counted(original, 0, 2, 3, 9, monkeypatch=monkeypatch)

    assert said == ["none", "few", "few", "many"]
    assert reached == times


def test_a_line_outside_of_functions_is_refused() -> None:
    with pytest.raises(MutantError, match=r"core-01: line 5 of .* is in no function"):
        probes.instrument(TEXT, {0: mutant("LEAST = 1")})


_FORKS = """
import os
import sys

sys.path.append(sys.argv[1])
from kaa import _reached

if os.fork() == 0:
    _reached(1)
    os._exit(1)
os.wait()
"""


def test_what_a_program_reaches_counts_for_the_worker_that_started_it(tmp_path: Path) -> None:
    counters = tmp_path / "counters"
    counters.mkdir()
    package = tmp_path / "kaa"
    package.mkdir()
    package.joinpath("__init__.py").write_text(probes.runtime(str(counters), 2))
    worker = (
        "import os, pathlib, subprocess, sys\n"
        f"own = pathlib.Path({str(counters)!r}, str(os.getpid()))\n"
        "own.write_bytes(bytes(16))\n"
        f"subprocess.run([sys.executable, '-I', '-S', '-c', {_FORKS!r}, {str(tmp_path)!r}], check=True, env={{}})\n"
        "print(*memoryview(own.read_bytes()).cast('Q'))\n"
    )

    done = subprocess.run([sys.executable, "-c", worker], capture_output=True, text=True, check=True)

    assert done.stdout == "0 1\n"
