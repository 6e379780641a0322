"""A run of the whole program that ends after one reply, and which modules of kaa it loaded."""

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Literal

from tests.end_to_end.kaa_process import Kaa
from tests.support.activity import Activity
from tests.support.lines_of_code import lines_of_code
from tests.support.model_script import ScriptItem
from tests.support.model_server import MODEL_ID, ModelServer, say
from tests.support.patience import HANG_SECONDS

_WAITING_SECONDS = 2.0
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


def reply_at_once(kaa: Kaa, *first: ScriptItem) -> list[Path]:
    """Return what a turn loads whose replies come at once: those given, and a last one without calls."""
    with ModelServer([*first, say("Done.")]) as server:
        return Turn(kaa, server, "still").loaded()


def reply_after_a_while(kaa: Kaa) -> tuple[list[Path], float]:
    """Return what a turn loads whose reply is waited for, and its wake-ups in a second of waiting."""
    with ModelServer([say("Done.")], holds=True) as server:
        turn = Turn(kaa, server, "going")
        activity = Activity(turn.process.pid)
        server.wait_until_stalled()
        activity.wait_until_quiet(0.6)  # what the first call needs is loaded in two parts, the last one after 0.3 s
        wake_ups = activity.wake_ups(_WAITING_SECONDS)
        server.answer_held()
        return turn.loaded(), wake_ups
