"""Starts a process without a terminal for a conversation (`detached.py`), and waits until it listens."""

import argparse
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from kaa.core.budget import BudgetScope, Measure
from kaa.core.provider import ThinkingLevel
from kaa.frontends.delivery import deliver, while_delivered
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.json_text import json_line
from kaa.frontends.live.errors import LiveError
from kaa.tui.sanitize import sanitize

DETACHED = ("agents", "detached")
"""The words with which the process is started."""


class Started(msgspec.Struct, frozen=True):
    """What the process says of itself."""

    id: str
    pid: int
    session: str


class Limit(msgspec.Struct, frozen=True):
    """What is left of a budget."""

    scope: BudgetScope
    measure: Measure
    amount: float


class HandedOver(msgspec.Struct, frozen=True):
    """A conversation that a terminal leaves while something is under way.

    Attributes:
        model: as `--model` takes it.
        limits: what its run and the session may still use.
        note: tells the model what happened; empty if nothing of its was under way.
        messages: slash commands of the person. The messages that waited for the model are beside the session.
    """

    session: str
    model: str
    thinking: ThinkingLevel
    limits: tuple[Limit, ...]
    note: str
    messages: tuple[str, ...]


class Orders(msgspec.Struct, frozen=True):
    """What the process gets on stdin, where no other program sees it.

    Attributes:
        arguments: of `kaa` or of `kaa agents start`.
        handed_over: the conversation that goes on; None begins one.
    """

    arguments: tuple[str, ...]
    handed_over: HandedOver | None = None

    def apply(self, parsed: argparse.Namespace) -> None:
        """Have the arguments mean the conversation that goes on."""
        parsed.handed_over = handed = self.handed_over
        if handed is None:
            return
        parsed.messages, parsed.session, parsed.model, parsed.thinking = (
            [],
            handed.session,
            handed.model,
            handed.thinking,
        )
        parsed.provider = parsed.name = parsed.fork = parsed.session_id = parsed.view = parsed.worktree = None
        parsed.continue_last = parsed.resume = False


def main(parsed: argparse.Namespace, arguments: Sequence[str], directory: str) -> int:
    """Run `kaa agents start`. Returns the exit code."""
    return while_delivered(lambda: _main(parsed, arguments, directory))


def _main(parsed: argparse.Namespace, arguments: Sequence[str], directory: str) -> int:
    unfit = {"-p": parsed.print, "--mode": parsed.mode != "text", "-r": parsed.resume, "--view": parsed.view}
    unfit |= {"--no-session": parsed.no_session, "--export": parsed.export, "--list-models": parsed.list_models}
    problem = next((f"{option} is not for kaa agents start" for option, given in unfit.items() if given), "")
    if not problem and not parsed.messages:
        problem = 'kaa agents start takes a task: kaa agents start "fix the failing test"'
    if problem:
        deliver(sys.stderr, f"kaa: {problem}\n")
        return ExitCode.USAGE
    try:
        started = start(Orders(tuple(arguments)), directory)
    except (LiveError, OSError) as error:
        deliver(sys.stderr, f"kaa: {sanitize(str(error))}\n")
        return ExitCode.FAILED
    short = started.id[-8:]
    told = f"Started {short}, process {started.pid}. To follow it:  kaa agents attach {short}\n"
    deliver(sys.stdout, json_line(started) if parsed.json else told)
    return ExitCode.DONE


def start(orders: Orders, directory: str) -> Started:
    """Start it, and wait until it listens.

    Raises:
        LiveError: it cannot be started; the message says why.
    """
    process = subprocess.Popen(
        [sys.executable, "-E", "-P", "-m", "kaa", *DETACHED],  # as bin/kaa starts it
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=directory,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with process.stdin, process.stdout:
            process.stdin.write(msgspec.json.encode(orders))
            process.stdin.close()
            problem = b""
            for line in process.stdout:
                try:
                    return msgspec.json.decode(line, type=Started)
                except msgspec.DecodeError:
                    problem += line
    except BaseException:
        process.kill()
        raise
    code = process.wait()
    text = problem.decode("utf-8", "replace").strip().removeprefix("kaa: ")
    raise LiveError(text or f"the process ended with the exit code {code}")


def given_orders() -> Orders:
    """In that process: what `start` was given."""
    return msgspec.json.decode(sys.stdin.buffer.read(), type=Orders)
