"""Projects whose turns are kept, in every tier that this machine can hold."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

import pytest

from kaa.workspace.checkpoints.contract import ChangeSet, CheckpointLimits, Checkpoints
from kaa.workspace.checkpoints.plans import RestoreResult
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest
from kaa.workspace.sandbox.options import SandboxOptions
from kaa.workspace.sandbox.tiers import tiers_to_try

T = TypeVar("T")
LIMITS = CheckpointLimits()
_UNCONFINED = SandboxOptions(mode="full-access")


class Turns:
    """A project and its checkpoints, with what tests do to them in few words."""

    def __init__(self, workspace: LocalWorkspace, store: Path, limits: CheckpointLimits = LIMITS) -> None:
        self.workspace = workspace
        self.root = Path(workspace.root)
        self.store = store
        self.limits = limits
        self.permits = True
        self.asked: list[tuple[int, int]] = []
        self._opened: list[Checkpoints] = []
        self.checkpoints: Checkpoints = self.session("one")

    def session(self, session_id: str) -> Checkpoints:
        """The checkpoints of a session, and those that the rest of the test is about."""
        self.checkpoints = self.workspace.checkpoints(str(self.store), session_id, self.limits, self._permit)
        self._opened.append(self.checkpoints)
        return self.checkpoints

    async def keeps(self, paths: list[str]) -> bool:
        """Whether checkpoints alone would restore all that is at some paths."""
        kept = await self.checkpoints.keeps(paths)
        return kept.kept and not kept.generated

    async def _permit(self, files: int, size: int) -> bool:
        self.asked.append((files, size))
        return self.permits

    async def skip_unless_held(self) -> None:
        """Skip the test where this machine cannot confine as it was told to."""
        await self.workspace.sandbox.status()
        if self.workspace.sandbox.mode != "full-access" and not self.workspace.sandbox.confined:
            pytest.skip("this machine cannot hold the tier")

    async def close(self) -> None:
        """Close all sessions."""
        for checkpoints in self._opened:
            await checkpoints.close()

    async def turn(self, script: str) -> ChangeSet | None:
        """Have the agent run a command, which must succeed."""
        await self.checkpoints.ready()
        result = await self.workspace.run(CommandRequest(("bash", "-c", script)))
        assert result.exit_code == 0, result.tail
        return await self.checkpoints.collect()

    async def changed(self, script: str) -> ChangeSet:
        """The same for a command that changes something."""
        change_set = await self.turn(script)
        assert change_set is not None
        return change_set

    async def undo(self, *change_sets: ChangeSet) -> RestoreResult:
        """Take turns back, the last one first."""
        plan = await self.checkpoints.preview([each.id for each in reversed(change_sets)], [])
        return await self.checkpoints.restore(plan)

    async def redo(self, *change_sets: ChangeSet) -> RestoreResult:
        """Do turns again."""
        return await self.checkpoints.restore(await self.checkpoints.preview([], [each.id for each in change_sets]))

    def contents(self) -> dict[str, str]:
        """What is in the project: text of files, targets of symlinks, `/` for directories."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            if path.is_symlink():
                found[name] = f"-> {path.readlink()}"
            else:
                found[name] = "/" if path.is_dir() else path.read_text()
        return found


class Play(Protocol):
    """Runs a scenario with the turns of a project that holds `files`."""

    def __call__(
        self,
        scenario: Callable[[Turns], Awaitable[T]],
        files: dict[str, str] | None = None,
        *,
        sandbox: SandboxOptions = ...,
        limits: CheckpointLimits = ...,
    ) -> T: ...


@pytest.fixture
def play(project: Path, tmp_path: Path) -> Play:
    def run(
        scenario: Callable[[Turns], Awaitable[T]],
        files: dict[str, str] | None = None,
        *,
        sandbox: SandboxOptions = _UNCONFINED,
        limits: CheckpointLimits = LIMITS,
    ) -> T:
        for name, text in (files or {}).items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text)

        async def scene() -> T:
            env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
            workspace = LocalWorkspace.start(str(project), env=env, sandbox=sandbox)
            turns = Turns(workspace, tmp_path / "private" / "checkpoints", limits)
            try:
                return await scenario(turns)
            finally:
                await turns.close()
                await workspace.close()

        return asyncio.run(scene())

    return run


@pytest.fixture(params=["full", "bwrap", "landlock", "full-access"])
def tiers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SandboxOptions:
    """Options under which the sandbox takes one tier after another; skips those that this machine cannot hold."""
    if request.param == "full-access":
        return _UNCONFINED
    if request.param not in tiers_to_try():
        pytest.skip(f"this machine has no {request.param}")
    monkeypatch.setattr("kaa.workspace.sandbox.sandbox.tiers_to_try", lambda: (request.param, "none"))
    return SandboxOptions()
