"""What mounts hold is let go of while the guard acts on it, whatever else happens meanwhile."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.sandbox.options import SandboxOptions

if TYPE_CHECKING:
    from tests.workspace.conftest import RunLocal
else:
    RunLocal = Any


@pytest.fixture
def sandboxed(tier: str, local: RunLocal) -> RunLocal:
    if tier != "full" or os.geteuid() != 0:
        pytest.skip("only there are mounts made anew, and only root sees those of a slot")
    return local


def test_a_slot_that_is_made_meanwhile_holds_nothing_again(sandboxed: RunLocal, project: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> list[bool]:
        first = await workspace.sandbox.take("command")
        hands = first.hands
        (project / ".envrc").write_text("a command's")
        held = []

        def note() -> None:
            held.append(str(project / ".envrc") in Path(f"/proc/{first.pid}/mountinfo").read_text())

        await hands.hold()
        note()
        await hands.release()
        note()
        second = await hands.take("files")
        note()
        await hands.hold()
        note()
        first.close()
        second.close()
        return held

    assert sandboxed(scenario, sandbox=SandboxOptions()) == [True, False, False, True]
