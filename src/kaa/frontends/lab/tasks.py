"""Tasks in Harbor's format: a folder with task.toml, instruction.md, environment/, tests/test.sh and solution/solve.sh.

https://www.harborframework.com/docs/tasks; schema 1.4. The lab takes what works without a container: one step, with a
check that is a shell script. See docs/lab.md.
"""

import hashlib
import os
import shutil
import tomllib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import msgspec

from kaa.core.messages import Json
from kaa.host.regular_files import read_regular, unplanted
from kaa.shell.mistakes import MistakeError

_CONFIG = "task.toml"
_MOST_TEXT_BYTES = 1_000_000
# Of a time limit: a day.
_MOST_SECONDS = 86_400.0

Seconds = Annotated[float, msgspec.Meta(gt=0, le=_MOST_SECONDS)]
Variables = dict[str, str]


class TaskError(Exception):
    """A task cannot be used; the message says which, why, and what to do."""


class UnknownTaskError(TaskError, MistakeError):
    """There is no such folder, or no such task in it."""


class Metadata(msgspec.Struct, frozen=True):
    """What Harbor leaves to whoever writes tasks.

    Attributes:
        kind: what is to be done, such as `bug`.
        language: in which the project is written.
        needs: programs without which the task makes no sense.
    """

    kind: str = ""
    language: str = ""
    needs: tuple[str, ...] = ()


class AgentLimits(msgspec.Struct, frozen=True):
    timeout_sec: Seconds | None = None


class Verifier(msgspec.Struct, frozen=True):
    """The limits of the check."""

    timeout_sec: Seconds = 600.0
    env: Variables = {}


class Solution(msgspec.Struct, frozen=True):
    """What the reference solution is run with."""

    env: Variables = {}


class Environment(msgspec.Struct, frozen=True):
    """Of what surrounds the project, all that the lab can do without a container."""

    env: Variables = {}
    build_timeout_sec: Seconds = 600.0


class TaskFile(msgspec.Struct, frozen=True):
    """task.toml."""

    metadata: Metadata = Metadata()
    agent: AgentLimits = AgentLimits()
    verifier: Verifier = Verifier()
    solution: Solution = Solution()
    environment: Environment = Environment()
    steps: tuple[Json, ...] = ()


class Task(msgspec.Struct, frozen=True):
    """A task.

    Attributes:
        folder: where it is; its name is the task's.
    """

    folder: Path
    instruction: str
    config: TaskFile
    digest: str

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def missing(self) -> tuple[str, ...]:
        """The programs that the task needs and this machine does not have."""
        return tuple(program for program in self.config.metadata.needs if shutil.which(program) is None)

    @property
    def solve(self) -> Path | None:
        script = self.folder / "solution" / "solve.sh"
        return script if script.is_file() else None


def read_tasks(root: Path, patterns: Sequence[str]) -> tuple[list[Task], list[TaskError]]:
    """The tasks in a folder whose names fit a pattern, all without one, and what is wrong with the others.

    Args:
        patterns: such as `py-*`.

    Raises:
        TaskError: there is no such task.
    """
    if not root.is_dir():
        raise UnknownTaskError(f"there is no folder {root}: name a folder of tasks with --tasks DIR")
    folders = [root.resolve()] if (root / _CONFIG).exists() else _folders(root.resolve())
    chosen = [one for one in folders if not patterns or any(fnmatchcase(one.name, pattern) for pattern in patterns)]
    if not chosen:
        wanted = f" whose name matches {' or '.join(patterns)}" if patterns else ""
        raise UnknownTaskError(f"there is no task in {root}{wanted}: a task is a folder with a {_CONFIG}")
    tasks, errors = [], []
    for folder in chosen:
        try:
            tasks.append(_read(folder))
        except TaskError as error:
            errors.append(error)
    return tasks, errors


def _folders(root: Path) -> list[Path]:
    return sorted(one for one in root.iterdir() if one.is_dir() and not one.name.startswith("."))


def _read(folder: Path) -> Task:
    config = _config(folder / _CONFIG)
    if config.steps:
        raise TaskError(f"{folder.name}: it has several steps, which the lab does not run. Use Harbor")
    instruction = _text(folder / "instruction.md").strip()
    if not instruction:
        raise TaskError(f"{folder.name}: instruction.md is empty. Write in it what is to be done")
    if not (folder / "tests" / "test.sh").is_file():
        raise TaskError(f"{folder.name}: it has no check. Write tests/test.sh, which writes a reward of 0 or 1")
    if not (folder / "environment").is_dir():
        raise TaskError(f"{folder.name}: it has no folder environment with the project")
    return Task(folder, instruction, config, _digest(folder))


def _config(path: Path) -> TaskFile:
    name = path.parent.name
    try:
        config = msgspec.convert(tomllib.loads(_text(path)), TaskFile)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TaskError(f"{name}: {_CONFIG} is not TOML: {error}. Correct it") from error
    except msgspec.ValidationError as error:
        raise TaskError(f"{name}: {_CONFIG}: {error}. Correct it") from error
    for variables in (config.environment.env, config.verifier.env, config.solution.env):
        if computed := [variable for variable, value in variables.items() if "${" in value]:
            raise TaskError(f"{name}: {_CONFIG}: the lab does not expand ${{…}} in {computed[0]}. Use Harbor")
    return config


def _text(path: Path) -> str:
    """The content of a file of a task.

    Raises:
        TaskError: it cannot be read, is not text or is too large.
    """
    name = f"{path.parent.name}: {path.name}"
    try:
        return read_regular(path, _MOST_TEXT_BYTES, unplanted).decode("utf-8")
    except FileNotFoundError as error:
        raise TaskError(f"{path.parent.name}: it has no {path.name}. Write it") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{name} is not UTF-8: {error.reason} at byte {error.start}. Correct it") from error
    except OSError as error:
        raise TaskError(f"{name} cannot be read ({error.strerror})") from error


def _digest(folder: Path) -> str:
    """What changes when a file of the task does."""
    digest = hashlib.sha256()
    for path in _files(folder):
        digest.update(
            f"{path.relative_to(folder)}\0{path.lstat().st_mode & 0o111:o}\0".encode(errors="surrogateescape")
        )
        digest.update(os.readlink(path).encode(errors="surrogateescape") if path.is_symlink() else path.read_bytes())
    return digest.hexdigest()[:16]


def _files(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
