"""What a printed turn loads and does, counted: without tools, at once and after a while, and with a call at once."""

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.activity import Activity
from tests.support.budget import Budget
from tests.support.lines_of_code import lines_of_code
from tests.support.model_server import MODEL_ID, ModelServer, call, say
from tests.support.patience import HANG_SECONDS

# Modules of kaa, and their lines without blank ones, comments and docstrings. Each costs start-up time: what is new
# should replace something, or load when it is used.
_BUDGET = Budget.parse(
    """
                         modules  lines
    reply at once            314  28180
    reply after a while      385  35995
    """,
    slack={"lines": 500},
)
_LOADED = """\
import asyncio, sys
if sys.argv[2] == "still":
    asyncio.BaseEventLoop.time = lambda loop: 0.0
from kaa.cli import run
code = run(sys.argv[3:])
files = (module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "kaa")
with open(sys.argv[1], "w") as file:
    print(*files, sep="\\n", file=file)
sys.exit(code)
"""
# Removes what is left of files of the user in /tmp that commands were shown; not everybody has any.
_BY_CHANCE = "workspace/removal.py"
_WAITING_SECONDS = 2.0


class Turn:
    """A run that ends after one reply.

    Args:
        kaa: the project.
        server: gives the reply.
        clock: `still`: the clock of the event loop stands still, so that any reply comes at once. Else it goes.
    """

    def __init__(self, kaa: Kaa, server: ModelServer, clock: Literal["still", "going"]) -> None:
        kaa.use(server, "anthropic-messages")
        self._list = kaa.home.parent / "loaded"
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", _LOADED, str(self._list), clock, "--model", f"test/{MODEL_ID}", "-p", "Work."],
            cwd=kaa.project,
            env=kaa.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )

    def loaded(self) -> list[Path]:
        """Wait for the end; returns the files of kaa's modules, as far as they are always loaded."""
        output, _ = self.process.communicate(timeout=HANG_SECONDS)
        assert (self.process.returncode, output) == (0, b"Done.\n")
        files = map(Path, self._list.read_text().splitlines())
        return [file for file in files if not file.match(_BY_CHANCE)]


@cache
def lines_in(file: Path) -> int:
    """The lines of a module."""
    return lines_of_code(file.read_text("utf-8"))


class Measured(NamedTuple):
    """What the runs did.

    Attributes:
        loaded: the modules of each run.
        wake_ups: in a second in which the reply was waited for.
    """

    loaded: dict[str, list[Path]]
    wake_ups: float


@pytest.fixture(scope="module")
def measured(make_kaa: Callable[[], Kaa]) -> Measured:
    """A run with a reply at once, one with a call that looks, and one that waits for its reply."""
    with ModelServer([say("Done.")]) as server:
        at_once = Turn(make_kaa(), server, "still").loaded()
    with ModelServer([call("read", path="module.py"), say("Done.")]) as server:
        with_call = Turn(make_kaa(), server, "still").loaded()
    with ModelServer([say("Done.")], holds=True) as server:
        turn = Turn(make_kaa(), server, "going")
        activity = Activity(turn.process.pid)
        server.wait_until_stalled()
        activity.wait_until_quiet(0.6)  # what the first call needs is loaded in two parts, the last one after 0.3 s
        wake_ups = activity.wake_ups(_WAITING_SECONDS)
        server.answer_held()
        after_a_while = turn.loaded()
    loaded = {"reply at once": at_once, "reply after a while": after_a_while, "call at once": with_call}
    return Measured(loaded, wake_ups)


def test_a_turn_loads_no_more_than_the_budget_says(measured: Measured) -> None:
    counts = {
        reply: {"modules": len(files), "lines": sum(map(lines_in, files))} for reply, files in measured.loaded.items()
    }

    violations = _BUDGET.violations(counts)

    assert not violations, violations


def test_nothing_wakes_while_the_model_thinks(measured: Measured) -> None:
    assert measured.wake_ups == 0
