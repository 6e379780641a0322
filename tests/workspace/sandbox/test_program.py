"""A program with a sandbox of its own costs kaa little while it runs, and nothing afterwards."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.workspace.commands import OwnStreams
from kaa.workspace.network.allow_list import HostVerdict, NetworkRule
from kaa.workspace.network.destinations import Destination
from kaa.workspace.sandbox.program import ConfinedProgram, ProgramRights, ProjectAccess
from tests.support.elsewhere import folder_elsewhere
from tests.support.loops import in_loop
from tests.support.patience import HANG_SECONDS

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


async def start(
    folder: Path,
    script: str,
    access: ProjectAccess = "read",
    stdin: int | None = None,
    replaced: tuple[tuple[str, str], ...] = (),
) -> tuple[ConfinedProgram, int]:
    """A program, and what it prints."""
    read, write = os.pipe()
    rights = ProgramRights(
        name="probe",
        data=str(folder / "data"),
        project=str(folder / "project"),
        access=access,
        hidden=(f"{folder}/project/docs/*.key", f"{folder}/project/*/.env"),
        replaced=replaced,
    )
    with open(os.devnull, "r+b") as null:
        program = await ConfinedProgram.start(
            ["/bin/sh", "-c", script],
            rights,
            OwnStreams(null.fileno() if stdin is None else stdin, write, null.fileno()),
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


@pytest.mark.parametrize("access", ["read", "write"])
@in_loop
async def test_a_running_program_does_not_see_secrets_that_are_new_or_replaced(
    folder: Path, access: ProjectAccess, tier: str
) -> None:
    if tier != "full":
        pytest.skip("only tier full hides while a program runs")
    docs = folder / "project/docs"
    docs.mkdir()
    (docs / "old.key").write_text("SECRET")
    (docs / "notes").write_text("seen")
    given, giving = os.pipe()
    script = f"cd {folder}/project; while read _; do cat */*.key */.env docs/notes; echo .; done"
    program, output = await start(folder, script, access, given)
    os.close(given)

    def printed() -> str:
        os.write(giving, b"\n")
        text = b""
        while not text.endswith(b".\n"):
            text += os.read(output, 1000)
        return text.decode()

    async def is_hidden() -> None:
        async with asyncio.timeout(HANG_SECONDS):
            while (text := await asyncio.to_thread(printed)) != "seen.\n":
                assert "SECRET" in text

    try:
        await is_hidden()
        (docs / "new").write_text("SECRET")
        (docs / "new").rename(docs / "old.key")
        (docs / "new.key").write_text("SECRET")
        await is_hidden()
        (folder / "project/later").mkdir()
        (folder / "project/later/.env").write_text("SECRET")
        await is_hidden()
    finally:
        os.close(giving)
        program.end()
        await program.wait()
        os.close(output)


@in_loop
async def test_a_program_that_writes_the_home_does_not_write_the_cache_of_kaa(folder: Path, tier: str) -> None:
    """There are the copies of other servers' code, and what commands left in /tmp."""
    if tier not in ("full", "bwrap"):
        pytest.skip("only mounts protect what lies in a writable directory")
    folder.joinpath("project").rmdir()
    folder.joinpath("project").symlink_to(".")
    others = folder / ".cache/kaa/servers/tmp/other"
    others.mkdir(parents=True)
    script = f"echo x >{folder}/plain; echo x >{others}/planted; echo x >{folder}/.cache/kaa/planted; echo ."

    program, output = await start(folder, script, "write")
    await program.wait()
    os.close(output)

    assert (folder / "plain").exists()
    assert list(others.iterdir()) == []
    assert not (folder / ".cache/kaa/planted").exists()


@pytest.mark.parametrize("access", ["read", "write"])
@in_loop
async def test_a_file_beside_copied_code_stays_the_one_of_the_project(
    folder: Path, access: ProjectAccess, tier: str
) -> None:
    """An editor, `sed -i` and kaa's own tools replace files."""
    if tier != "full":
        pytest.skip("only tier full mounts while a program runs")
    project, copy = folder / "project", folder / "copy"
    copy.mkdir()
    for name in ("notes", "written"):
        (copy / name).touch()
        (project / name).write_text("first")
    live = tuple((str(project / name), str(project / name)) for name in ("notes", "written"))
    given, giving = os.pipe()
    script = f"cd {project}; while read _; do echo own >written; cat notes; echo .; done"
    program, output = await start(folder, script, access, given, ((str(project), str(copy)), *live))
    os.close(given)

    def printed() -> str:
        os.write(giving, b"\n")
        text = b""
        while not text.endswith(b".\n"):
            text += os.read(output, 1000)
        return text.decode()

    def is_written() -> bool:
        return (project / "written").read_text() == "own\n"

    try:
        assert await asyncio.to_thread(printed) == "first.\n"
        assert is_written() is (access == "write")
        for name in ("notes", "written"):
            (project / "new").write_text("second")
            (project / "new").rename(project / name)

        async with asyncio.timeout(HANG_SECONDS):
            while (text := await asyncio.to_thread(printed)) != "second.\n" or is_written() is (access == "read"):
                assert text in ("first.\n", "second.\n", ".\n")
    finally:
        os.close(giving)
        program.end()
        await program.wait()
        os.close(output)


def test_a_host_that_others_named_has_public_addresses_only(folder: Path) -> None:
    hosts = ("cdn.example", "git.corp.example", "a.web.example", "192.168.7.3")
    own = tuple(map(NetworkRule.parse, ("git.corp.example", "*.web.example", "db.corp.example")))
    rights = ProgramRights("probe", str(folder / "data"), str(folder / "project"), hosts=hosts, own_hosts=own)

    network = rights.options(str(folder)).network
    reached = {
        (host, address): network.judge(Destination(host, 443), address)
        for host in (*hosts, "db.corp.example")
        for address in ("192.168.7.3", "8.8.8.8")
    }

    assert {asked for asked, verdict in reached.items() if verdict is HostVerdict.ALLOWED} == {
        *((host, "8.8.8.8") for host in hosts),
        ("git.corp.example", "192.168.7.3"),
        ("192.168.7.3", "192.168.7.3"),
    }
    assert network.mode == "allow-list"
