"""What checkpoints of files cost in a project of 10,000 files: turns with them and without, taking the project in.

And how long it takes to restore 20,000 files that a command changed, beside `git checkout` of the same files.

The turns are those of the whole program, timed by the server as in `tool_turns`; the rest is kaa's own code in a
process of its own each time, with the project's files in the system's cache.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from benchmarks.agents import AGENTS
from benchmarks.bench import Bench, Result, Runner
from benchmarks.process_tree import tree_cpu, tree_pss
from benchmarks.repositories import OLD_SECONDS, fill, git
from benchmarks.tool_turns import gaps_ms, one_by_one
from kaa.workspace.checkpoints.contract import CheckpointLimits
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest
from tests.support.model_server import Call

_FILES = 10_000
_RESTORED_FILES = 20_000
_CHANGE = "find . -name '*.py' -print0 | xargs -0 sed -i '1i # changed'"
_TURNS = 20


def measure(bench: Bench) -> list[Result]:
    turns = bench.samples(_turns, _runners(bench))
    project = bench.folder / "checkpoints" / "project"
    size = fill(project, _FILES) / 1e6
    again = bench.folder / "checkpoints" / "store"
    first = [_taken_in(project, bench.folder / "checkpoints" / f"store {number}") for number in range(3)]
    _taken_in(project, again)
    later = [_taken_in(project, again) for _ in range(bench.rounds)]
    restored = bench.folder / "checkpoints" / "restored"
    fill(restored, _RESTORED_FILES)
    git(restored, "init", "-q")
    git(restored, "add", "-A")
    git(restored, "commit", "-qm", "all")
    restores = [_restores(restored, bench.folder / "checkpoints" / f"restoring {n}") for n in range(bench.rounds)]
    by_git, cpu_of_git = (_median(restores, key)["kaa"] for key in ("git_s", "git_cpu_s"))
    assert by_git is not None
    assert cpu_of_git is not None
    return [
        *_overhead("`bash true`", turns["bash"]),
        *_overhead("`write` of one file", turns["write"]),
        Result(f"take in {_FILES:,} files of {size:.0f} MB, first session", "ms", _median(first, "ms")),
        Result("  CPU", "ms", _median(first, "cpu_ms")),
        Result("  on the disk", "MB", _median(first, "disk_mb")),
        Result("take them in, later sessions", "ms", _median(later, "ms")),
        Result("  CPU", "ms", _median(later, "cpu_ms")),
        Result("  memory of the slot and what the rest takes more (PSS)", "MB", _median(later, "mb")),
        Result(f"preview of a restore of {_RESTORED_FILES:,} files", "s", _median(restores, "preview_s")),
        Result("the restore", "s", _median(restores, "restore_s"), target=3 * by_git),
        Result("  CPU", "s", _median(restores, "restore_cpu_s"), target=3 * cpu_of_git),
        Result("`git checkout` of them", "s", {"kaa": by_git}),
        Result("  CPU", "s", {"kaa": cpu_of_git}),
    ]


def _overhead(what: str, values: Mapping[str, float | None]) -> Sequence[Result]:
    with_them, without = values.get("kaa"), values.get(_WITHOUT)
    assert with_them is not None
    assert without is not None
    return (
        Result(f"turn with {what} in {_FILES:,} files, with checkpoints", "ms", {"kaa": with_them}),
        Result("  of that, checkpoints", "ms", {"kaa": with_them - without}, target=20),
    )


_WITHOUT = "kaa without checkpoints"


def _runners(bench: Bench) -> list[Runner]:
    kaa = next(agent for agent in AGENTS if agent.name == "kaa")
    executable = kaa.find().executable
    runners = []
    for name, enabled in (("kaa", True), (_WITHOUT, False)):

        def set_up(executable: str, home: Path, url: str, *, enabled: bool = enabled) -> Mapping[str, str]:
            (home / "settings.json").write_text(json.dumps({"checkpoints": {"enabled": enabled}}))
            return kaa.set_up(executable, home, url)

        agent = msgspec.structs.replace(kaa, name=name, set_up=set_up)
        runner = Runner(agent, executable, bench.folder / "checkpoints" / name, bench.server)
        fill(runner.project, _FILES)
        runners.append(runner)
    return runners


def _turns(runner: Runner) -> Mapping[str, float]:
    return {
        "bash": _gap_ms(runner, runner.agent.commands(_TURNS)),
        "write": _gap_ms(runner, [_write(number) for number in range(_TURNS)]),
    }


def _write(number: int) -> Call:
    return Call("write", json.dumps({"path": "d0/f0.py", "content": f"# {number} {time.time_ns()}\n"}))


def _gap_ms(runner: Runner, calls: Sequence[Call]) -> float:
    """From the end of a reply to the next request; the first is left out, as it waits until everything is taken in."""
    runner.prompt(one_by_one(calls))
    return statistics.median(gaps_ms(runner.requests())[1:])


def _restores(project: Path, store: Path) -> dict[str, float]:
    """Seconds that git takes to bring all files back, and then kaa: its preview, and the restore."""
    subprocess.run(["bash", "-c", _CHANGE], cwd=project, check=True)
    time.sleep(OLD_SECONDS)
    cpu, started = _children_cpu(), time.perf_counter()
    git(project, "checkout", "-q", "--", ".")
    by_git = {"git_s": time.perf_counter() - started, "git_cpu_s": _children_cpu() - cpu}
    time.sleep(OLD_SECONDS)
    return {**by_git, **asyncio.run(_restored(project, store))}


def _children_cpu() -> float:
    """Seconds of the processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


