"""What every measurement stands on: the agents that were found, ready to run against the server, and results."""

import statistics
import textwrap
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from benchmarks.agents import AGENTS, Agent, NotHereError
from benchmarks.model_process import ModelProcess
from benchmarks.process_tree import Measured, RunFailedError, Started, run, started
from benchmarks.seat import Seat
from tests.support.model_script import ScriptItem
from tests.support.model_server import Received
from tests.support.program import NotShownError
from tests.support.screen import Screen

MESSAGE = "Say hello."

# Notes for as many calls of `read`, which are not trivial: 4 KB.
NOTES = 20
_NOTE = "A line of the notes that the agent reads.\n" * 100

_REASON_CHARACTERS = 200


class Result(msgspec.Struct, frozen=True):
    """One measure of all agents.

    Attributes:
        unit: of the values; empty for plain counts.
        values: by the agent's name; None for an agent that gave no figure. An agent that this does not apply to has no
            entry.
        target: what kaa must not exceed, or with `at_least` reach.
        missing: why there is no figure, by the agent's name.
    """

    measure: str
    unit: str
    values: dict[str, float | None]
    target: float | None = None
    at_least: bool = False
    missing: dict[str, str] = {}

    @property
    def is_met(self) -> bool | None:
        """Whether kaa keeps its target, which it does not without a figure; None without a target or kaa."""
        if self.target is None or "kaa" not in self.values:
            return None
        value = self.values["kaa"]
        if value is None:
            return False
        return value >= self.target if self.at_least else value <= self.target


class Runner:
    """An agent that was found, with a home of its own.

    Args:
        agent: its description.
        executable: its path.
        folder: where its home and project are made.
        server: the model that it asks.
        first: arguments that stand before all others, such as a script if `executable` is an interpreter.
        project: where it works; one of its own if not given.

    Attributes:
        agent: its description.
        executable: its path.
        project: where it works.
        home: where its configuration is.
    """

    def __init__(
        self,
        agent: Agent,
        executable: str,
        folder: Path,
        server: ModelProcess,
        first: Sequence[str] = (),
        *,
        project: Path | None = None,
    ) -> None:
        self.agent = agent
        self.executable = executable
        self._command = (executable, *first)
        self._server = server
        self.project = project or folder / "project"
        self.home = home = folder / "home"
        home.mkdir(parents=True)
        if project is None:
            self.project.mkdir()
            for number in range(NOTES):
                (self.project / f"notes-{number}.txt").write_text(_NOTE)
        self._environ = agent.prepare(executable, home, server.url)

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    def another(self, folder: Path, project: Path | None = None) -> "Runner":
        """The same agent with a new home, and with this project or a new one."""
        return Runner(self.agent, self.executable, folder, self._server, self._command[1:], project=project)

    def prompt(
        self,
        script: Sequence[ScriptItem],
        *,
        sample_memory: bool = False,
        events_per_second: float = 0.0,
        flags: Sequence[str] = (),
        at_most_more: int = 0,
    ) -> Measured:
        """Let the agent work on a message while the model follows `script`, at once or at a rate.

        After the script, the model gives its last answer again, as often as `at_most_more` says.

        Raises:
            RunFailedError: it did not follow the script to its end, or asked more.
        """
        self._server.begin([*script, *[script[-1]] * at_most_more], events_per_second)
        measured = self.run(*flags, *self.agent.prompt, MESSAGE, sample_memory=sample_memory)
        asked = len(self.requests())
        if not len(script) <= asked <= len(script) + at_most_more:
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


class Absent(NamedTuple):
    """An agent that cannot be measured on this machine, and why."""

    agent: Agent
    reason: str

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name


# Whoever a measurement compares.
Participant: TypeAlias = Runner | Absent


