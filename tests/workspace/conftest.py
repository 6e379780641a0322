"""Real workspaces for tests, and a look at the processes behind them."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import Workspace
from kaa.workspace.sandbox.options import SandboxOptions

T = TypeVar("T")
_DEADLINE_SECONDS = 20.0
_UNCONFINED = SandboxOptions(mode="full-access")


class RunLocal(Protocol):
    """Runs a scenario in a local workspace whose root is `project`.

    Unless told so without a sandbox: what it does not change is tested where process ids are those of the machine.
    """

    def __call__(
        self,
        scenario: Callable[[LocalWorkspace], Awaitable[T]],
        *,
        sandbox: SandboxOptions = ...,
        **environment: str,
    ) -> T: ...


class RunAny(Protocol):
    """Runs a scenario in a workspace that holds `files`."""

    def __call__(self, scenario: Callable[[Workspace], Awaitable[T]], files: dict[str, bytes]) -> T: ...


class Processes:
    """What runs on this machine, as far as the tests care."""

    @staticmethod
    def alive(pid: int) -> bool:
        """Whether a process runs; one that only waits to be reaped does not."""
        try:
            status = Path(f"/proc/{pid}/stat").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return status.rpartition(b")")[2].split()[0] not in (b"Z", b"X")

    @staticmethod
    def children(parent: int) -> list[int]:
        """The children of a process."""
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_bytes().rpartition(b")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == parent and fields[0] != b"Z":
                found.append(int(path.parent.name))
        return found

    def descendants(self, ancestor: int) -> list[int]:
        """All that a process started, as far as it was not orphaned."""
        found = list(self.children(ancestor))
        for pid in found:
            found += self.children(pid)
        return found

    def hands(self) -> int:
        """The fork-server that this process started."""
        for child in self.children(os.getpid()):
            if b"hands/__main__.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                return child
        raise AssertionError("there are no hands")

    def wait_until_gone(self, *pids: int) -> None:
        """Wait for processes to end."""
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while any(map(self.alive, pids)):
            assert time.monotonic() < deadline, f"still running: {[pid for pid in pids if self.alive(pid)]}"
            time.sleep(0.01)

    @staticmethod
    def pids_in(path: Path, count: int) -> list[int]:
        """Wait for a file that processes write their ids to."""
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while not path.exists() or len(path.read_text().split()) < count:
            assert time.monotonic() < deadline, f"{path} was not written"
            time.sleep(0.01)
        return [int(word) for word in path.read_text().split()]


@pytest.fixture
def processes() -> Processes:
    return Processes()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Where the logs of long outputs go."""
    return tmp_path / ".cache" / "kaa" / "output"


@pytest.fixture
def local(project: Path, tmp_path: Path) -> Iterator[RunLocal]:
    before = _descriptors()

    def run(
        scenario: Callable[[LocalWorkspace], Awaitable[T]],
        *,
        sandbox: SandboxOptions = _UNCONFINED,
        **environment: str,
    ) -> T:
        async def in_workspace() -> T:
            env = {**_minimal_environment(tmp_path), **environment}
            workspace = LocalWorkspace.start(str(project), env=env, sandbox=sandbox)
            try:
                return await scenario(workspace)
            finally:
                await workspace.close()

        return asyncio.run(in_workspace())

    yield run
    assert _descriptors() == before, "a file descriptor was leaked"


@pytest.fixture(params=["memory", "local", "sandboxed"])
def any_workspace(request: pytest.FixtureRequest, project: Path, local: RunLocal) -> RunAny:
    def run(scenario: Callable[[Workspace], Awaitable[T]], files: dict[str, bytes]) -> T:
        if request.param == "memory":
            return asyncio.run(_awaited(scenario(MemoryWorkspace(files, root=str(project)))))
        for name, data in files.items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        sandbox = SandboxOptions() if request.param == "sandboxed" else _UNCONFINED
        return local(scenario, sandbox=sandbox)

    return run


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


def _minimal_environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}


def _descriptors() -> int:
    return len(os.listdir("/dev/fd"))
