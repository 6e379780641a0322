"""The directories of a sandbox stay those that the user named, whatever is put in their place."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from kaa.hands.policy import Tier
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from kaa.workspace.sandbox.changes import SandboxChangeError
from kaa.workspace.sandbox.options import SandboxChange, SandboxOptions
from kaa.workspace.sandbox.roots import RootReplacedError
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        for name in ("home", "work/group/project", "added", "outside"):
            (folder / name).mkdir(parents=True)
        yield folder


@pytest.fixture(params=["full", "landlock"])
def tier(request: pytest.FixtureRequest) -> Iterator[Tier]:
    with mock.patch("kaa.workspace.sandbox.sandbox.tiers_to_try", return_value=(request.param, "none")):
        yield request.param


def _opened(folder: Path, project: str, options: SandboxOptions | None = None) -> LocalWorkspace:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
    return LocalWorkspace.start(str(folder / project), env=environment, sandbox=options or SandboxOptions())


async def _is_confined(workspace: LocalWorkspace) -> None:
    if not (await workspace.sandbox.status()).confined:
        pytest.skip("this machine cannot confine anything so")


async def _sh(workspace: LocalWorkspace, script: str) -> CommandResult:
    return await workspace.run(CommandRequest(["sh", "-c", script], timeout=HANG_SECONDS))


def test_a_project_that_a_command_of_another_conversation_made_a_link_is_not_followed(folder: Path, tier: Tier) -> None:
    async def scenario() -> None:
        outer, inner = _opened(folder, "work"), _opened(folder, "work/group")
        try:
            await _is_confined(inner)
            await _sh(inner, "true")
            moved = await _sh(outer, f"mv group group2 && ln -s {folder}/outside group")
            assert moved.exit_code == 0
            with pytest.raises(RootReplacedError, match="a link leads from there"):
                await inner.change(SandboxChange(mode="read-only"))
            with pytest.raises(RootReplacedError, match="start kaa again"):
                inner.narrowed(writable=())
            with pytest.raises(RootReplacedError):
                inner.relocated(str(folder / "work/group"), str(folder / "added"), str(folder / "added"))
            with pytest.raises(RootReplacedError):
                _opened(folder, "work/group")
            await _sh(inner, "touch written")
        finally:
            await outer.close()
            await inner.close()

    asyncio.run(scenario())
    assert os.listdir(folder / "outside") == []


@pytest.mark.parametrize(
    "replace", ["mv group group2 && mkdir group && ln -s ../../outside group/project", "mv group g2"]
)
def test_a_directory_above_the_project_is_moved_away_in_a_writable_one(folder: Path, tier: Tier, replace: str) -> None:
    async def scenario() -> None:
        options = SandboxOptions(writable=(str(folder / "work"),))
        workspace = _opened(folder, "work/group/project", options)
        try:
            await _is_confined(workspace)
            await _sh(workspace, f"cd {folder}/work && {replace}")
            for mode in ("read-only", "workspace-write"):
                with contextlib.suppress(RootReplacedError):
                    await workspace.change(SandboxChange(mode=mode))
            with contextlib.suppress(FileNotFoundError):  # where nothing keeps the project from being moved
                await _sh(workspace, "touch written")
        finally:
            await workspace.close()

    asyncio.run(scenario())
    assert os.listdir(folder / "outside") == []


@pytest.mark.parametrize("is_link", [True, False])
def test_an_added_directory_that_was_replaced_is_not_followed(folder: Path, tier: Tier, is_link: bool) -> None:
    added = folder / "added"

    async def scenario() -> None:
        workspace = _opened(folder, "work", SandboxOptions(writable=(str(added),)))
        try:
            await _is_confined(workspace)
            added.rename(folder / "aside")
            if is_link:
                added.symlink_to(folder / "outside")
            else:
                added.mkdir()
            with pytest.raises(RootReplacedError, match=str(added)):
                await workspace.change(SandboxChange(mode="read-only"))
        finally:
            await workspace.close()

    asyncio.run(scenario())


def test_hands_that_died_are_not_made_again_where_a_link_leads(folder: Path) -> None:
    async def scenario() -> None:
        workspace = _opened(folder, "work/group")
        try:
            await _is_confined(workspace)
            process = workspace.sandbox._current._server
            assert process is not None
            (folder / "work/group").rename(folder / "aside")
            (folder / "work/group").symlink_to(folder / "outside")
            process.end()
            with pytest.raises(RootReplacedError):
                await _sh(workspace, "touch written")
        finally:
            await workspace.close()

    asyncio.run(scenario())
    assert os.listdir(folder / "outside") == []


def test_a_directory_is_forgotten_with_the_last_sandbox_that_works_in_it(folder: Path) -> None:
    async def scenario() -> None:
        first = _opened(folder, "added")
        await first.close()
        (folder / "added").rename(folder / "aside")
        (folder / "added").mkdir()
        again = _opened(folder, "added")
        try:
            assert (await _sh(again, "pwd")).tail.decode().strip() == str(folder / "added")
        finally:
            await again.close()

    asyncio.run(scenario())


def test_a_directory_that_another_project_made_a_link_is_not_added(folder: Path) -> None:
    link = folder / "added" / "sub"

    async def scenario() -> None:
        other = _opened(folder, "added")
        await _is_confined(other)
        await _sh(other, f"ln -s {folder}/outside sub; mkdir own; ln -s own good")
        await other.close()
        workspace = _opened(folder, "work")
        try:
            with pytest.raises(SandboxChangeError, match="a link in a directory that commands can write"):
                await workspace.change(SandboxChange(writable=(str(link),)))
        finally:
            await workspace.close()

    asyncio.run(scenario())
