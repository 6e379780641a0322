"""What commands write to /tmp: the user is told the real path, and finds the file there."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS

Scenario = Callable[[LocalWorkspace], Awaitable[None]]


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        yield folder


def play(folder: Path, scenario: Scenario) -> None:
    async def whole() -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        workspace = LocalWorkspace.start(str(folder / "project"), env=environment)
        try:
            if (await workspace.sandbox.status()).tier not in ("full", "bwrap"):
                pytest.skip("needs a private /tmp")
            await scenario(workspace)
        finally:
            await workspace.close()

    asyncio.run(whole())


async def sh(workspace: LocalWorkspace, script: str) -> CommandResult:
    return await workspace.run(CommandRequest(["sh", "-c", script], timeout=HANG_SECONDS))


def real_path(line: str) -> Path:
    return Path(line.rpartition(" is ")[2])


def test_a_command_says_where_its_file_is_and_the_file_stays(folder: Path) -> None:
    told: list[str] = []

    async def scenario(workspace: LocalWorkspace) -> None:
        told.extend((await sh(workspace, "echo hello > /tmp/kaa-report.html; echo junk > /tmp/junk")).outside)
        told.extend((await sh(workspace, "cat /tmp/kaa-report.html")).outside)

    play(folder, scenario)

    assert [line.partition(" is /")[0] for line in told] == [
        "[sandbox] /tmp is private here: for the user, /tmp/kaa-report.html",
        "[sandbox] /tmp is private here: for the user, /tmp/junk",
    ]
    assert real_path(told[0]).read_text() == "hello\n"


def test_what_nobody_was_told_of_goes_with_the_workspace(folder: Path) -> None:
    told: list[str] = []

    async def scenario(workspace: LocalWorkspace) -> None:
        told.extend(
            (await sh(workspace, "echo hello > /tmp/kaa-report.html; cd /tmp; mkdir -p a/b; touch a/b/c d")).outside
        )

    play(folder, scenario)

    assert os.listdir(real_path(told[0]).parent) == ["kaa-report.html"]


def test_a_written_file_says_where_it_is_and_one_of_the_project_does_not(folder: Path) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        info = await workspace.write("/tmp/kaa-dir/report.html", b"hello")
        assert real_path(info.outside).read_bytes() == b"hello"
        assert (await workspace.write("report.html", b"hello")).outside == ""

    play(folder, scenario)


def test_a_link_is_not_told_as_a_file(folder: Path) -> None:
    (folder / "private").write_text("secret")

    async def scenario(workspace: LocalWorkspace) -> None:
        done = await sh(
            workspace, f"ln -s {folder}/private /tmp/kaa-a; ln -s {folder} /tmp/kaa-b; ls /tmp/kaa-b/private"
        )
        assert done.outside == ()

    play(folder, scenario)


def test_what_is_kept_is_removed_after_days(folder: Path) -> None:
    told: list[str] = []

    async def scenario(workspace: LocalWorkspace) -> None:
        told.extend((await sh(workspace, "echo hello > /tmp/kaa-report.html")).outside)

    async def nothing(workspace: LocalWorkspace) -> None:
        pass

    play(folder, scenario)
    play(folder, scenario)
    kept = real_path(told[0])
    assert kept.exists()
    long_ago = time.time() - 8 * 24 * 3600
    os.utime(kept.parent, (long_ago, long_ago))
    play(folder, nothing)
    assert not kept.exists()
    assert real_path(told[1]).exists()
