"""Where a task happens: a copy of its project in a temporary folder, and the task's own scripts in kaa's sandbox.

Harbor builds a container; here the files of `environment/` are the project, and `setup.sh` among them prepares it. The
check and the reference solution can write nothing outside the folder, and reach nothing but loopback.
"""

import asyncio
import math
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from kaa.frontends.lab.tasks import Task, TaskError
from kaa.host.regular_files import unplanted
from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, start_workspace
from kaa.workspace.blocked import BlockedError
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult

# What of `environment/` builds a container and is no part of the project.
_OF_CONTAINERS = ("Dockerfile", ".dockerignore", "docker-compose.yaml", "docker-compose.yml")
_SETUP = "setup.sh"
# Where a check writes its reward; in a container it is /logs/verifier.
_REWARD_FOLDER = "LAB_VERIFIER_DIR"
_MOST_REWARD_BYTES = 10_000
_TOLD_BYTES = 4_000

Confinement = Literal["workspace-write", "full-access"]


class Verdict(msgspec.Struct, frozen=True):
    """What a check found.

    Attributes:
        reward: 1 for a solved task.
        output: the end of what it printed.
        problem: why it found nothing, such as that it did not end; empty if it did.
    """

    reward: float
    output: str
    problem: str = ""

    @property
    def solved(self) -> bool:
        """Whether the task is solved: a part of the reward is not enough."""
        return self.reward >= 1


class Scene:
    """A task's temporary folder. Use `scene`.

    Args:
        folder: has everything; its `stage` is what the task's scripts see.

    Attributes:
        project: the copy of the project.
        home: kaa's own, hidden from commands.
        user: the home directory of the user that the programs see.
        stage: the folder of the project, its user and the task's scripts.
    """

    def __init__(self, task: Task, folder: Path, workspace: Callable[["Scene"], LocalWorkspace]) -> None:
        self.task = task
        self.project = folder / "stage" / "project"
        self.home = folder / "kaa"
        self.user = folder / "stage" / "user"
        self.stage = folder / "stage"
        self._open = workspace
        self._workspace: LocalWorkspace | None = None

    async def set_up(self) -> None:
        """Make the project.

        Raises:
            TaskError: that failed.
        """
        for path in (self.home, self.user):
            path.mkdir(0o700, parents=True)
        await asyncio.to_thread(self._copy, "environment", self.project, shutil.ignore_patterns(*_OF_CONTAINERS))
        if not (self.project / _SETUP).is_file():
            return
        environment = self.task.config.environment
        result = await self._run(["sh", _SETUP], environment.env, environment.build_timeout_sec)
        if result.timed_out or result.exit_code != 0:
            raise TaskError(f"{self.task.name}: {_SETUP} failed: {_told(result) or _ending(result)}")
        (self.project / _SETUP).unlink(missing_ok=True)

    async def solve(self) -> str:
        """Run the reference solution. Returns why it failed, or nothing.

        Raises:
            TaskError: the task has none.
        """
        if self.task.solve is None:
            raise TaskError(f"{self.task.name}: it has no reference solution. Write solution/solve.sh")
        await asyncio.to_thread(self._copy, "solution", self.stage / "solution")
        script = self._executable(self.stage / "solution" / "solve.sh")
        result = await self._run([script], self._variables(self.task.config.solution.env), self.seconds)
        return f"{_ending(result)}: {_told(result)}" if result.timed_out or result.exit_code != 0 else ""

    async def check(self) -> Verdict:
        """Check what is in the project now. The agent has not seen the check: it is copied here only now."""
        rewards, tests = self.stage / "verifier", self.stage / "tests"
        for path in (rewards, tests):
            await asyncio.to_thread(_remove, path)
        rewards.mkdir()
        await asyncio.to_thread(self._copy, "tests", tests)
        verifier = self.task.config.verifier
        variables = self._variables(verifier.env) | {_REWARD_FOLDER: str(rewards)}
        result = await self._run([self._executable(tests / "test.sh")], variables, verifier.timeout_sec)
        output = _told(result)
        if result.timed_out:
            return Verdict(0.0, output, f"the check did not end within {verifier.timeout_sec:g} s")
        reward = _reward(rewards)
        if isinstance(reward, str):
            return Verdict(0.0, output, f"{reward} ({_ending(result)})")
        return Verdict(reward, output)

    @property
    def seconds(self) -> float:
        """How long the agent may take."""
        return self.task.config.agent.timeout_sec or 600.0

    async def close(self) -> None:
        """End what the task's scripts left behind."""
        if self._workspace is not None:
            await self._workspace.close()

    async def _run(self, argv: list[str], variables: Mapping[str, str], seconds: float) -> CommandResult:
        if self._workspace is None:
            self._workspace = self._open(self)
        try:
            request = CommandRequest(argv, cwd=str(self.project), env=variables, timeout=seconds, spill=False)
            return await self._workspace.run(request)
        except BlockedError as error:
            raise TaskError(
                "no sandbox works on this system: see kaa doctor. --unconfined runs the tasks with your rights"
            ) from error

    def _copy(self, name: str, to: Path, ignore: Callable[[Any, list[str]], Iterable[str]] | None = None) -> None:
        try:
            shutil.copytree(self.task.folder / name, to, symlinks=True, ignore=ignore, copy_function=_copy_file)
        except OSError as error:
            raise TaskError(f"{self.task.name}: {name} cannot be copied ({error})") from error

    def _executable(self, script: Path) -> str:
        script.chmod(0o755)
        return str(script)

    def _variables(self, own: Mapping[str, str]) -> dict[str, str]:
        return {**self.task.config.environment.env, **own}


