"""What agents cost that work for another agent: each one that waits for its model, and each one that works.

A figure for one agent is the slope from one child to several, so that what the first one loads does not count.
"""

import itertools
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from benchmarks.agents import AGENTS, CLAUDE, Agent
from benchmarks.bench import Bench, Result, Runner, medians
from benchmarks.process_tree import RunFailedError, run, tree_cpu, tree_pss
from tests.end_to_end.kaa_process import conversation
from tests.support.model_plan import Plan, plan
from tests.support.model_script import Answer, Call, Fault, say
from tests.support.model_server import ModelServer, Received

_ROUNDS = 3
_CHILDREN = 5
_TURNS = 10
_TASK = "Do the work of a child."
_SETTLE_SECONDS = 3.0
_WATCH_SECONDS = 5.0
_PATIENCE_SECONDS = 120.0
_PATHS = ("/v1/messages", "/v1/responses", "/v1/chat/completions")


class _Spawner(msgspec.Struct, frozen=True):
    """How an agent starts children.

    Attributes:
        agent: the agent.
        spawn: the call that starts one.
        wait: makes the call that waits for children, of their ids; None if the call that starts one waits for it.
    """

    agent: Agent
    spawn: Call
    wait: Callable[[Sequence[str]], Call] | None = None


def _wait_in_codex(ids: Sequence[str]) -> Call:
    return Call("wait_agent", json.dumps({"targets": ids, "timeout_ms": 600_000}), namespace="multi_agent_v1")


_BY_NAME = {agent.name: agent for agent in AGENTS}
_KINDS = (
    _Spawner(_BY_NAME["kaa"], Call("agent", json.dumps({"agent": "general", "task": _TASK}))),
    _Spawner(
        _BY_NAME["codex"],
        Call("spawn_agent", json.dumps({"message": _TASK}), namespace="multi_agent_v1"),
        _wait_in_codex,
    ),
    _Spawner(
        CLAUDE,
        Call(
            "Agent",
            json.dumps(
                {
                    "description": "A child",
                    "prompt": _TASK,
                    "subagent_type": "general-purpose",
                    "run_in_background": False,
                }
            ),
        ),
    ),
)


_SPAWNERS = {spawner.agent.name: spawner for spawner in _KINDS}


class _Server(ModelServer):
    """A model that has an agent start children, which wait for it or work.

    Args:
        spawner: the agent.
        children: how many.
        turns: how often each child runs a command; None: it waits for its first reply.
    """

    def __init__(self, spawner: _Spawner, children: int, turns: int | None) -> None:
        super().__init__()
        self._spawner = spawner
        self._children = children
        self._turns = turns
        self._begun = False
        self.waiting = 0
        self.ended = 0

    def answer(self, request: Received) -> Plan:
        """See `ModelServer`."""
        if request.method != "POST" or urlsplit(request.path).path not in _PATHS:
            return super().answer(request)
        self.requests.append(request)
        said = conversation(request)
        is_child = any(role == "user" and _TASK in text for role, text in said)
        answer = self._of_child(said) if is_child else self._of_parent(said)
        return plan(answer, self._spawner.agent.wire, len(self.requests))

    def _of_child(self, said: Sequence[tuple[str, str]]) -> Answer:
        if self._turns is None:
            self.waiting += 1
            return Answer(("I begin.",), fault=Fault("stall"))
        done = sum(role == "tool" for role, _ in said)
        if done < self._turns:
            return Answer(calls=(self._spawner.agent.commands(self._turns)[done],))
        self.ended += 1
        return say("I did it.")

    def _of_parent(self, said: Sequence[tuple[str, str]]) -> Answer:
        if not self._begun:
            self._begun = True
            return Answer(calls=(self._spawner.spawn,) * self._children)
        results = [text for role, text in said if role == "tool"]
        if self._spawner.wait is None or self.ended == self._children:
            return say("Done.")
        started = [json.loads(text)["agent_id"] for text in results if text.startswith('{"agent_id"')]
        done = "".join(text for text in results if '"completed"' in text)
        return Answer(calls=(self._spawner.wait([one for one in started if one not in done]),))


