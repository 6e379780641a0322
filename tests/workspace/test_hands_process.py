"""The process behind the local workspace: when it dies, hangs or talks nonsense."""

import asyncio
import contextlib
import importlib.util
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kaa
from kaa.hands import wire
from kaa.hands.policy import Policy
from kaa.workspace import commands
from kaa.workspace.channel import Channel, parse
from kaa.workspace.hands import Hands
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, FileInfo, WorkspaceUnavailableError
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.patience import HANG_SECONDS
from tests.support.processes import Processes
from tests.support.warm_start import cold_hands

if TYPE_CHECKING:
    from tests.workspace.conftest import RunLocal
else:
    RunLocal = Any

_UNCONFINED = Policy(tier="none", mode="full-access")


@pytest.fixture(autouse=True)
def as_programs() -> Iterator[None]:
    """Start the hands as they are started outside of tests."""
    with cold_hands():
        yield


def test_it_is_started_before_any_event_loop_and_without_waiting(project: Path) -> None:
    (project / "file").write_text("x")
    workspace = LocalWorkspace.start(str(project))

    async def scenario() -> bytes:
        try:
            return (await workspace.read("file")).data
        finally:
            await workspace.close()

    assert asyncio.run(scenario()) == b"x"


def test_it_may_open_more_files_than_commands(project: Path) -> None:
    """A folder with hundreds of repositories needs as many mounts; what commands closed is opened level by level."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
    try:
        workspace = LocalWorkspace.start(str(project))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    async def scenario() -> tuple[str, str]:
        output: list[bytes] = []
        try:
            await workspace.read("file")
            limits = Path(f"/proc/{Processes().hands()}/limits").read_text()
            await workspace.run(CommandRequest(["sh", "-c", "ulimit -Sn"]), output.append)
        finally:
            await workspace.close()
        return limits, b"".join(output).decode()

    (project / "file").touch()
    limits, output = asyncio.run(scenario())
    assert output == "300\n"
    [line] = [line for line in limits.splitlines() if line.startswith("Max open files")]
    assert int(line.split()[3]) > 300


_READER = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
started = []
sys.addaudithook(lambda event, args: started.append(args[1]) if event == "subprocess.Popen" else None)
from kaa.workspace.local import LocalWorkspace
async def main():
    workspace = LocalWorkspace.start(sys.argv[2])
    await asyncio.gather(*[workspace.read("file") for _ in range(3)])
    await workspace.close()
asyncio.run(main())
print(sum("compileall" in argv for argv in started))
"""


