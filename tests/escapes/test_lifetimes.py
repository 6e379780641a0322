"""Nothing that a command started outlives it, its timeout, its cancelling or the workspace, unless that is wanted."""

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest
from tests.escapes.world.arena import Arena, arena
from tests.escapes.world.people import Person
from tests.support.patience import HANG_SECONDS

_DAEMONS = 5
# Daemons as they come: forked twice, in sessions of their own, deaf to signals, holding the output open.
_SCRIPT = """
import os, signal, sys, time
for number in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        open(f"started-{number}", "w").close()
        time.sleep(1000)
while not all(os.path.exists(f"started-{number}") for number in range(int(sys.argv[1]))):
    time.sleep(0.01)
print("started", flush=True)
time.sleep(float(sys.argv[2]))
"""


# Plants what direnv executes, again and again, until it is killed. Its name tells where it is to be found in /proc.
_PLANTER = """
import os, signal, sys
for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(each, signal.SIG_IGN)
open("started-0", "w").close()
while True:
    try:
        os.close(os.open(".envrc", os.O_CREAT | os.O_EXCL))
    except OSError:
        pass
"""


@pytest.fixture
def place() -> Iterator[Arena]:
    with arena(Person("whoever runs the tests", -1)) as made:
        (made.project / "daemons.py").write_text(_SCRIPT)
        yield made


class _Daemons:
    """A command that leaves daemons, and sees whether they live."""

    def __init__(self) -> None:
        self.mark = f"kaa-daemon-{secrets.token_hex(8)}"

    def command(self, *, stays: float, timeout: float | None = None) -> CommandRequest:
        argv = [sys.executable, "-I", "-S", "daemons.py", str(_DAEMONS), str(stays), self.mark]
        return CommandRequest(argv, timeout=timeout)

    def alive(self) -> int:
        count = 0
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                count += self.mark.encode() in path.read_bytes()
        return count

    async def are_started(self, place: Arena) -> None:
        await asyncio.to_thread(self.are_there, place, _DAEMONS)

    def are_there(self, place: Arena, count: int) -> None:
        deadline = time.monotonic() + HANG_SECONDS
        while len(list(place.project.glob("started-*"))) < count:
            assert time.monotonic() < deadline, "the daemons did not start"
            time.sleep(0.01)

    def are_gone(self) -> bool:
        deadline = time.monotonic() + HANG_SECONDS
        while self.alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.alive() == 0


@contextlib.asynccontextmanager
async def _workspace(place: Arena) -> AsyncIterator[LocalWorkspace]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(place.home), "LANG": "C.UTF-8"}
    workspace = LocalWorkspace.start(str(place.project), env=environment)
    try:
        yield workspace
    finally:
        await workspace.close()


def test_the_end_of_a_command_ends_its_daemons(place: Arena) -> None:
    daemons = _Daemons()

    async def scene() -> tuple[int, int]:
        async with _workspace(place) as workspace:
            result = await workspace.run(daemons.command(stays=0))
            return result.leftovers, daemons.alive()

    leftovers, alive = asyncio.run(scene())

    assert leftovers > 0
    assert alive == 0


def test_a_timeout_ends_them(place: Arena) -> None:
    daemons = _Daemons()

    async def scene() -> bool:
        async with _workspace(place) as workspace:
            result = await workspace.run(daemons.command(stays=1000, timeout=1.0))
            return result.timed_out

    assert asyncio.run(scene())
    assert daemons.are_gone()


def test_cancelling_ends_them(place: Arena) -> None:
    daemons = _Daemons()

    async def scene() -> None:
        async with _workspace(place) as workspace:
            running = asyncio.create_task(workspace.run(daemons.command(stays=1000)))
            await daemons.are_started(place)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert daemons.are_gone()

    asyncio.run(scene())


def test_closing_ends_what_runs_in_the_background(place: Arena) -> None:
    daemons = _Daemons()

    async def scene() -> int:
        async with _workspace(place) as workspace:
            await workspace.run_in_background(daemons.command(stays=1000))
            await daemons.are_started(place)
            return daemons.alive()

    assert asyncio.run(scene()) > 0
    assert daemons.are_gone()


def test_stopping_ends_what_runs_in_the_background(place: Arena) -> None:
    daemons = _Daemons()

    async def scene() -> None:
        async with _workspace(place) as workspace:
            process = await workspace.run_in_background(daemons.command(stays=1000))
            await daemons.are_started(place)
            await workspace.processes.stop(process.id)
            assert daemons.are_gone()

    asyncio.run(scene())


def test_a_server_in_the_background_is_reached_by_later_commands(place: Arena) -> None:
    serve = [sys.executable, "-u", "-m", "http.server", "8321", "--bind", "127.0.0.1"]
    fetch = (
        "import time, urllib.request\n"
        "for _ in range(200):\n"
        "    try: print(urllib.request.urlopen('http://127.0.0.1:8321/README.md').read().decode()); break\n"
        "    except OSError: time.sleep(0.05)\n"
    )

    async def scene() -> bytes:
        async with _workspace(place) as workspace:
            await workspace.run_in_background(CommandRequest(serve))
            first = await workspace.run(CommandRequest([sys.executable, "-c", fetch]))
            second = await workspace.run(CommandRequest([sys.executable, "-c", fetch]))
            return first.tail + second.tail

    assert asyncio.run(scene()).count(b"A project.") == 2


def test_nothing_that_executes_stays_after_kaa_was_killed(place: Arena) -> None:
    (place.project / "planter.py").write_text(_PLANTER)
    daemons = _Daemons()
    environment = {"PATH": os.environ["PATH"], "HOME": str(place.home), "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "kaa", "sandbox", "--", sys.executable, "-I", "-S", "planter.py", daemons.mark]
    kaa = subprocess.Popen(command, cwd=place.project, env=environment, stdin=subprocess.DEVNULL)
    try:
        daemons.are_there(place, 1)
    finally:
        kaa.kill()
        kaa.wait()

    assert daemons.are_gone()
    deadline = time.monotonic() + HANG_SECONDS
    while (place.project / ".envrc").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not (place.project / ".envrc").exists()