class Bench:
    """All agents on this machine.

    Args:
        folder: a temporary folder for their homes and projects.
        rounds: how often each measurement is repeated, after a warm-up.
        say: told, in a sentence, what is missing and why.
        only: the names of the agents to measure; empty for all.

    Attributes:
        participants: all agents that are compared, those that are not on this machine, too.
        runners: those that are.
        versions: what these say of their version, by name.
    """

    def __init__(
        self, folder: Path, server: ModelProcess, rounds: int, say: Callable[[str], None], only: Collection[str] = ()
    ) -> None:
        self.folder = folder
        self.server = server
        self.rounds = rounds
        self.say = say
        self.versions: dict[str, str] = {}
        self._only = only
        self._reasons: defaultdict[str, list[str]] = defaultdict(list)
        self.participants = self.invite(*AGENTS)
        self.runners = [participant for participant in self.participants if isinstance(participant, Runner)]

    def invite(self, *agents: Agent) -> list[Participant]:
        """Those of the agents that are to be measured, ready to run if they are on this machine."""
        return [self._prepare(agent) for agent in agents if not self._only or agent.name.split()[0] in self._only]

    def _prepare(self, agent: Agent) -> Participant:
        try:
            executable, self.versions[agent.name] = agent.find()
        except NotHereError as error:
            self.say(f"{agent.name} is missing: {error}")
            return Absent(agent, str(error))
        return Runner(agent, executable, self.folder / agent.name, self.server)

    def results(self, measure: Callable[["Bench"], list[Result]]) -> list[Result]:
        """Take a measurement. A figure that an agent did not give comes with the reason."""
        self._reasons.clear()
        return [
            msgspec.structs.replace(
                result,
                missing={
                    name: "; ".join(self._reasons.get(name, ["it gave no figure"]))
                    for name, value in result.values.items()
                    if value is None
                },
            )
            for result in measure(self)
        ]

    def samples(
        self, measure: Callable[[Runner], Mapping[str, float]], participants: Iterable[Participant] | None = None
    ) -> Mapping[str, dict[str, float | None]]:
        """Medians of what `measure` gives, by its keys and the agents' names; None for an agent that failed."""
        taken = self.collect(lambda runner: {key: [value] for key, value in measure(runner).items()}, participants)
        return _MediansByKey(taken)

    def collect(
        self,
        measure: Callable[[Runner], Mapping[str, Sequence[float]]],
        participants: Iterable[Participant] | None = None,
        rounds: int | None = None,
    ) -> Mapping[str, dict[str, list[float]]]:
        """All that `measure` gives, by its keys and the agents' names; nothing for an agent that failed once.

        Agents take turns, so that a slow moment of the machine strikes all of them; the first round is a warm-up and
        not counted, unless `rounds` says how many there are.
        """
        runners: list[Runner] = []
        failed: list[str] = []
        for participant in self.participants if participants is None else participants:
            if isinstance(participant, Runner):
                runners.append(participant)
            else:
                failed.append(participant.name)
                self.note(participant.name, participant.reason)
        taken: defaultdict[str, dict[str, list[float]]] = defaultdict(lambda: {name: [] for name in failed})
        for round_number in range(self.rounds + 1 if rounds is None else rounds):
            for runner in list(runners):
                try:
                    measured = measure(runner)
                except (RunFailedError, NotShownError) as error:
                    self.say(f"{runner.name} gives no figure: {error}")
                    self.note(runner.name, str(error))
                    runners.remove(runner)
                    failed.append(runner.name)
                    continue
                for key, values in measured.items() if round_number or rounds is not None else ():
                    taken[key].setdefault(runner.name, []).extend(values)
        for by_agent in taken.values():
            by_agent.update({name: [] for name in failed})
        return taken

    def note(self, name: str, reason: str) -> None:
        """Remember why an agent gives no figure in this measurement."""
        short = textwrap.shorten(reason.replace("|", " "), _REASON_CHARACTERS)
        if short not in self._reasons[name]:
            self._reasons[name].append(short)


class _MediansByKey(dict[str, dict[str, float | None]]):
    """The medians of what was collected, also for a key that no agent gave."""

    def __init__(self, taken: Mapping[str, dict[str, list[float]]]) -> None:
        super().__init__({key: medians(by_agent) for key, by_agent in taken.items()})
        self._taken = taken

    def __missing__(self, key: str) -> dict[str, float | None]:
        return medians(self._taken[key])


def medians(samples: Mapping[str, Sequence[float]]) -> dict[str, float | None]:
    """The median of each agent's values; None for an agent without values."""
    return {name: statistics.median(values) if values else None for name, values in samples.items()}


def percentile(samples: Mapping[str, Sequence[float]], percent: int) -> dict[str, float | None]:
    """The percentile of each agent's values; None for an agent without values."""
    return {name: _percentile(values, percent) if values else None for name, values in samples.items()}


def _percentile(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]
