"""The folder of a lab: what is run, the result of each run as a line, and their traces. It survives any end."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from kaa.core.messages import Json

# `failed`: there was no key, or the model's server failed; that says nothing about the model.
Outcome: TypeAlias = Literal["solved", "unsolved", "failed"]


class ResultsError(Exception):
    """A folder of results cannot be used; the message says which, why, and what to do."""


class RunKey(msgspec.Struct, frozen=True):
    """Which run of which task, with which settings."""

    variant: str
    task: str
    number: int

    def __str__(self) -> str:
        return f"{self.variant} {self.task} #{self.number}"


class Attempt(msgspec.Struct, rename="camel", frozen=True):
    """How a run went.

    Attributes:
        reason: why kaa ended, as in its `agent_end` event; `killed` if it had to be.
        problem: what went wrong outside the model; empty if nothing did.
        model: that answered, `provider/id`.
        turns: requests to the model that were answered.
        input: tokens without those read from or written to the provider's cache.
        cost: US dollars; None if a price is not known.
        notes: what the measures of kaa reported, and how often.
    """

    key: RunKey
    outcome: Outcome
    reward: float
    reason: str
    exit_code: int
    problem: str = ""
    model: str = ""
    turns: int = 0
    tool_calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    notes: dict[str, int] = {}

    @property
    def tokens(self) -> int:
        """All that went through the model."""
        return self.input + self.cache_read + self.cache_write + self.output


class Definition(msgspec.Struct, rename="camel", frozen=True):
    """What is run.

    Attributes:
        model: as given; empty for the user's default.
        tasks: their digests, by name.
        variants: their settings, by name.
        repeats: runs of each task with each variant.
    """

    version: str
    model: str
    max_turns: int
    tasks: dict[str, str]
    variants: dict[str, dict[str, Json]]
    repeats: int

    def runs(self) -> list[RunKey]:
        """All runs, so that every beginning of them has a bit of everything."""
        return [
            RunKey(variant, task, number)
            for number in range(1, self.repeats + 1)
            for task in self.tasks
            for variant in self.variants
        ]

    def merged(self, later: "Definition") -> "Definition":
        """This and more of the same.

        Raises:
            ResultsError: it is not the same.
        """
        for what, mine, theirs in (
            ("another version of kaa", self.version, later.version),
            ("another model", self.model, later.model),
            ("another limit of turns", self.max_turns, later.max_turns),
        ):
            if mine != theirs:
                raise ResultsError(f"it has runs with {what}: {mine or 'the default'}, not {theirs or 'the default'}")
        for what, ours, others in (("task", self.tasks, later.tasks), ("variant", self.variants, later.variants)):
            for name in ours.keys() & others.keys():
                if ours[name] != others[name]:
                    raise ResultsError(f"it has runs with another {what} {name!r}")
        return msgspec.structs.replace(
            self,
            tasks={**self.tasks, **later.tasks},
            variants={**self.variants, **later.variants},
            repeats=max(self.repeats, later.repeats),
        )


class Results:
    """A folder of results.

    Args:
        path: the folder; `begin` creates it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._definition = path / "lab.json"
        self._lines = path / "results.jsonl"

    @contextmanager
    def begin(self, definition: Definition) -> Iterator[Definition]:
        """Keep other labs from the folder while the block lasts. Gives what is to be run, with what was run before.

        Raises:
            ResultsError: another lab writes there, or something else is in it.
            OSError: it cannot be written.
        """
        if self.path.exists() and not self._definition.exists() and any(self.path.iterdir()):
            raise ResultsError(f"{self.path} is not empty and has no lab: choose another folder with --out")
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ResultsError(
                    f"another lab is writing to {self.path}: choose another folder with --out"
                ) from error
            if self._definition.exists():
                try:
                    definition = self.definition().merged(definition)
                except ResultsError as error:
                    raise ResultsError(f"{self.path}: {error}. Choose another folder with --out") from error
            self._write_definition(definition)
            self._drop_torn_line()
            yield definition
        finally:
            os.close(descriptor)

    def definition(self) -> Definition:
        """What was run.

        Raises:
            ResultsError: there is no lab, or it cannot be read.
        """
        try:
            return msgspec.json.decode(self._definition.read_bytes(), type=Definition)
        except FileNotFoundError as error:
            raise ResultsError(f"there is no lab in {self.path}: `kaa lab show` lists what there is") from error
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ResultsError(f"{self._definition} cannot be read: {error}") from error

    def attempts(self) -> list[Attempt]:
        """The runs that ended, the last one of each key.

        Raises:
            ResultsError: they cannot be read.
        """
        found: dict[RunKey, Attempt] = {}
        try:
            lines = self._lines.read_bytes().split(b"\n") if self._lines.exists() else [b""]
        except OSError as error:
            raise ResultsError(f"{self._lines} cannot be read ({error.strerror})") from error
        for number, line in enumerate(lines[:-1], start=1):  # what follows the last line feed is torn
            try:
                attempt = msgspec.json.decode(line, type=Attempt)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ResultsError(f"{self._lines}, line {number} is no result: {error}. Remove it") from error
            found[attempt.key] = attempt
        return list(found.values())

    def append(self, attempt: Attempt) -> None:
        """Keep the result of a run.

        Raises:
            OSError: it cannot be written.
        """
        descriptor = os.open(self._lines, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            line = memoryview(msgspec.json.encode(attempt) + b"\n")
            while line:
                line = line[os.write(descriptor, line) :]
        finally:
            os.close(descriptor)

    def trace(self, key: RunKey, *, fresh: bool = False) -> Path:
        """The folder with the events and the session of a run; with `fresh`, an empty one."""
        folder = self.path / "traces" / key.variant / key.task / str(key.number)
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return folder

    def _write_definition(self, definition: Definition) -> None:
        beside = self._definition.with_suffix(".new")
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(definition), indent=2) + b"\n")
        beside.replace(self._definition)

    def _drop_torn_line(self) -> None:
        """Remove a last line that was not written to its end: the next one would continue it."""
        if not self._lines.exists():
            return
        with self._lines.open("r+b") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)
