"""kaa's own reading and writing cannot be led out of the project: by links, by races, by things that are no files.

The tools run in the same sandbox as commands. Here somebody outside plays against them, who may do everything.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, sandbox_options
from kaa.workspace.blocked import BlockedError
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import SearchQuery
from tests.escapes.attempts import persistence
from tests.escapes.world.arena import Arena, arena
from tests.escapes.world.canary import write_secret
from tests.escapes.world.people import Person
from tests.escapes.world.snapshot import Snapshot
from tests.support.patience import HANG_SECONDS

T = TypeVar("T")
_SECRET = "canary-of-the-file-tools"
_RACE_SECONDS = 1.0
# A busy machine may let nothing through for a while.
_NAIVE_SECONDS = 20.0
# Swaps two names as fast as it can, with pauses that are long enough for a write and its sync to the disk: without
# them, next to nothing would go through. The count is odd, so that every second pause finds the names as they were.
_SWAPPER = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
one, other = (name.encode() for name in sys.argv[1:])
print(flush=True)
while True:
    for _ in range(101):
        libc.renameat2(-100, one, -100, other, 2)
    time.sleep(0.03)
"""


@pytest.fixture
def place() -> Iterator[Arena]:
    with arena(Person("whoever runs the tests", -1)) as made:
        (made.outside / "canary.txt").write_text("sings\n")
        write_secret(made.home / ".ssh" / "id_ed25519", _SECRET)
        write_secret(made.home / ".kaa" / "agent" / "auth.json", _SECRET)
        yield made


def _in_workspace(place: Arena, scene: Callable[[LocalWorkspace], Awaitable[T]]) -> T:
    async def whole() -> T:
        environment = {"PATH": os.environ["PATH"], "HOME": str(place.home), "LANG": "C.UTF-8"}
        options = sandbox_options(Home(place.home / ".kaa" / "agent"), SandboxFlags(), os.getcwd())
        workspace = LocalWorkspace.start(str(place.project), env=environment, sandbox=options)
        try:
            return await scene(workspace)
        finally:
            await workspace.close()

    return asyncio.run(whole())


@contextmanager
def _swapping(one: Path, other: Path) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", _SWAPPER, one, other], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


def _race(
    place: Arena, attempt: Callable[[LocalWorkspace, int], Awaitable[object]], patience: float = HANG_SECONDS
) -> int:
    """Try something again and again while names are swapped. Returns how often it went through.

    Args:
        place: where.
        attempt: what is tried, given its number.
        patience: seconds to wait besides until it goes through once.
    """

    async def scene(workspace: LocalWorkspace) -> int:
        through = 0
        deadline = time.monotonic() + _RACE_SECONDS
        number = 0
        while (now := time.monotonic()) < deadline or (not through and now < deadline + patience):
            number += 1
            with contextlib.suppress(OSError):
                await attempt(workspace, number)
                through += 1
        return through

    return _in_workspace(place, scene)


def test_a_directory_swapped_for_a_link_leads_no_write_out(place: Arena) -> None:
    directory, link = place.project / "directory", place.project / "link"
    directory.mkdir()
    link.symlink_to(place.outside)
    before = Snapshot(place.outside)

    with _swapping(directory, link):
        through = _race(place, lambda workspace, number: workspace.write(f"directory/{number}", b"harm"))

    assert through > 0
    assert not before.changes()


def test_a_file_swapped_for_a_link_leads_no_write_out(place: Arena) -> None:
    file, link = place.project / "file", place.project / "link"
    file.write_text("ours\n")
    link.symlink_to(place.outside / "canary.txt")
    before = Snapshot(place.outside)

    with _swapping(file, link):
        # On a busy machine no write may find the same file twice.
        _race(place, lambda workspace, _: workspace.write("file", b"harm"), patience=0)

    assert not before.changes()


def test_a_directory_swapped_for_a_link_leads_no_read_to_a_secret(place: Arena) -> None:
    directory, link = place.project / "directory", place.project / "link"
    directory.mkdir()
    (directory / "id_ed25519").write_text("ours\n")
    link.symlink_to(place.home / ".ssh")
    found: set[bytes] = set()

    async def read(workspace: LocalWorkspace, _: int) -> None:
        found.add((await workspace.read("directory/id_ed25519")).data)

    with _swapping(directory, link):
        through = _race(place, read)

    assert through > 0
    assert found == {b"ours\n"}


def test_the_race_is_lost_by_who_only_checks_the_path(place: Arena) -> None:
    """What the others prove nothing without: checking and then writing does get out."""
    directory, link = place.project / "directory", place.project / "link"
    directory.mkdir()
    link.symlink_to(place.outside)
    before = Snapshot(place.outside)
    deadline = time.monotonic() + _NAIVE_SECONDS

    with _swapping(directory, link):
        while not before.changes() and time.monotonic() < deadline:
            path = place.project / "directory" / "file"
            with contextlib.suppress(OSError):  # the swap came in between, too early or too late
                if path.resolve().is_relative_to(place.project):
                    path.write_text("harm")

    assert before.changes()


