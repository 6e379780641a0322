"""Real processes, really killed: in the middle of a reply, of a tool, of any write; and several at one session."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kaa.session.entries import MessageEntry
from kaa.session.errors import NotASessionError, SessionBusyError
from kaa.session.file.file_store import FileStore
from kaa.session.store import new_header
from tests.support.agents import say
from tests.support.sessions import opened, texts

# Records for ever and prints each delta after it was recorded, as a frontend would show it.
_PROGRAM = """
import itertools, sys
from pathlib import Path
from kaa.core.events import MessageEnd, MessageUpdate, TextDelta, ToolExecutionUpdate
from kaa.session.context import SessionContext
from kaa.session.file.file_store import FileStore
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
            cwd=Path(__file__).parents[3],
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


_SAID = ("one", "zwei ü", "三", "four")

# For each of these sizes that the file may reach, forks a process that says the above and is killed by the kernel with
# the first byte beyond. Prints how much of it each had been told is written.
_KILLED_AT_SIZES = """
import json, os, resource, signal, sys
from pathlib import Path
from kaa.session.entries import MessageEntry
from kaa.session.file.file_store import FileStore
from kaa.session.store import new_header
from tests.support.agents import say

folder, said = Path(sys.argv[1]), json.loads(sys.argv[2])

def speak(path, told):
    store = FileStore.create(path, new_header("/p"))
    for text in said:
        store.append(MessageEntry(message=say(text)))
        os.write(told, b".")

for size in json.loads(sys.argv[3]):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        speak(folder / f"{size}.jsonl", writer)
        os._exit(0)
    os.close(writer)
    status = os.waitpid(child, 0)[1]
    print(os.WTERMSIG(status), len(os.read(reader, 100)))
    os.close(reader)
"""


def test_a_process_killed_at_any_byte_of_any_write_loses_nothing_that_it_was_told_is_written(tmp_path: Path) -> None:
    whole = _said(tmp_path / "whole.jsonl")
    sizes = _telling_sizes(whole)
    arguments = [str(tmp_path), json.dumps(_SAID), json.dumps(sizes)]

    done = subprocess.run(
        [sys.executable, "-c", _KILLED_AT_SIZES, *arguments],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )

    outcomes = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert {signal_number for signal_number, _ in outcomes} == {signal.SIGXFSZ}
    assert {told for _, told in outcomes} == {0, 1, 2, 3}  # it was killed in every one of the writes
    header_length = whole.index(b"\n")
    for size, (_, told) in zip(sizes, outcomes, strict=True):
        path = tmp_path / f"{size}.jsonl"
        left = path.read_bytes()
        assert len(left) == size
        if size < header_length:
            with pytest.raises(NotASessionError):
                FileStore.open(path)
            assert path.read_bytes() == left
            continue
        with _held(path) as store:
            kept = texts(store)
            store.append(MessageEntry(message=say("more")))
        with _held(path) as again:
            assert texts(again) == [*kept, "more"]
        assert kept == list(_SAID[: len(kept)])
        assert len(kept) >= told
        assert path.read_bytes().startswith(left)


def _telling_sizes(whole: bytes) -> list[int]:
    """Return sizes near the ends of lines and in characters of several bytes, and each seventh of the others."""
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    return [
        size
        for size in range(len(whole))
        if size % 7 == 0 or size < 10 or whole[size] >= 0x80 or any(abs(size - end) < 10 for end in ends)
    ]


@contextmanager
def _held(path: Path) -> Iterator[FileStore]:
    """The session, without waiting for the disk: there are hundreds."""
    store = FileStore.open(path)
    try:
        yield store
    finally:
        store.release()


def _said(path: Path) -> bytes:
    """What the program above writes when nobody kills it."""
    store = FileStore.create(path, new_header("/p"))
    for text in _SAID:
        store.append(MessageEntry(message=say(text)))
    store.release()
    return path.read_bytes()


_TAKES_TURNS = """
import sys, time
from pathlib import Path
from kaa.session.entries import MessageEntry
from kaa.session.errors import SessionBusyError
from kaa.session.file.file_store import FileStore
from tests.support.agents import say

said = 0
while said < int(sys.argv[3]):
    try:
        store = FileStore.open(Path(sys.argv[1]))
    except SessionBusyError:
        time.sleep(0.0005)
        continue
    store.append(MessageEntry(message=say(f"{sys.argv[2]}{said}")))
    store.release()
    said += 1
"""


def test_processes_that_take_turns_at_a_session_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path, turns = tmp_path / "s.jsonl", 80
    _said(path)

    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _TAKES_TURNS, str(path), name, str(turns)],
            cwd=Path(__file__).parents[3],
        )
        for name in "abc"
    ]
    for process in processes:
        process.wait()

    assert [process.returncode for process in processes] == [0, 0, 0]
    with opened(path) as store:
        said = texts(store)
    assert said[: len(_SAID)] == list(_SAID)
    for name in "abc":
        assert [text for text in said if text.startswith(name)] == [f"{name}{turn}" for turn in range(turns)]
    assert len(said) == len(_SAID) + 3 * turns