def test_its_code_is_compiled_where_the_installer_has_not_done_so_and_after_an_update(
    tmp_path: Path, project: Path
) -> None:
    (project / "file").touch()
    package = tmp_path / "kaa"
    shutil.copytree(Path(kaa.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def compilations() -> int:
        argv = [sys.executable, "-I", "-c", _READER, str(tmp_path), str(project)]
        return int(subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout)

    def wait_until_compiled(name: str) -> None:
        source = package / "hands" / name
        compiled = Path(importlib.util.cache_from_source(str(source)))
        deadline = time.monotonic() + HANG_SECONDS
        while not compiled.exists() or int.from_bytes(compiled.read_bytes()[12:16], "little") != source.stat().st_size:
            assert time.monotonic() < deadline, f"{name} was not compiled"
            time.sleep(0.01)

    assert compilations() == 1
    for name in ("writing.py", "guard/watcher.py", "parsing/service.py"):
        wait_until_compiled(name)
    assert compilations() == 0
    with (package / "hands" / "files.py").open("a") as file:
        file.write("# changed\n")
    assert compilations() == 1
    wait_until_compiled("files.py")
    assert compilations() == 0


def test_closing_ends_all_its_processes(local: RunLocal, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> list[int]:
        await workspace.stat(".")
        await workspace.run(CommandRequest(["true"]))
        hands = processes.hands()
        return [hands, *processes.children(hands)]

    pids = local(scenario)

    assert len(pids) >= 2
    assert not processes.alive(pids[0])
    processes.wait_until_gone(*pids)


def test_a_closed_workspace_says_so(project: Path) -> None:
    async def scenario() -> None:
        workspace = LocalWorkspace.start(str(project))
        await workspace.close()
        await workspace.close()
        for attempt in (workspace.stat("."), workspace.run(CommandRequest(["true"]))):
            with pytest.raises(WorkspaceUnavailableError, match="closed"):
                await attempt

    asyncio.run(scenario())


def test_a_killed_fork_server_is_started_again(local: RunLocal, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.write("file", b"x")
        old = processes.hands()
        os.kill(old, signal.SIGKILL)

        for _ in range(4):  # the slots that were ready are used up on the way
            assert (await workspace.run(CommandRequest(["echo", "hi"]))).tail == b"hi\n"
        assert (await workspace.read("file")).data == b"x"
        assert processes.hands() != old

    local(scenario)


def test_a_command_outlives_the_fork_server_and_is_still_stopped(
    local: RunLocal, project: Path, processes: Processes
) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        running = asyncio.create_task(workspace.run(CommandRequest(["bash", "-c", "echo $$ > pids; sleep 1000"])))
        pids = await asyncio.to_thread(processes.pids_in, project / "pids", 1)
        os.kill(processes.hands(), signal.SIGKILL)

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        assert not any(map(processes.alive, pids))

    local(scenario)


def test_killed_slots_are_replaced(local: RunLocal, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.write("file", b"x")
        for slot in processes.children(processes.hands()):
            os.kill(slot, signal.SIGKILL)
            processes.wait_until_gone(slot)

        assert (await workspace.read("file")).data == b"x"
        assert (await workspace.run(CommandRequest(["true"]))).exit_code == 0

    local(scenario)


def test_a_killed_command_slot_takes_its_command_along(local: RunLocal, project: Path, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        running = asyncio.create_task(
            workspace.run(CommandRequest(["bash", "-c", "setsid sleep 1000 & echo $! $$ > pids; wait"]))
        )
        pids = await asyncio.to_thread(processes.pids_in, project / "pids", 2)
        for slot in processes.children(processes.hands()):
            if pids[1] in processes.children(slot):
                os.kill(slot, signal.SIGKILL)

        with pytest.raises(WorkspaceUnavailableError):
            await running
        await asyncio.to_thread(processes.wait_until_gone, *pids)

    local(scenario)


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_command_slot_that_hangs_is_killed_with_its_command(
    local: RunLocal, project: Path, processes: Processes, monkeypatch: pytest.MonkeyPatch, cancelled: bool
) -> None:
    monkeypatch.setattr(commands, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(commands, "_STOP_MARGIN_SECONDS", 0.1)

    async def scenario(workspace: LocalWorkspace) -> None:
        script = "setsid sleep 1000 & echo $! $$ > pids; wait"
        running = asyncio.create_task(
            workspace.run(CommandRequest(["bash", "-c", script], timeout=None if cancelled else 1))
        )
        pids = await asyncio.to_thread(processes.pids_in, project / "pids", 2)
        for slot in processes.children(processes.hands()):
            if pids[1] in processes.children(slot):
                os.kill(slot, signal.SIGSTOP)

        if cancelled:
            running.cancel()
        with pytest.raises(asyncio.CancelledError if cancelled else WorkspaceUnavailableError):
            await running
        await asyncio.to_thread(processes.wait_until_gone, *pids)

        assert (await workspace.run(CommandRequest(["echo", "hi"]))).tail == b"hi\n"

    local(scenario)


def test_a_file_slot_that_hangs_is_replaced_after_its_request_was_given_up(
    local: RunLocal, processes: Processes
) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.write("file", b"x")
        slots = processes.children(processes.hands())
        for slot in slots:
            os.kill(slot, signal.SIGSTOP)  # as it looks when a network filesystem does not answer

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await workspace.read("file")

        assert (await workspace.read("file")).data == b"x"
        for slot in slots:
            with contextlib.suppress(ProcessLookupError):
                os.kill(slot, signal.SIGCONT)

    local(scenario)


def test_what_cannot_be_started_is_reported(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with pytest.raises(WorkspaceUnavailableError, match="cannot be started"):
        LocalWorkspace.start(str(project), sandbox=SandboxOptions(mode="full-access"))


def test_a_python_that_ends_at_once_is_reported_with_its_exit_code(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = project / "python"
    broken.write_text("#!/bin/sh\nexit 42\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))

    async def scenario() -> None:
        workspace = LocalWorkspace.start(str(project))
        try:
            await workspace.stat(".")
        finally:
            await workspace.close()

    with pytest.raises(WorkspaceUnavailableError, match="exit code 42"):
        asyncio.run(scenario())


def test_its_environment_and_arguments_tell_nothing(local: RunLocal, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> bytes:
        await workspace.stat(".")
        return Path(f"/proc/{processes.hands()}/environ").read_bytes()

    environment = local(scenario, ANTHROPIC_API_KEY="sk-1")

    assert [entry for entry in environment.split(b"\0") if entry and not entry.startswith(b"LC_CTYPE=")] == []


_NEEDED = """
import sys
sys.argv = ["x"]
sys.path.append({source!r})
import kaa.hands.server, kaa.hands.files, kaa.hands.commands
print(" ".join(sorted(name for name in sys.modules if not name.startswith("kaa.hands"))))
"""


def test_the_hands_load_nothing_heavy_and_nothing_else_of_kaa() -> None:
    import kaa

    source = str(Path(kaa.__file__).parent.parent)
    script = _NEEDED.format(source=source)

    listed = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)

    loaded = set(listed.stdout.split())
    assert {name for name in loaded if name.startswith("kaa")} == {"kaa"}
    heavy = {"asyncio", "subprocess", "threading", "logging", "ssl", "tempfile", "shutil", "random", "inspect"}
    assert loaded & heavy == set()


_WRITER = """
import asyncio, sys
from kaa.workspace.local import LocalWorkspace
workspace = LocalWorkspace.start(sys.argv[1])
async def main():
    for number in range(1000):
        await workspace.write("file", bytes([number % 256]) * 5_000_000)
        print(number, flush=True)
asyncio.run(main())
"""


@pytest.mark.usefixtures("confined")
def test_a_brain_killed_while_it_writes_leaves_a_whole_file_and_nothing_else(
    project: Path, processes: Processes
) -> None:
    for writes in range(1, 4):
        brain = subprocess.Popen([sys.executable, "-c", _WRITER, str(project)], stdout=subprocess.PIPE)
        assert brain.stdout is not None
        for _ in range(writes):
            brain.stdout.readline()
        hands = processes.children(brain.pid)
        slots = [slot for pid in hands for slot in processes.children(pid)]

        brain.kill()
        brain.stdout.close()
        brain.wait()
        processes.wait_until_gone(*hands, *slots)

        content = (project / "file").read_bytes()
        assert content == content[:1] * 5_000_000
        assert [path.name for path in project.iterdir()] == ["file"]


def test_the_project_stays_as_it_is_while_hands_run(project: Path) -> None:
    (project / "file").touch()

    async def scenario() -> None:
        workspace = LocalWorkspace.start(str(project))
        try:
            result = await workspace.run(CommandRequest(["ls", "-A"]))

            assert result.tail == b"file\n"
            assert [path.name for path in project.iterdir()] == ["file"]
        finally:
            await workspace.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "answer",
    [b"", b"\xff" * 20, b"\0\0\0\2\0\0\0\0[]", b"\0\0\0\3\0\0\0\0{x}"],
)
def test_nonsense_from_a_slot_is_an_error_and_not_believed(answer: bytes) -> None:
    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        channel = Channel(ours, "The slot")
        with theirs:
            theirs.sendall(answer)
            theirs.shutdown(socket.SHUT_WR)
            with pytest.raises(WorkspaceUnavailableError, match="The slot"):
                await channel.receive()
        channel.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("header", [{}, {"path": 1}, {"path": "a", "real_path": "a", "kind": "unheard of"}])
def test_an_answer_of_the_wrong_shape_is_an_error(header: wire.Header) -> None:
    with pytest.raises(WorkspaceUnavailableError, match="cannot be understood"):
        parse(header, FileInfo)


def test_many_waiters_each_get_a_slot_of_their_own(project: Path) -> None:
    async def scenario() -> list[int]:
        hands = Hands(str(project), "/", _UNCONFINED)
        try:
            slots = await asyncio.gather(*(hands.take("command") for _ in range(20)))
            for slot in slots:
                slot.close()
            return [slot.pid for slot in slots]
        finally:
            await hands.close()

    assert len(set(asyncio.run(scenario()))) == 20


def test_a_slot_that_was_expected_is_made_once_and_is_the_one_that_is_taken(
    project: Path, processes: Processes
) -> None:
    async def scenario() -> tuple[set[int], int]:
        hands = Hands(str(project), str(project), _UNCONFINED)
        hands.start()
        await hands.report()
        try:
            hands.expect("checkpoints")
            hands.expect("checkpoints")
            (await hands.socket(socket.AF_INET)).close()  # answered after everything that was asked for before
            before = processes.children(processes.hands())
            slot = await hands.take("checkpoints")
            slot.close()
            return set(before), slot.pid
        finally:
            await hands.close()

    made, taken = asyncio.run(scenario())

    assert taken in made
    assert len(made) == 2  # and that for files


def test_outside_the_sandbox_there_is_one_process_for_each_command_that_runs(
    project: Path, processes: Processes
) -> None:
    """A hook that prints nothing must not cost more than itself: nothing is made ready for what seldom comes."""

    async def scenario() -> list[int]:
        workspace = LocalWorkspace.start(str(project))
        try:
            await workspace.stat(".")
            inside = processes.children(os.getpid())
            running = asyncio.create_task(
                workspace.unattended().run(CommandRequest(["sh", "-c", "echo $$ > started; exec sleep 1000"]))
            )
            await asyncio.to_thread(processes.pids_in, project / "started", 1)
            (outside,) = set(processes.children(os.getpid())) - set(inside)
            slots = processes.children(outside)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            return slots
        finally:
            await workspace.close()

    assert len(asyncio.run(scenario())) == 1
