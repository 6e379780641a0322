"""The slot that tries out the walls is the first one that reads files, and has no more than others for that."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.patience import HANG_SECONDS
from tests.support.processes import Processes

if TYPE_CHECKING:
    from tests.workspace.conftest import RunLocal
else:
    RunLocal = Any

_CONFINED = ("CapEff", "CapPrm", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters", "SigIgn", "Uid", "Gid")
_NAMESPACES = ("user", "net", "ipc")


def _walls(pid: int) -> dict[str, str]:
    """What confines a process, and how many others are in its view: in each slot, only it has process 1."""
    lines = (line.partition(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    found = {name: value.strip() for name, _, value in lines if name in _CONFINED}
    found |= {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in _NAMESPACES}
    return found | {"pids": Path(f"/proc/{pid}/status").read_text().partition("NSpid:")[2].split()[1]}


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not is_so():
            await asyncio.sleep(0.005)


@pytest.fixture
def sandboxed(tier: str, local: RunLocal) -> RunLocal:
    if tier != "full" or os.geteuid() != 0:
        pytest.skip("only there is the slot used, and only root sees what a slot has")
    return local


def test_it_has_the_walls_and_descriptors_of_others(sandboxed: RunLocal) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        first, second = await workspace.sandbox.take("files"), await workspace.sandbox.take("files")
        try:
            await _until(lambda: _walls(second.pid)["Seccomp"] != "0")  # the last of its walls
            assert _walls(first.pid) == _walls(second.pid)
            assert os.readlink(f"/proc/{first.pid}/ns/mnt") != os.readlink(f"/proc/{second.pid}/ns/mnt")
            opened = sorted(os.readlink(f"/proc/{first.pid}/fd/{name}") for name in os.listdir(f"/proc/{first.pid}/fd"))
            assert [name.partition(":")[0] for name in opened] == ["/dev/null"] * 3 + ["socket"]
        finally:
            first.close()
            second.close()

    sandboxed(scenario, sandbox=SandboxOptions())


def test_one_that_died_is_replaced(sandboxed: RunLocal, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> tuple[bool, int]:
        slot = await workspace.sandbox.take("files")
        slot.kill()
        processes.wait_until_gone(slot.pid)
        found = await workspace.stat(".") is not None
        slot.close()
        return found, slot.pid

    found, pid = sandboxed(scenario, sandbox=SandboxOptions())

    assert found
    assert not processes.alive(pid)


def test_nothing_is_left_of_it_when_nobody_has_asked(sandboxed: RunLocal, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> list[int]:
        await workspace.sandbox.status()
        hands = processes.hands()
        await _until(lambda: len(processes.descendants(hands)) == 2)  # nobody attends to its connections any more
        return processes.children(hands)

    children = sandboxed(scenario, sandbox=SandboxOptions())

    assert len(children) == 2  # it, and the connect broker
    assert not any(map(processes.alive, children))
