"""Real workspaces for tests, and a look at the processes behind them."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.memory import MemoryWorkspace
from kaa.workspace.protocol import Workspace
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.processes import Processes

T = TypeVar("T")
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
    assert _descriptors() <= before, "a file descriptor was leaked"  # earlier ones may be collected meanwhile


@pytest.fixture(params=["memory", "local", "sandboxed"])
def any_workspace(request: pytest.FixtureRequest, project: Path) -> RunAny:
    if request.param == "sandboxed":
        request.getfixturevalue("confined")  # before `local` counts descriptors: the first run of kaa keeps one
    local: RunLocal = request.getfixturevalue("local")

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
