"""One run of kaa on a task: a process in JSON mode, whose events are kept and counted, and the check afterwards."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from kaa.core.messages import Json
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.lab.results import Attempt, Key, Outcome
from kaa.frontends.lab.scene import Confinement, Scene, Verdict, scene
from kaa.frontends.lab.stand_in_home import furnish
from kaa.frontends.lab.tally import Tally, tally_of
from kaa.frontends.lab.tasks import Task
from kaa.shell.home import Home

# -P: the project is the current directory, and nothing of it is imported.
_KAA = (sys.executable, "-E", "-P", "-m", "kaa")
# After its own time limit, for the end of kaa; and then after SIGTERM.
_GRACE_SECONDS = 120.0
_LAST_SECONDS = 10.0
# With these, kaa did not get to ask the model.
_NOT_RUN = (ExitCode.USAGE, ExitCode.NO_MODEL)
_MOST_PROBLEM = 500


class Course(msgspec.Struct, frozen=True):
    """What is the same for all runs.

    Attributes:
        model: for `--model`; empty for the user's default.
        max_turns: for `--max-turns`.
        hidden: what the agent must not see.
        home: the user's own.
    """

    model: str
    max_turns: int
    confinement: Confinement
    hidden: tuple[Path, ...]
    home: Home


async def run_attempt(key: Key, task: Task, settings: Mapping[str, Json], course: Course, trace: Path) -> Attempt:
    """Run kaa on a task and check what it did.

    Args:
        key: of the run.
        task: what to do.
        settings: of the variant.
        course: what is the same for all runs.
        trace: an empty folder for the events and the session.

    Raises:
        TaskError: the task cannot be set up.
        SettingsError: the user's files cannot be used.
        OSError: something cannot be written or started.
    """
    async with scene(task, course.confinement) as place:
        furnish(place.home, course.home, settings, course.hidden)
        started = time.monotonic()
        code, killed = await _run_kaa(place, course, trace)
        seconds = time.monotonic() - started
        tally = await asyncio.to_thread(tally_of, trace / "events.jsonl")
        if code in _NOT_RUN or tally.reason == "error" or not (tally.reason or killed):
            said = tally.error or _first_line(trace / "stderr.txt") or f"exit code {code}"
            return _attempt(key, tally, "failed", Verdict(0.0, "", said), code, seconds)
        verdict = await place.check()
        (trace / "check.txt").write_text(f"reward {verdict.reward:g}\n{verdict.problem}\n{verdict.output}\n", "utf-8")
        if killed:
            tally.reason = "killed"
        return _attempt(key, tally, "solved" if verdict.solved else "unsolved", verdict, code, seconds)


async def _run_kaa(place: Scene, course: Course, trace: Path) -> tuple[int, bool]:
    """Run kaa to its end. Returns its exit code, and whether it had to be killed."""
    with (trace / "events.jsonl").open("wb") as events, (trace / "stderr.txt").open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *_KAA,
            *_arguments(place, course, trace),
            cwd=place.project,
            env=_environment(place),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=events,
            stderr=errors,
            start_new_session=True,
        )
        try:
            await asyncio.wait_for(process.wait(), place.seconds + _GRACE_SECONDS)
        except TimeoutError:
            return await _end(process), True
        except BaseException:
            await asyncio.shield(_end(process))
            raise
    return process.returncode or 0, False


def _arguments(place: Scene, course: Course, trace: Path) -> Sequence[str]:
    model = ("--model", course.model) if course.model else ()
    turns, seconds = str(course.max_turns), f"{place.seconds:g}s"
    return (
        *("--mode", "json", "-p", "--session-dir", str(trace), "--sandbox", course.confinement, *model),
        *("--max-turns", turns, "--max-time", seconds, "--", place.task.instruction),
    )


def _environment(place: Scene) -> dict[str, str]:
    """The user's, for its keys and paths, but with homes of its own: their files would change what is measured."""
    own = {"HOME": str(place.user), "KAA_DIR": str(place.home), "PWD": str(place.project), "GIT_CONFIG_NOSYSTEM": "1"}
    dropped = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "KAA_LOG", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if name not in dropped} | own


async def _end(process: asyncio.subprocess.Process) -> int:
    """End a run with all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            break
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            await asyncio.wait_for(process.wait(), _LAST_SECONDS)
        except TimeoutError:
            continue
    return await process.wait()


def _attempt(key: Key, tally: Tally, outcome: Outcome, verdict: Verdict, code: int, seconds: float) -> Attempt:
    return Attempt(
        key,
        outcome,
        verdict.reward,
        tally.reason,
        code,
        " ".join(verdict.problem.split())[:_MOST_PROBLEM],
        tally.model,
        tally.turns,
        tally.tool_calls,
        tally.input,
        tally.output,
        tally.cache_read,
        tally.cache_write,
        tally.cost,
        round(seconds, 3),
        tally.notes,
    )


def _first_line(path: Path) -> str:
    return path.read_text("utf-8", "replace").strip().partition("\n")[0]
