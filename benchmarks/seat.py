"""A person in front of an agent's terminal who types and looks, with a stop watch.

What the person sees is an emulated screen (`tests/support/screen.py`). A key counts as shown when a screen with it is
complete: at the end of a synchronized frame if the agent uses those.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.process_tree import tree_cpu, tree_pss
from tests.support.program import NotShownError, Program, Wanted
from tests.support.screen import Screen

# Typed first, so that the key that follows is seen to be ours: no word and no command anywhere.
MARK = "zqj"
_KEY = "x"

# Far beyond what anybody would wait for.
_PATIENCE_SECONDS = 90.0

# Some agents take keys that follow quickly for a paste, and Enter then for a line feed.
_BEFORE_ENTER_SECONDS = 0.4


class Seat:
    """An agent in a terminal, from its start on.

    Args:
        argv: its command.
        environ: its environment.
        cwd: where it runs.
        screen: the terminal.
        ready: the pattern of a screen with an input box.
    """

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], cwd: Path, screen: Screen, ready: str) -> None:
        self._ready = re.compile(ready, re.MULTILINE)
        self._started = time.perf_counter()
        self.program = Program.start(argv, env=environ, cwd=cwd, screen=screen)
        self.screen = screen

    def __enter__(self) -> "Seat":
        return self

    def __exit__(self, *_error: object) -> None:
        self.program.close()

    @property
    def milliseconds(self) -> float:
        """Since its start."""
        return (time.perf_counter() - self._started) * 1000

    def wait_for(self, wanted: Wanted, seconds: float = _PATIENCE_SECONDS) -> float:
        """Wait for something to show; milliseconds since the start."""
        self.program.wait_for(wanted, seconds)
        return self.milliseconds

    def wait_for_box(self) -> float:
        """Wait for the input box; milliseconds since the start."""
        return self.wait_for(self._ready)

    def look(self, seconds: float) -> None:
        """Look on for so long."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.program.pump(left)

    def type_until_shown(self, text: str = MARK, seconds: float = _PATIENCE_SECONDS) -> float:
        """Type a text and wait for it; milliseconds since the start.

        An agent may throw away what was typed before it reads keys, so the first ones are typed again and again.
        """
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            self.program.type(text)
            try:
                return self.wait_for(text, 0.5)
            except NotShownError:
                continue
        raise NotShownError(f"what was typed does not appear:\n{self.program.picture()}")

    def echoes(self, count: int, pause_seconds: float, until: Callable[[Screen], bool] | None = None) -> list[float]:
        """Type a key, see it, take it back, see it gone, and so on behind the mark; milliseconds of each.

        Args:
            count: how many keys at most.
            pause_seconds: from one key to the next.
            until: ends it early.
        """
        taken: list[float] = []
        while len(taken) < count and not (until is not None and until(self.screen)):
            is_there = len(taken) % 2 == 1
            sent = time.perf_counter()
            self.program.press("backspace" if is_there else _KEY)
            self.program.wait_for(_without_key if is_there else MARK + _KEY, _PATIENCE_SECONDS)
            taken.append((time.perf_counter() - sent) * 1000)
            self.look(pause_seconds - taken[-1] / 1000)
        return taken

    def type_steadily(self, count: int, pause_seconds: float) -> list[float]:
        """Type without waiting to see it; milliseconds from each key to the screen that shows it.

        Keys that never appear count as the whole time that was waited for them.
        """
        keys = "".join("zqxjkvwy"[number * 5 % 8] for number in range(count))
        sent: list[float] = []
        seen: list[float] = []
        start = time.perf_counter()
        while len(seen) < count and time.perf_counter() - start < _PATIENCE_SECONDS:
            now = time.perf_counter()
            if len(sent) < count and now >= start + len(sent) * pause_seconds:
                self.program.type(keys[len(sent)])
                sent.append(now)
            next_key = start + len(sent) * pause_seconds if len(sent) < count else now + 0.02
            if self.program.pump(max(0.0, next_key - time.perf_counter())):
                now = time.perf_counter()
                text = self.screen.text()
                while len(seen) < len(sent) and keys[: len(seen) + 1] in text:
                    seen.append((now - sent[len(seen)]) * 1000)
        waited = [(time.perf_counter() - moment) * 1000 for moment in sent[len(seen) :]]
        return seen + waited

    def ask(self, text: str) -> None:
        """Send a message to the model."""
        self.program.type(text)
        self.wait_for(text)
        self.look(_BEFORE_ENTER_SECONDS)
        self.program.press("enter")

    @property
    def cpu_seconds(self) -> float:
        """User and system time so far, of all its processes."""
        return tree_cpu(self.program.pid)

    @property
    def megabytes(self) -> float:
        """Memory (PSS) now, of all its processes."""
        return tree_pss(self.program.pid) / 1e6


def _without_key(screen: Screen) -> bool:
    text = screen.text()
    return MARK in text and MARK + _KEY not in text
