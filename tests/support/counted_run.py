"""One `kaa -p`, and what it costs from one request of the model to the next: processes, messages, flushes, bytes.

Each reply is held until kaa has come to rest: what it does behind a call counts for this call, on the slowest machine.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tests.end_to_end.kaa_process import Kaa
from tests.support import counted_process
from tests.support.activity import Activity
from tests.support.model_server import ModelServer
from tests.support.patience import HANG_SECONDS

# What the log names, and which column it is counted in.
_COLUMNS = {"program": "programs", "message": "messages", "flush": "flushes", "hook": "hooks", "context": "contexts"}
# Hooks that take half a second are announced.
_TIMED_EVENTS = ("WorkStart", "WorkEnd")
_PREPARED_SECONDS = 0.6
_SESSIONS = "sessions"
_PLACES = {_SESSIONS: "session bytes", "checkpoints": "checkpoint bytes"}


class Work(NamedTuple):
    """What kaa did.

    Attributes:
        counts: how often it did what, which is always the same.
        timed: what depends on how fast it was.
        details: both, more exactly.
    """

    counts: Counter[str]
    timed: Counter[str]
    details: Counter[str]


class CountedRun:
    """A process of kaa that works on one message. `server` holds its answers.

    Attributes:
        activity: of the process and all that it started.
    """

    def __init__(self, kaa: Kaa, server: ModelServer, *arguments: str) -> None:
        self._folder = kaa.home.parent
        self._project = kaa.project
        self._server = server
        self._log = self._folder / "log"
        self._log.touch()
        self._read = 0
        self._files = self._kept_files()
        self._output = (self._folder / "output").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-I", counted_process.__file__, "brain", str(self._log), *arguments],
            cwd=kaa.project,
            env=kaa.environ,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
        )
        self.activity = Activity(self._process.pid)
        self._is_first = True

    def __enter__(self) -> "CountedRun":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        if error is not None:
            self._output.seek(0)
            error.add_note(f"kaa wrote:\n{self._output.read()}")
        self._output.close()

    def work_until_next_request(self) -> Work:
        """Wait for the next request and until kaa rests; returns what it did since it was called last."""
        self._server.wait_until_stalled()
        if self._is_first:  # what the first call needs is loaded in two parts, the last one after 0.3 s
            self.activity.wait_until_quiet(_PREPARED_SECONDS)
            self._is_first = False
        self.activity.wait_until_quiet()
        return self._work()

    def end(self) -> int:
        """Wait for the end; returns the exit code."""
        return self._process.wait(HANG_SECONDS)

    def _work(self) -> Work:
        work = Work(Counter(), Counter(), Counter())
        with self._log.open() as log:
            log.seek(self._read)
            for line in log:
                what, _, exactly = line.rstrip("\n").partition("\t")
                match what, exactly:
                    case "flush", path if _SESSIONS in Path(path).parts:
                        work.timed["session flushes"] += 1
                    case "message", "stop":
                        work.timed["stops"] += 1
                    case "message", "slot":
                        work.timed["slots"] += 1
                    case "hook" | "context", name if name.endswith(_TIMED_EVENTS):
                        work.timed[_COLUMNS[what]] += 1
                    case _:
                        work.counts[_COLUMNS[what]] += 1
                work.details[f"{what} {exactly.rpartition('/')[2]}"] += 1
            self._read = log.tell()
        before, self._files = self._files, self._kept_files()
        for file, state in self._files.items():
            if written := state.written_since(before.get(file)):
                folders = file.relative_to(self._folder).parts
                place = next((column for folder, column in _PLACES.items() if folder in folders), "other bytes")
                work.counts[place] += written
                work.details[f"{place} in {file.suffix or file.name}"] += written
                if _SESSIONS in folders:
                    work.counts["entries"] += file.read_bytes()[-written:].count(b"\n")
        return work

    def _kept_files(self) -> "dict[Path, _FileState]":
        """What kaa has written outside the project."""
        folders = (path for path in self._folder.iterdir() if path.is_dir() and path != self._project)
        files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
        return {path: _FileState.of(path) for path in files}


class _FileState(NamedTuple):
    inode: int
    size: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> "_FileState":
        status = path.lstat()
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)

    def written_since(self, before: "_FileState | None") -> int:
        """How many bytes were written: what was appended, or else all of it."""
        if self == before:
            return 0
        if before is not None and self.inode == before.inode and self.size > before.size:
            return self.size - before.size
        return self.size
