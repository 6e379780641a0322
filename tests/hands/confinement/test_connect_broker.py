"""Connections of slots, which the broker makes: those to sockets of the host are refused, all others are as ever."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, WorkspaceUnavailableError
from tests.hands.confinement.arena import Arena, Report
from tests.support.patience import HANG_SECONDS
from tests.support.processes import Processes

_CONNECTIONS = Path(__file__).with_name("connections.py")


def probe(arena: Arena, *attempts: tuple[object, ...], **changes: Any) -> Report:
    report = arena.probe(arena.policy("full"), *attempts, **changes)
    if report.refused:
        pytest.skip(f"this machine cannot hold tier full: {report.refused}")
    assert report.failed_checks == []
    if not changes and report.features["unix sockets"] != "only of the sandbox":
        pytest.skip(f"this machine can have no broker: {report.warnings}")
    return report


def python(code: str) -> tuple[str, str]:
    """An attempt that runs a program."""
    return "shell", f"python3 -IS - 2>&1 <<'END'\n{code}\nEND"


def connecting(*paths: Path | str, preparing: str = "") -> tuple[str, str]:
    """An attempt that says with which errors connections to these sockets failed, in one program."""
    return python(
        f"import errno, os, socket\n{preparing}\n"
        "outcomes = []\n"
        f"for path in {[str(path) for path in paths]!r}:\n"
        "    with socket.socket(socket.AF_UNIX) as sock:\n"
        "        outcomes.append(errno.errorcode.get(sock.connect_ex(path), 'ok'))\n"
        "print(*outcomes, end='')"
    )


@pytest.fixture
def daemon(someone: Arena) -> Iterator[tuple[socket.socket, Path]]:
    """A program of the host's whose socket no list of the kernel's shows where it is: it was moved there."""
    path = someone.project / "daemon"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path.with_name("first")))
        path.with_name("first").rename(path)
        path.chmod(0o777)
        listener.listen()
        listener.setblocking(False)
        yield listener, path


def nobody_came(daemon: socket.socket) -> bool:
    try:
        daemon.accept()
    except BlockingIOError:
        return True
    return False


def test_sockets_of_the_host_are_refused(someone: Arena, daemon: tuple[socket.socket, Path]) -> None:
    listener, path = daemon
    project = someone.project
    (project / "link").symlink_to(path)
    os.link(path, project / "hard")
    (project / "up").symlink_to("/")
    ways: tuple[Path | str, ...] = (
        path,
        project / "link",
        project / "hard",
        f"{project}/up{path}",
        f"/..{path}",
        f"{project}/../project/daemon",
        "daemon",
    )

    report = probe(someone, connecting(*ways, preparing=f"os.chdir({str(project)!r})"))

    assert report.outcomes[0].split() == ["ECONNREFUSED"] * len(ways)
    assert nobody_came(listener)


def test_names_through_proc_lead_nowhere(someone: Arena, daemon: tuple[socket.socket, Path]) -> None:
    listener, path = daemon

    report = probe(
        someone,
        connecting(
            *(f"/proc/{process}/root{path}" for process in ("self", 1, os.getpid())),
            "/proc/self/fd/99",
            preparing=f"os.dup2(os.open({str(path)!r}, os.O_PATH), 99)",
        ),
    )

    outcomes = report.outcomes[0].split()
    assert len(outcomes) == 4
    assert "ok" not in outcomes
    assert nobody_came(listener)


def test_address_and_descriptor_cannot_be_exchanged_meanwhile(
    someone: Arena, daemon: tuple[socket.socket, Path]
) -> None:
    listener, path = daemon
    racing = f"""
import ctypes, os, socket, struct, threading, time
libc = ctypes.CDLL(None)
ours = socket.socket(socket.AF_UNIX); ours.bind("/tmp/ours"); ours.listen(1000)
good, bad = (struct.pack("=H108s", socket.AF_UNIX, name) for name in (b"/tmp/ours", b"{path}"))
memory = ctypes.create_string_buffer(good, 110)
link = "/tmp/link"
os.symlink("/tmp/ours", link)
over = time.monotonic() + 1
def exchange():
    while time.monotonic() < over:
        ctypes.memmove(memory, bad, 110)
        os.symlink("{path}", link + "x"); os.rename(link + "x", link)
        ctypes.memmove(memory, good, 110)
        os.symlink("/tmp/ours", link + "x"); os.rename(link + "x", link)
thread = threading.Thread(target=exchange)
thread.start()
made = 0
while time.monotonic() < over:
    with socket.socket(socket.AF_UNIX) as sock:
        made += libc.connect(sock.fileno(), memory, 110) == 0
    with socket.socket(socket.AF_UNIX) as sock:
        made += sock.connect_ex(link) == 0
    ours.setblocking(False)
    try:
        while True: ours.accept()[0].close()
    except BlockingIOError: pass