def test_a_link_leads_no_write_out(place: Arena) -> None:
    (place.project / "link").symlink_to(place.outside)
    (place.project / "file").symlink_to(place.outside / "canary.txt")
    (place.project / "dangling").symlink_to(place.outside / "new")
    before = Snapshot(place.outside)

    async def scene(workspace: LocalWorkspace) -> None:
        for path in ("link/new", "file", "dangling", "../../../outside/new", str(place.outside / "new"), "~/new"):
            with pytest.raises(BlockedError):
                await workspace.write(path, b"harm")

    _in_workspace(place, scene)

    assert not before.changes()
    assert not (place.home / "new").exists()


def test_a_hard_link_made_before_keeps_its_other_name_intact(place: Arena) -> None:
    (place.project / "linked").hardlink_to(place.outside / "canary.txt")

    async def scene(workspace: LocalWorkspace) -> None:
        await workspace.write("linked", b"ours now")

    _in_workspace(place, scene)

    assert (place.project / "linked").read_bytes() == b"ours now"
    assert (place.outside / "canary.txt").read_text() == "sings\n"


def test_secrets_are_not_read(place: Arena) -> None:
    secret = place.home / ".ssh" / "id_ed25519"
    (place.project / "key").symlink_to(secret)
    (place.project / "home").symlink_to(place.home)
    brain = os.getpid()

    async def scene(workspace: LocalWorkspace) -> list[bytes]:
        found = []
        for path in (
            "~/.ssh/id_ed25519",
            "~/.kaa/agent/auth.json",
            "../../.ssh/id_ed25519",
            "key",
            "home/.ssh/id_ed25519",
            f"/proc/self/root{secret}",
            f"/proc/{brain}/root{secret}",
            f"/proc/{brain}/environ",
            f"/proc/{os.getppid()}/environ",
        ):
            with contextlib.suppress(OSError):
                found.append((await workspace.read(path)).data)
            found += (await workspace.read_existing([path], 4096)).values()
        return found

    assert [each for each in _in_workspace(place, scene) if each.strip(b"\0\n")] == []


def test_secrets_are_not_found(place: Arena) -> None:
    (place.project / "home").symlink_to(place.home)

    async def scene(workspace: LocalWorkspace) -> list[str]:
        lines = []
        for path in ("~", "~/.ssh", "~/.kaa", "home"):
            with contextlib.suppress(OSError):
                lines += [line.text for line in (await workspace.search(SearchQuery(_SECRET, path=path))).lines]
        return lines

    assert _in_workspace(place, scene) == []


def test_a_program_named_by_the_project_is_not_run_by_a_search(place: Arena) -> None:
    """CVE-2025-58764: `rg --pre` runs a program, and a file of settings may say `--pre`."""
    program = place.project / "program"
    program.write_text(f"#!/bin/sh\ntouch {place.project}/sprung\n")
    program.chmod(0o755)
    (place.project / ".ripgreprc").write_text(f"--pre={program}\n")

    async def scene(workspace: LocalWorkspace) -> None:
        await workspace.search(SearchQuery("anything", path="."))
        await workspace.search(SearchQuery(f"--pre={program}", path="README.md", glob=f"--pre={program}"))
        with contextlib.suppress(OSError):
            await workspace.find("*", f"--pre={program}")

    _in_workspace(place, scene)

    assert not (place.project / "sprung").exists()


def test_what_is_no_file_is_not_opened(place: Arena) -> None:
    os.mkfifo(place.project / "fifo")
    (place.project / "zero").symlink_to("/dev/zero")
    (place.project / "input").symlink_to("/proc/self/fd/0")

    async def scene(workspace: LocalWorkspace) -> None:
        async with asyncio.timeout(HANG_SECONDS):  # it would hang
            for path in ("fifo", "zero", "input", "/dev/tty", "/proc/self/mem", "/proc/1/mem"):
                with pytest.raises(OSError, match=r"."):
                    await workspace.read(path)
            with pytest.raises(OSError, match=r"."):
                await workspace.write("/dev/full", b"harm")

    _in_workspace(place, scene)


_EXECUTED_BY_OTHERS = (
    *persistence.PROTECTED,
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/hooks/post-commit",
    ".git/hooks/pre-commit",
    ".git/modules/module/config",
    "module/.git",
    "dependency/.git/config",
    "dependency/.git/hooks/post-commit",
)


def test_what_others_execute_is_not_written(place: Arena) -> None:
    before = {path: Snapshot(place.project / path) for path in _EXECUTED_BY_OTHERS}

    async def scene(workspace: LocalWorkspace) -> list[str]:
        written = []
        for path in _EXECUTED_BY_OTHERS:
            try:
                await workspace.write(path, b"harm")
            except BlockedError:
                continue
            written.append(path)
        return written

    assert _in_workspace(place, scene) == []
    assert [path for path, snapshot in before.items() if snapshot.changes()] == []


def test_a_project_that_is_replaced_by_a_link_is_not_followed(place: Arena) -> None:
    before = Snapshot(place.outside)

    async def scene(workspace: LocalWorkspace) -> None:
        await workspace.write("first", b"ours")
        place.project.rename(place.project.with_name("aside"))
        place.project.symlink_to(place.outside)
        with contextlib.suppress(OSError):
            await workspace.write("second", b"harm")
        with contextlib.suppress(OSError):
            await workspace.write(str(place.project / "third"), b"harm")

    _in_workspace(place, scene)

    assert not before.changes()
