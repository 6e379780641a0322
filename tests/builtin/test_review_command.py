"""What /review offers to complete. What it asks of the model is tested in `tests/end_to_end/test_review.py`."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import pytest

from kaa.builtin.review_command import reviewable
from kaa.ext.api import CommandContext
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.agents import run
from tests.support.hostile_git import git
from tests.support.patience import HANG_SECONDS

StateT = TypeVar("StateT")


class Conversation:
    """As much of a conversation as completion needs."""

    def __init__(self, workspace: LocalWorkspace) -> None:
        self.workspace = workspace
        self._states: dict[type, object] = {}

    def state(self, kind: type[StateT], make: Callable[[], StateT]) -> StateT:
        return cast("StateT", self._states.setdefault(kind, make()))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_kinds_are_offered_at_once_and_branches_when_git_has_named_them(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a").touch()
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    git(tmp_path, "branch", "feature/long-name")

    async def scene() -> None:
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        workspace = LocalWorkspace.start(str(tmp_path), env=environ, sandbox=SandboxOptions(mode="full-access"))
        context = cast("CommandContext", Conversation(workspace))
        try:
            assert [one.text for one in reviewable("", context)] == ["uncommitted", "branch ", "commit "]
            assert [one.text for one in reviewable("co", context)] == ["commit "]
            async with asyncio.timeout(HANG_SECONDS):
                while not (found := reviewable("branch f", context)):
                    await asyncio.sleep(0)
            assert [one.text for one in found] == ["branch feature/long-name"]
            assert reviewable("commit f", context) == []
        finally:
            await workspace.close()

    run(scene())
