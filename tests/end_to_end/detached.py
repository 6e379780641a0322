"""Conversations without a terminal, for tests: started, and gone at the end."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kaa.frontends.live.wire import socket_name
from kaa.host.private_sockets import PrivateSockets
from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import call
from tests.support.patience import HANG_SECONDS
from tests.support.processes import Processes

# A call that ends when the project has a file of this name.
WAIT = call("bash", command="until [ -e go ]; do sleep 0.02; done")


class Detached(msgspec.Struct, frozen=True):
    """One that was started, as `kaa agents start --json` says."""

    id: str
    pid: int
    session: Path

    @property
    def short(self) -> str:
        """What people call it."""
        return self.id[-8:]

    @property
    def text(self) -> str:
        """Its session's file."""
        return self.session.read_text("utf-8")

    @property
    def is_there(self) -> bool:
        """Whether the process runs."""
        return Processes.alive(self.pid)

    def kill(self) -> None:
        """Kill the process, and wait until it and all that it started are gone."""
        if self.is_there:
            started = Processes().descendants(self.pid)
            os.kill(self.pid, signal.SIGKILL)
            Processes().wait_until_gone(self.pid, *started)

    def wait_for_end(self) -> None:
        """Wait until the process is gone."""
        Processes().wait_until_gone(self.pid)

    def socket(self, kaa: Kaa) -> Path:
        """The file of its socket."""
        return kaa.home / "run" / f"{socket_name(self.session)}.sock"


@contextmanager
def started(kaa: Kaa, *arguments: str) -> Iterator[Detached]:
    """Start one, and make sure that it is gone at the end."""
    done = kaa.run("agents", "start", "--json", *arguments)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    one = Detached(told["id"], told["pid"], Path(told["session"]))
    try:
        yield one
    finally:
        one.kill()


def sockets(kaa: Kaa) -> PrivateSockets:
    """Those of a home."""
    return PrivateSockets(kaa.home / "run")


def wait_until(happened: Callable[[], object]) -> None:
    """Wait for a condition.

    Raises:
        AssertionError: it does not come.
    """
    deadline = time.monotonic() + HANG_SECONDS
    while not happened():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.01)
