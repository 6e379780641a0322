"""A client of rpc mode: sends commands to a real kaa and waits for what comes back."""

import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec

from tests.end_to_end.kaa_process import Kaa
from tests.support.patience import HANG_SECONDS
from tests.support.warm_start import COMMAND, KaaProcess

Line: TypeAlias = dict[str, Any]  # any: JSON of every shape


class RpcClient:
    """Talks with a process.

    Attributes:
        seen: all that came, in order.
    """

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.seen: list[Line] = []
        self._arriving: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self._number = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._arriving.put(msgspec.json.decode(line))
        self._arriving.put(None)

    def join(self) -> None:
        """Wait until all output of a process that has ended is read."""
        self._reader.join(HANG_SECONDS)

    def send(self, message: Line) -> None:
        """Send a line."""
        self.send_bytes(msgspec.json.encode(message) + b"\n")

    def send_bytes(self, data: bytes) -> None:
        """Send anything."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def ask(self, kind: str, /, **arguments: Any) -> Line:
        """Send a command and wait for its response."""
        self._number += 1
        name = f"r{self._number}"
        self.send({"id": name, "type": kind, **arguments})
        return self.wait(lambda line: line.get("type") == "response" and line.get("id") == name)

    def data(self, kind: str, /, **arguments: Any) -> Any:
        """The data of a command that succeeds."""
        response = self.ask(kind, **arguments)
        assert response["success"], response
        return response.get("data")

    def error(self, kind: str, /, **arguments: Any) -> str:
        """The error of a command that fails."""
        response = self.ask(kind, **arguments)
        assert not response["success"], response
        error: str = response["error"]
        return error

    def event(self, kind: str) -> Line:
        """The next event of this kind."""
        return self.wait(lambda line: line.get("type") == kind)

    def wait(self, wanted: Callable[[Line], bool]) -> Line:
        """The next line that is wanted; the others are kept in `seen`."""
        while (line := self._arriving.get(timeout=HANG_SECONDS)) is not None:
            self.seen.append(line)
            if wanted(line):
                return line
        raise AssertionError(f"kaa ended; it had said: {self.seen[-5:]}")

    def prompt(self, message: str) -> Line:
        """Send a message and wait until all is done. Returns the end of the run."""
        assert self.data("prompt", message=message) == {"disposition": "started"}
        end = self.event("agent_end")
        self.event("agent_settled")
        return end

    def end(self) -> tuple[int, str]:
        """Close the input and read to the end; the exit code and stderr."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        err = self.process.stderr.read().decode()
        while (line := self._arriving.get(timeout=HANG_SECONDS)) is not None:
            self.seen.append(line)
        return self.process.wait(HANG_SECONDS), err


@contextmanager
def rpc(kaa: Kaa, *arguments: str) -> Iterator[RpcClient]:
    """A client of a kaa that is gone at the end."""
    process: KaaProcess[bytes] = KaaProcess(
        [COMMAND, "--mode", "rpc", *arguments],
        cwd=kaa.project,
        env=kaa.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        client = RpcClient(process)
        try:
            yield client
        finally:
            process.kill()
            client.join()
