"""Large input: a paste of 1 MB, and the name of a file out of 100,000."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.bench import Bench, Result, Runner, percentile
from benchmarks.seat import MARK

_PASTE = ("A line of what is pasted, which goes on to the edge of the terminal and no further.\n" * 12_500)[:1_000_000]

_FOLDERS, _SUBFOLDERS, _FILES = 20, 50, 100
_NEEDLE = "needle_in_the_haystack.py"
_QUERY = "@needleha"
_INDEXING_SECONDS = 5.0
_PATIENCE_SECONDS = 10.0


def measure(bench: Bench) -> list[Result]:
    pasted = bench.collect(_paste, rounds=3)
    tree = _tree(bench.folder / "tree")
    completing = [one for one in bench.participants if one.agent.terminal.completes_files]
    completed = bench.collect(lambda runner: _complete(runner, tree), completing, rounds=3)
    return [
        Result("1 MB pasted, to the next key shown", "ms", percentile(pasted["pasted"], 50)),
        Result("1 MB pasted, CPU", "s", percentile(pasted["cpu"], 50)),
        Result(
            "`@` and a name among 100,000 files, to the offer", "ms", percentile(completed["offered"], 50), target=50
        ),
    ]


def _paste(runner: Runner) -> Mapping[str, Sequence[float]]:
    with runner.open() as seat:
        seat.wait_for_box()
        seat.type_until_shown("y")
        seat.program.wait_until_quiet(0.5)
        cpu, start = seat.cpu_seconds, time.perf_counter()
        seat.program.paste(_PASTE)
        seat.program.type(MARK)
        seat.wait_for(MARK)
        return {"pasted": [(time.perf_counter() - start) * 1000], "cpu": [seat.cpu_seconds - cpu]}


def _complete(runner: Runner, tree: Path) -> Mapping[str, Sequence[float]]:
    """From a name, typed at once, to the screen that offers the file; an index may have been built before."""
    with runner.open(cwd=tree) as seat:
        seat.wait_for_box()
        seat.look(_INDEXING_SECONDS)
        start = time.perf_counter()
        seat.program.type(_QUERY)
        seat.wait_for(_NEEDLE, _PATIENCE_SECONDS)
        return {"offered": [(time.perf_counter() - start) * 1000]}


def _tree(root: Path) -> Path:
    """A folder of 100,000 files in 1,000 folders. Links are names as good as others, and made much faster."""
    for folder in range(_FOLDERS):
        parent = root / f"folder_{folder:02d}"
        parent.mkdir(parents=True)
        (parent / "__init__.py").touch()
        for subfolder in range(_SUBFOLDERS):
            path = parent / f"part_{subfolder:02d}"
            path.mkdir()
            for number in range(_FILES):
                os.link(parent / "__init__.py", path / f"module_{number:03d}.py")
    (root / "folder_11" / "part_31" / _NEEDLE).touch()
    return root