_MEASURES = {
    "with one child that waits, memory (PSS)": "MB",
    "another child that waits, memory (PSS)": "MB",
    "another child that waits, CPU per second": "ms",
    "another child that works, peak of memory (PSS)": "MB",
    "another child that works, CPU per turn with a command": "ms",
}


def measure(bench: Bench) -> list[Result]:
    """See the module."""
    participants = [one for one in (*bench.participants, *bench.invite(CLAUDE)) if one.name in _SPAWNERS]
    numbers = itertools.count()

    def take(runner: Runner) -> Mapping[str, Sequence[float]]:
        folder = bench.folder / "child-agents" / f"{runner.name}-{next(numbers)}"
        values = _round(_SPAWNERS[runner.name], runner.executable, folder)
        return {name: [value] for name, value in zip(_MEASURES, values, strict=True)}

    taken = bench.collect(take, participants, rounds=_ROUNDS)
    return [Result(name, unit, medians(taken[name])) for name, unit in _MEASURES.items()]


def _round(spawner: _Spawner, executable: str, folder: Path) -> Sequence[float]:
    """One value of each measure."""
    (one, one_cpu), (all_, all_cpu) = (
        _waiting(spawner, executable, folder / f"waiting-{count}", count) for count in (1, _CHILDREN)
    )
    peaks = [_working(spawner, executable, folder / f"memory-{count}", count, memory=True) for count in (1, _CHILDREN)]
    spent = [_working(spawner, executable, folder / f"cpu-{count}", count, memory=False) for count in (1, _CHILDREN)]
    more = _CHILDREN - 1
    return (
        one / 1e6,
        (all_ - one) / 1e6 / more,
        (all_cpu - one_cpu) * 1000 / more,
        (peaks[1] - peaks[0]) / 1e6 / more,
        (spent[1] - spent[0]) * 1000 / more / _TURNS,
    )


def _waiting(spawner: _Spawner, executable: str, folder: Path, children: int) -> tuple[float, float]:
    """Bytes of memory, and seconds of CPU per second, of an agent whose children wait for their model."""
    server = _Server(spawner, children, None)
    with server:
        command, cwd, environ = _prepared(spawner, executable, server, folder)
        with subprocess.Popen(
            command,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                deadline = time.monotonic() + _PATIENCE_SECONDS
                while server.waiting < children:
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RunFailedError(f"{spawner.agent.name} started {server.waiting} of {children} children")
                    time.sleep(0.05)
                time.sleep(_SETTLE_SECONDS)
                before, began = tree_cpu(process.pid), time.monotonic()
                time.sleep(_WATCH_SECONDS)
                cpu = (tree_cpu(process.pid) - before) / (time.monotonic() - began)
                return tree_pss(process.pid), cpu
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def _working(spawner: _Spawner, executable: str, folder: Path, children: int, *, memory: bool) -> float:
    """The peak of memory in bytes, or the CPU time in seconds, of a whole run whose children work."""
    server = _Server(spawner, children, _TURNS)
    with server:
        command, cwd, environ = _prepared(spawner, executable, server, folder)
        measured = run(command, cwd=cwd, env=environ, sample_memory=memory)
        if server.ended < children:
            raise RunFailedError(f"{spawner.agent.name} ended {server.ended} of {children} children")
    return measured.pss if memory else measured.cpu


def _prepared(
    spawner: _Spawner, executable: str, server: ModelServer, folder: Path
) -> tuple[list[str], Path, dict[str, str]]:
    """The command, its directory and its environment."""
    project, home = folder / "project", folder / "home"
    project.mkdir(parents=True)
    home.mkdir()
    environ = spawner.agent.prepare(executable, home, server.url)
    return [executable, *spawner.agent.prompt, "Have children work."], project, environ