async def _restored(project: Path, store: Path) -> dict[str, float]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(store.parent)}
    workspace = LocalWorkspace.start(str(project), env=environment)
    checkpoints = workspace.checkpoints(str(store), "session", CheckpointLimits())
    try:
        await checkpoints.ready()
        await workspace.run(CommandRequest(["bash", "-c", _CHANGE]))
        change_set = await checkpoints.collect()
        assert change_set is not None
        await asyncio.sleep(OLD_SECONDS)
        started = time.perf_counter()
        plan = await checkpoints.preview([change_set.id], [])
        cpu, seen = tree_cpu(os.getpid()), time.perf_counter()
        result = await checkpoints.restore(plan)
        ended = time.perf_counter()
        assert len(result.done) == _RESTORED_FILES
        return {
            "preview_s": seen - started,
            "restore_s": ended - seen,
            "restore_cpu_s": tree_cpu(os.getpid()) - cpu,
        }
    finally:
        await checkpoints.close()
        await workspace.close()


def _taken_in(project: Path, store: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.checkpoints", str(project), str(store)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=dict[str, float])


async def _take_in(project: Path, store: Path) -> dict[str, float]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(store.parent)}
    workspace = LocalWorkspace.start(str(project), env=environment)
    try:
        await workspace.run(CommandRequest(["/bin/true"]))  # whatever starts with the first command has started
        await asyncio.sleep(0.2)
        memory, cpu = tree_pss(os.getpid()), tree_cpu(os.getpid())
        checkpoints = workspace.checkpoints(str(store), "session", CheckpointLimits())
        started = time.perf_counter()
        await checkpoints.ready()
        taken = time.perf_counter() - started
        await checkpoints.collect()
        measured = {
            "ms": taken * 1e3,
            "cpu_ms": (tree_cpu(os.getpid()) - cpu) * 1e3,
            "mb": (tree_pss(os.getpid()) - memory) / 1e6,
        }
        await checkpoints.close()
    finally:
        await workspace.close()
    return {**measured, "disk_mb": sum(file.stat().st_size for file in store.rglob("*") if file.is_file()) / 1e6}


def _median(samples: Sequence[Mapping[str, float]], key: str) -> dict[str, float | None]:
    return {"kaa": statistics.median(sample[key] for sample in samples)}


if __name__ == "__main__":
    print(msgspec.json.encode(asyncio.run(_take_in(Path(sys.argv[1]), Path(sys.argv[2])))).decode())