thread.join()
print("raced" if made else "none", end="")
"""

    report = probe(someone, python(racing))

    assert report.outcomes == ["raced"]
    assert nobody_came(listener)


def test_datagrams_are_denied_by_either_name(someone: Arena) -> None:
    report = probe(
        someone,
        ("socket", socket.AF_UNIX, socket.SOCK_DGRAM, 0),
        ("socket", socket.AF_UNIX, socket.SOCK_RAW, 0),
        ("socket", socket.AF_UNIX, socket.SOCK_SEQPACKET, 0),
        ("socket", socket.AF_INET, socket.SOCK_DGRAM, 0),
    )

    assert report.outcomes == ["ESOCKTNOSUPPORT"] * 2 + ["ok"] * 2


@pytest.fixture(scope="module")
def connections_outside(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What becomes of all connections without a sandbox."""
    folder = tmp_path_factory.mktemp("outside")
    command = [sys.executable, "-I", "-S", str(_CONNECTIONS), str(folder)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def test_connections_are_as_without_a_connect_broker(someone: Arena, connections_outside: Any) -> None:
    program = shutil.copy(_CONNECTIONS, someone.project)
    (someone.project / "inside").mkdir()

    report = probe(someone, ("shell", f"python3 -I -S {program} {someone.project}/inside 2>&1"))

    assert json.loads(report.outcomes[0]) == connections_outside


def test_servers_that_went_into_the_background_are_still_of_the_sandbox(someone: Arena) -> None:
    """Who called `listen` is gone, as with ssh-agent."""
    serving = (
        "import os, socket\n"
        "server = socket.socket(socket.AF_UNIX); server.bind('/tmp/server'); server.listen()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    for number in (0, 1, 2): os.close(number)\n"
        "    server.accept()[0].send(b'hello')\n"
    )
    calling = "import socket\nsock = socket.socket(socket.AF_UNIX); sock.connect('/tmp/server'); print(sock.recv(5))"

    report = probe(someone, python(serving), python(calling))

    assert report.outcomes == ["", "b'hello'\n"]


def test_programs_that_hide_their_memory_connect(someone: Arena) -> None:
    """As ssh-agent and gpg-agent do."""
    hiding = "import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"
    talking = (
        "import socket\nserver = socket.socket(socket.AF_UNIX); server.bind('/tmp/x'); server.listen()\n"
        "socket.socket(socket.AF_UNIX).connect('/tmp/x'); print('ok', end='')"
    )

    report = probe(someone, python(hiding + talking))

    assert report.outcomes == ["ok"]


@pytest.mark.parametrize("missing", ["pidfd_getfd", "process_vm_readv", "openat2"])
def test_without_what_it_needs_there_is_a_warning_and_no_connect_broker(someone: Arena, missing: str) -> None:
    report = probe(someone, connecting("/tmp/missing"), missing={missing: "ENOSYS"})

    assert report.features["unix sockets"] == "masked once seen"
    assert any("unix sockets" in warning for warning in report.warnings)
    assert report.outcomes == ["ENOENT"]


def test_with_the_network_of_the_host_there_is_a_warning_and_no_connect_broker(someone: Arena) -> None:
    report = someone.probe(someone.policy("full", network="host"), connecting("/tmp/missing"))
    if report.refused:
        pytest.skip(f"this machine cannot hold tier full: {report.refused}")

    assert report.features["unix sockets"] == "masked once seen"
    assert any("unix sockets" in warning for warning in report.warnings)
    assert report.outcomes == ["ENOENT"]


def test_the_end_of_a_slot_is_not_the_brokers(someone: Arena) -> None:
    """The fork-server kills what a crashed slot leaves, and the broker is a child of its, too."""
    if someone.user is not None:
        pytest.skip("the same for everybody")
    connecting_to_itself = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "print(socket.socket().connect_ex(server.getsockname()))\n"
    )
    command = CommandRequest([sys.executable, "-I", "-S", "-c", connecting_to_itself], timeout=HANG_SECONDS)

    async def scene() -> list[bytes]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(someone.home)}
        workspace = LocalWorkspace.start(str(someone.project), env=environment)
        try:
            if (tier := (await workspace.sandbox.status()).tier) != "full":
                pytest.skip(f"this machine holds tier {tier} only, which has no broker")
            before = await workspace.run(command)
            assert kill_slots() > 0
            after = []
            for _ in range(5):  # slots that were kept ready are found to be gone when they are used
                with contextlib.suppress(WorkspaceUnavailableError):
                    after.append((await workspace.run(command)).tail)
        finally:
            await workspace.close()
        return [before.tail, *after]

    outcomes = asyncio.run(scene())

    assert len(outcomes) > 1
    assert set(outcomes) == {b"0\n"}


def kill_slots() -> int:
    """Kill the grandchildren of this process that are the first of a process namespace."""
    killed = 0
    for pid in (slot for hands in Processes.children(os.getpid()) for slot in Processes.children(hands)):
        with contextlib.suppress(OSError):
            ids = next(
                line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("NSpid:")
            )
            if ids.split()[2:] == ["1"]:
                os.kill(pid, signal.SIGKILL)
                killed += 1
    return killed
