"""A command that talks to kaa: both directions, how it ended, and that nothing of it stays."""

import asyncio
from pathlib import Path

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest
from tests.support.processes import Processes
from tests.workspace.conftest import RunLocal


def test_it_reads_what_kaa_writes_and_kaa_reads_what_it_writes(local: RunLocal) -> None:
    async def scenario(workspace: LocalWorkspace) -> bytes:
        async with workspace.piped_program(CommandRequest(["tr", "a-z", "A-Z"])) as program:
            program.writer.write(b"hello\n")
            program.writer.write_eof()
            return await program.reader.read()

    assert local(scenario) == b"HELLO\n"


def test_it_starts_in_the_directory_of_the_command_with_its_variables(local: RunLocal, project: Path) -> None:
    (project / "inner").mkdir()

    async def scenario(workspace: LocalWorkspace) -> bytes:
        command = CommandRequest(["sh", "-c", 'pwd; echo "$GREETING"'], cwd="inner", env={"GREETING": "hello"})
        async with workspace.piped_program(command) as program:
            return await program.reader.read()

    assert local(scenario).decode().splitlines() == [str(project / "inner"), "hello"]


def test_what_it_printed_last_says_how_it_ended(local: RunLocal) -> None:
    async def ending(workspace: LocalWorkspace, script: str) -> str:
        async with workspace.piped_program(CommandRequest(["sh", "-c", script])) as program:
            return await program.ending()

    async def scenario(workspace: LocalWorkspace) -> list[str]:
        return [await ending(workspace, script) for script in ("echo broken >&2; exit 3", "exit 3", "kill -9 $$")]

    assert local(scenario) == ["broken", "it exited with code 3", "signal 9 ended it"]


def test_a_program_that_is_not_there_ends_at_once(local: RunLocal) -> None:
    async def scenario(workspace: LocalWorkspace) -> tuple[bytes, str]:
        async with workspace.piped_program(CommandRequest(["no-such-program"])) as program:
            return await program.reader.read(), await program.ending()

    assert local(scenario) == (b"", "no-such-program: command not found")


def test_a_flood_of_errors_holds_nothing_up(local: RunLocal) -> None:
    async def scenario(workspace: LocalWorkspace) -> bytes:
        script = "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo done"
        async with workspace.piped_program(CommandRequest(["sh", "-c", script])) as program:
            return await program.reader.read()

    assert local(scenario) == b"done\n"


def test_leaving_ends_it(local: RunLocal, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> bool:
        command = CommandRequest(["sh", "-c", "trap '' TERM; echo $$; sleep 1000"])
        async with workspace.piped_program(command) as program:
            pid = int(await program.reader.readline())
        return processes.alive(pid)

    assert not local(scenario)


def test_a_cancelled_use_ends_it(local: RunLocal, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> bool:
        pids: asyncio.Queue[int] = asyncio.Queue()

        async def use() -> None:
            async with workspace.piped_program(CommandRequest(["sh", "-c", "echo $$; sleep 1000"])) as program:
                pids.put_nowait(int(await program.reader.readline()))
                await program.reader.read()

        using = asyncio.create_task(use())
        pid = await pids.get()
        using.cancel()
        await asyncio.wait({using})
        return processes.alive(pid)

    assert not local(scenario)
