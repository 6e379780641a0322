"""A real process, really killed, in the middle of a reply and of a tool."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kaa.session.errors import SessionBusyError
from kaa.session.file_store import FileStore
from tests.support.sessions import opened, texts

# Records for ever and prints each delta after it was recorded, as a frontend would show it.
_PROGRAM = """
import itertools, sys
from pathlib import Path
from kaa.core.events import MessageEnd, MessageUpdate, TextDelta, ToolExecutionUpdate
from kaa.session.context import SessionContext
from kaa.session.file_store import FileStore
from kaa.session.recorder import SessionRecorder
from kaa.session.store import new_header
from tests.support.sessions import prompt, reply, running, streamed

recorder = SessionRecorder(FileStore.create(Path(sys.argv[1]), new_header("/p")), SessionContext())
for event in [*prompt("go"), *(streamed() if sys.argv[2] == "reply" else running("c1"))]:
    recorder.record(event)
for number in itertools.count():
    shown = f"<{number}>"
    if sys.argv[2] == "reply":
        recorder.record(MessageUpdate(TextDelta(0, shown)))
    else:
        recorder.record(ToolExecutionUpdate("c1", "bash", shown))
    print(shown, flush=True)
"""


class Program:
    """The program above, running."""

    def __init__(self, path: Path, scene: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(path), scene],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def shown(self, lines: int) -> str:
        """Wait for so many lines."""
        assert self._process.stdout is not None
        return "".join(self._process.stdout.readline().strip() for _ in range(lines))

    def kill(self) -> str:
        """Kill it and give what it had still shown."""
        self._process.send_signal(signal.SIGKILL)
        rest, _ = self._process.communicate()
        return "".join(line.strip() for line in rest.splitlines(keepends=True) if line.endswith("\n"))


@pytest.mark.parametrize("scene", ["reply", "tool"])
def test_nothing_that_was_shown_is_lost_by_a_kill(tmp_path: Path, scene: str) -> None:
    path = tmp_path / "s.jsonl"
    program = Program(path, scene)

    shown = program.shown(300)
    shown += program.kill()

    with opened(path) as store:
        assert texts(store)[0] == "go"
        assert texts(store)[-1].startswith(shown)
    with opened(path) as store:
        assert len(texts(store)) == (2 if scene == "reply" else 3)


def test_a_session_is_busy_while_its_process_lives_and_free_when_it_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    program = Program(path, "reply")
    program.shown(1)

    with pytest.raises(SessionBusyError) as refused:
        FileStore.open(path)
    program.kill()

    assert refused.value.pid in (program.pid, None)
    with opened(path) as store:
        assert texts(store)[0] == "go"
