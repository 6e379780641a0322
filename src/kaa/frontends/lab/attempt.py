"""One run of kaa on a task: a process in JSON mode, whose events are kept and counted, and the check afterwards."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from kaa.core.messages import Json
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.lab.results import Attempt, Outcome, RunKey
from kaa.frontends.lab.scene import Confinement, Scene, Verdict, scene
from kaa.frontends.lab.tasks import Task
from kaa.host.private_file import PrivateFile, PrivateFileError
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError, read_values

# How the server or the user ends a reply.
_NO_REPLY = ("error", "aborted")


class Tally:
    """Counts events of JSON mode.

    Attributes:
        reason: why the run ended; empty before that.
        model: that answered last, `provider/id`.
        turns: requests that were answered, without those of agents.
        cost: US dollars; None if a price is not known.
        notes: entries of extensions, by their kind.
    """

    def __init__(self) -> None:
        self.reason = self.error = ""
        self.model = ""
        self.turns = self.tool_calls = 0
        self.input = self.output = self.cache_read = self.cache_write = 0
        self.cost: float | None = 0.0
        self.notes: dict[str, int] = {}

    def count(self, event: Mapping[str, Any]) -> None:
        """Take an event of JSON mode into account."""
        match event:
            case {"type": "message_end", "message": {"role": "assistant", "usage": dict(usage), **message}}:
                self._count_usage(usage)
                if "agent" not in event and message.get("stopReason") not in _NO_REPLY:
                    self.turns += 1
                    self.model = f"{message.get('provider')}/{message.get('responseModel') or message.get('model')}"
            case {"type": "compaction_end", "usage": dict(usage)}:
                self._count_usage(usage)
            case {"type": "tool_execution_end"}:
                self.tool_calls += 1
            case {"type": "agent_end", "reason": str(reason)} if "agent" not in event:
                self.reason, self.error = reason, str(event.get("error") or "")
            case {"type": "entry_appended", "entry": {"type": "custom" | "custom_message", "customType": str(kind)}}:
                self.notes[kind] = self.notes.get(kind, 0) + 1
            case _:
                pass

    def _count_usage(self, usage: Mapping[str, Any]) -> None:
        self.input += usage.get("input", 0)
        self.output += usage.get("output", 0)
        self.cache_read += usage.get("cacheRead", 0)
        self.cache_write += usage.get("cacheWrite", 0)
        match usage.get("cost"):
            case {"total": int() | float() as dollars} if self.cost is not None:
                self.cost += dollars
            case _:  # once a price is unknown, so is the sum
                self.cost = None


def tally_of(events: Path) -> Tally:
    """What a file of events adds up to. What is no event is left out: a run that is killed leaves a torn line."""
    tally = Tally()
    with events.open("rb") as lines:
        for line in lines:
            try:
                tally.count(msgspec.json.decode(line, type=dict[str, Any]))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
    return tally


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
    """

    model: str
    max_turns: int
    confinement: Confinement
    hidden: tuple[Path, ...]
    home: Home


async def run_attempt(key: RunKey, task: Task, settings: Mapping[str, Json], course: Course, trace: Path) -> Attempt:
    """Run kaa on a task and check what it did.

    Args:
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


def _attempt(key: RunKey, tally: Tally, outcome: Outcome, verdict: Verdict, code: int, seconds: float) -> Attempt:
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


# What the user chose about models and the way to them; everything else would differ between users.
_KEPT = ("defaultProvider", "defaultModel", "defaultThinkingLevel", "httpProxy", "httpIdleTimeoutMs", "retry")
_MODELS, _KEYS = "models.json", "auth.json"


def furnish(folder: Path, user: Home, settings: Mapping[str, Json], hidden: tuple[Path, ...]) -> None:
    """Make a home.

    Logins stay where they are: two copies of one would end each other when they renew it.

    Args:
        folder: the home to be; it exists.
        hidden: what the agent must not see.

    Raises:
        SettingsError: the user's files cannot be used.
        OSError: the home cannot be written.
    """
    chosen = {name: value for name, value in read_values(user.settings).items() if name in _KEPT}
    merged = {**chosen, **settings}
    sandbox = merged.get("sandbox", {})
    merged["sandbox"] = {**sandbox, "hidden": [*sandbox.get("hidden", []), *map(str, hidden)]}
    _write(folder / "settings.json", msgspec.json.encode(merged))
    if (user.path / _MODELS).is_file():
        _write(folder / _MODELS, (user.path / _MODELS).read_bytes())
    if keys := _keys(user.path / _KEYS):
        _write(folder / _KEYS, msgspec.json.encode(keys))


def _keys(path: Path) -> dict[str, Json]:
    try:
        entries = msgspec.json.decode(PrivateFile(path).read() or b"{}", type=dict[str, Json])
    except (PrivateFileError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: {error}") from error
    return {name: one for name, one in entries.items() if isinstance(one, dict) and one.get("type") == "api_key"}


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
