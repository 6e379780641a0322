"""A program with a sandbox of its own costs kaa little while it runs, and nothing afterwards."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.workspace.commands import OwnStreams
from kaa.workspace.sandbox.program import ConfinedProgram, ProgramRights
from tests.support.elsewhere import folder_elsewhere
from tests.support.loops import in_loop

# Of the sandbox: its hands, the program's slot with what failed to connect, the proxy, and a temporary directory.
_DESCRIPTORS = 6


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        (folder / "data").mkdir()
        yield folder


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))


async def start(folder: Path, script: str) -> tuple[ConfinedProgram, int]:
    """A program, and what it prints."""
    read, write = os.pipe()
    with open(os.devnull, "r+b") as null:
        program = await ConfinedProgram.start(
            ["/bin/sh", "-c", script],
            ProgramRights(name="probe", data=str(folder / "data"), project=str(folder / "project"), access="read"),
            OwnStreams(null.fileno(), write, null.fileno()),
            environment={"PATH": os.defpath, "HOME": str(folder)},
            report=lambda _: None,
            unconfined=True,
        )
    os.close(write)
    return program, read


@in_loop
async def test_a_program_takes_few_descriptors_and_gives_them_back(folder: Path) -> None:
    before = descriptors()
    program, output = await start(folder, "echo .; exec sleep 1000")
    assert await asyncio.to_thread(os.read, output, 2) == b".\n"
    held = descriptors() - before - 1  # what the test reads
    program.end()
    await program.wait()
    os.close(output)

    assert held <= _DESCRIPTORS
    assert descriptors() == before


@in_loop
async def test_who_reads_sees_that_a_running_program_closed_its_output(folder: Path) -> None:
    program, output = await start(folder, "exec >&-; exec sleep 1000")
    try:
        assert await asyncio.wait_for(asyncio.to_thread(os.read, output, 2), 10) == b""
    finally:
        program.end()
        await program.wait()
        os.close(output)