@asynccontextmanager
async def scene(task: Task, confinement: Confinement) -> AsyncIterator[Scene]:
    """The scene of a task, ready for the agent, as long as the block lasts.

    Raises:
        TaskError: the project cannot be made.
        OSError: likewise, as the disk is full.
    """

    def workspace(one: Scene) -> LocalWorkspace:
        flags = SandboxFlags(confinement, "off")
        return start_workspace(str(one.stage), flags, Home(one.home), {**os.environ, "HOME": str(one.user)})

    folder = Path(tempfile.mkdtemp(prefix="kaa-lab-"))
    one = Scene(task, folder, workspace)
    try:
        await one.set_up()
        yield one
    finally:
        await one.close()
        await asyncio.to_thread(_remove, folder)


def _copy_file(source: str, target: str) -> None:
    """Copy a file with its times, unless a command could have made a link to it: a task may lie in a project."""
    with open(source, "rb", opener=unplanted) as content, open(target, "xb") as copy:
        shutil.copyfileobj(content, copy)
    shutil.copystat(source, target)


def _remove(folder: Path) -> None:
    """Remove a folder, also where a script took away the rights to."""
    for path, names, _ in os.walk(folder):
        for name in names:
            if not os.path.islink(inside := os.path.join(path, name)):
                os.chmod(inside, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _reward(folder: Path) -> float | str:
    """The reward that a check wrote, or what is wrong with it. Several values count as their least."""
    for name in ("reward.json", "reward.txt"):
        path = folder / name
        try:
            if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_REWARD_BYTES:
                continue
            value = msgspec.json.decode(path.read_bytes().strip(), type=float | dict[str, float])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return f"{name} has no number"
        values = list(value.values()) if isinstance(value, dict) else [value]
        if not values or not all(map(math.isfinite, values)):
            return f"{name} has no number"
        return min(values)
    return f"the check wrote no reward.txt in ${_REWARD_FOLDER}"


def _told(result: CommandResult) -> str:
    return result.tail[-_TOLD_BYTES:].decode(errors="replace").strip()


def _ending(result: CommandResult) -> str:
    if result.timed_out:
        return "it did not end in time"
    return f"exit code {result.exit_code}" if result.signal is None else f"ended by signal {result.signal}"
