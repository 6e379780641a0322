"""What every measurement stands on: the agents that were found, ready to run against the server, and results."""

import os
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from benchmarks.agents import AGENTS, Agent
from benchmarks.model_process import ModelProcess
from benchmarks.process_tree import Measured, RunFailedError, Started, run, started
from benchmarks.seat import Seat
from tests.support.model_script import ScriptItem
from tests.support.model_server import Received
from tests.support.program import NotShownError
from tests.support.screen import Screen

MESSAGE = "Say hello."

# Enough for a `read` that is not trivial: 4 KB.
_NOTES = "A line of the notes that the agent reads.\n" * 100


class Result(msgspec.Struct, frozen=True):
    """One measure of all agents.

    Attributes:
        unit: of the values; empty for plain counts.
        values: by the agent's name; None where it could not be measured.
        target: what kaa must not exceed, or with `at_least` reach.
    """

    measure: str
    unit: str
    values: dict[str, float | None]
    target: float | None = None
    at_least: bool = False

    @property
    def is_met(self) -> bool | None:
        """Whether kaa keeps its target; None if there is none."""
        value = self.values.get("kaa")
        if self.target is None or value is None:
            return None
        return value >= self.target if self.at_least else value <= self.target


class Runner:
    """An agent that was found, with a home and a project of its own.

    Args:
        agent: its description.
        executable: its path.
        folder: where its home and project are made.
        server: the model that it asks.
        first: arguments that stand before all others, such as a script if `executable` is an interpreter.

    Attributes:
        agent: its description.
        executable: its path.
        project: where it works.
        home: where its configuration is.
    """

    def __init__(
        self, agent: Agent, executable: str, folder: Path, server: ModelProcess, first: Sequence[str] = ()
    ) -> None:
        self.agent = agent
        self.executable = executable
        self._command = (executable, *first)
        self._server = server
        self.project = folder / "project"
        self.home = home = folder / "home"
        self.project.mkdir(parents=True)
        home.mkdir()
        (self.project / "notes.txt").write_text(_NOTES)
        own = agent.set_up(executable, home, server.url)
        self._environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **own}

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    def prompt(
        self,
        script: Sequence[ScriptItem],
        *,
        sample_memory: bool = False,
        events_per_second: float = 0.0,
        flags: Sequence[str] = (),
    ) -> Measured:
        """Let the agent work on a message while the model follows `script`, at once or at a rate.

        Raises:
            RunFailedError: it did not follow the script to its end.
        """
        self._server.begin(script, events_per_second)
        measured = self.run(*flags, *self.agent.prompt, MESSAGE, sample_memory=sample_memory)
        asked = len(self.requests())
        if asked != len(script):
            raise RunFailedError(f"{self.name} made {asked} requests where {len(script)} were expected")
        return measured

    def follow(self, script: Sequence[ScriptItem], replies_after: float = 0.0) -> None:
        """Let the model follow a script from the next request on, each reply so many seconds after its request."""
        self._server.begin(script, replies_after=replies_after)

    def run(self, *arguments: str, sample_memory: bool = False) -> Measured:
        """Run it with these arguments.

        Raises:
            RunFailedError: it failed.
        """
        return run([*self._command, *arguments], cwd=self.project, env=self._environ, sample_memory=sample_memory)

    def start(self, *arguments: str) -> AbstractContextManager[Started]:
        """Start it with these arguments; it is ended at the end of the block."""
        return started([*self._command, *arguments], cwd=self.project, env=self._environ)

    def open(self, *arguments: str, screen: Screen | None = None, before: str = "", cwd: Path | None = None) -> Seat:
        """Start it in a terminal.

        Args:
            arguments: more than those it always needs there.
            screen: the terminal; without it, one of 100 columns and 30 rows that answers everything.
            before: a command of the shell that runs in the terminal before it.
            cwd: where, instead of its project.
        """
        argv = [*self._command, *self.agent.terminal.arguments, *arguments]
        if before:
            argv = ["/bin/sh", "-c", f'{before}; exec "$0" "$@"', *argv]
        return Seat(argv, self._environ, cwd or self.project, screen or Screen(100, 30), self.agent.terminal.ready)

    def resume(self, messages: Sequence[str]) -> Sequence[str] | None:
        """Make a session of these messages; the arguments that go on with it, None if that cannot be made."""
        make = self.agent.terminal.resume
        return None if make is None else make(self.home, self.project, messages)

    def requests(self) -> list[Received]:
        """What the agent asked the model in its last run."""
        return self._server.requests()


class Bench:
    """All agents on this machine.

    Args:
        folder: a temporary folder for their homes and projects.
        rounds: how often each measurement is repeated, after a warm-up.
        report: told, in a sentence, what is left out and why.
    """

    def __init__(self, folder: Path, server: ModelProcess, rounds: int, report: Callable[[str], None]) -> None:
        self.folder = folder
        self.server = server
        self.rounds = rounds
        self._report = report
        self.runners = [runner for agent in AGENTS if (runner := self.prepare(agent)) is not None]

    def prepare(self, agent: Agent) -> Runner | None:
        """The agent ready to run, None if it is not on this machine."""
        executable = agent.find()
        if executable is None:
            self._report(f"{agent.name} is not on this machine and left out")
            return None
        return Runner(agent, executable, self.folder / agent.name, self.server)

    def samples(
        self, measure: Callable[[Runner], Mapping[str, float]], runners: Iterable[Runner] | None = None
    ) -> Mapping[str, dict[str, float | None]]:
        """Medians of what `measure` gives, by its keys and the agents' names; empty for a key that nobody gave."""
        taken = self.collect(lambda runner: {key: [value] for key, value in measure(runner).items()}, runners)
        medians: defaultdict[str, dict[str, float | None]] = defaultdict(dict)
        for key, by_agent in taken.items():
            medians[key] = {name: statistics.median(values) for name, values in by_agent.items()}
        return medians

    def collect(
        self,
        measure: Callable[[Runner], Mapping[str, Sequence[float]]],
        runners: Iterable[Runner] | None = None,
        rounds: int | None = None,
    ) -> Mapping[str, dict[str, list[float]]]:
        """All that `measure` gives, by its keys and the agents' names.

        Agents take turns, so that a slow moment of the machine strikes all of them; the first round is a warm-up and
        not counted, unless `rounds` says how many there are.
        """
        taken: defaultdict[str, dict[str, list[float]]] = defaultdict(dict)
        runners = list(self.runners if runners is None else runners)
        for round_number in range(self.rounds + 1 if rounds is None else rounds):
            for runner in list(runners):
                try:
                    measured = measure(runner)
                except (RunFailedError, NotShownError) as error:
                    self._report(f"{runner.name} is left out: {error}")
                    runners.remove(runner)
                    continue
                for key, values in measured.items() if round_number or rounds is not None else ():
                    taken[key].setdefault(runner.name, []).extend(values)
        return taken


def percentile(samples: Mapping[str, list[float]], percent: int) -> dict[str, float | None]:
    """The percentile of each agent's values."""
    return {
        name: statistics.quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]
        for name, values in samples.items()
        if values
    }
