"""Commands of the local workspace: real programs, real signals."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.processes import Processes

if TYPE_CHECKING:
    from tests.workspace.conftest import RunLocal
else:
    RunLocal = Any

_MEGABYTE = 1024 * 1024
# A daemon as daemons are made: two forks, a session of its own, no ties to the terminal.
_DAEMON = "setsid bash -c '(echo $BASHPID >> {pids}; exec sleep 1000) & disown; exec true' & wait; "


def _bash(script: str, timeout: float | None = None, **options: Any) -> CommandRequest:
    return CommandRequest(["bash", "-c", script], timeout=timeout, **options)


def test_exit_code_and_both_streams_in_their_order(local: RunLocal) -> None:
    shown: list[bytes] = []

    result = local(lambda w: w.run(_bash("echo one; echo two >&2; echo three; exit 3"), shown.append))

    assert (result.exit_code, result.signal, result.tail) == (3, None, b"one\ntwo\nthree\n")
    assert (result.output_bytes, result.output_lines, result.log_path) == (14, 3, None)
    assert b"".join(shown) == result.tail


def test_death_by_signal_is_reported_as_such(local: RunLocal) -> None:
    result = local(lambda w: w.run(_bash("kill -SEGV $$")))

    assert (result.exit_code, result.signal) == (None, signal.SIGSEGV)


def test_output_that_is_not_utf8_arrives_unchanged(local: RunLocal) -> None:
    result = local(lambda w: w.run(_bash(r"printf 'caf\xe9\x00\xff'")))

    assert result.tail == b"caf\xe9\x00\xff"
    assert result.output_lines == 1


def test_standard_input_is_empty(local: RunLocal) -> None:
    result = local(lambda w: w.run(CommandRequest(["cat"])))

    assert (result.exit_code, result.tail) == (0, b"")


def test_signals_have_their_usual_effect(local: RunLocal) -> None:
    # Python ignores SIGPIPE; were that inherited, `yes` would complain and fail instead of dying quietly.
    result = local(lambda w: w.run(_bash("yes | head -1; echo ${PIPESTATUS[0]}")))

    assert result.tail == b"y\n141\n"


def test_environment_and_directory_of_a_command(local: RunLocal, project: Path) -> None:
    (project / "sub").mkdir()
    command = _bash('echo "$PWD $ADDED ${HOME-none} $KAA"', cwd="sub", env={"ADDED": "a b", "HOME": None})

    result = local(lambda w: w.run(command))

    assert result.tail.decode() == f"{project}/sub a b none 1\n"


def test_secrets_do_not_reach_commands(local: RunLocal) -> None:
    result = local(lambda w: w.run(CommandRequest(["env"])), ANTHROPIC_API_KEY="sk-1", GITHUB_TOKEN="gh-1", EDITOR="vi")

    assert b"sk-1" not in result.tail
    assert b"gh-1" not in result.tail
    assert b"EDITOR=vi" in result.tail


def test_nothing_of_the_brain_is_inherited(local: RunLocal) -> None:
    result = local(lambda w: w.run(_bash("ls -l /proc/self/fd 2>/dev/null || ls -l /dev/fd")))

    assert b"socket:" not in result.tail


def test_a_file_that_is_not_executable_ends_as_in_a_shell(local: RunLocal, project: Path) -> None:
    (project / "script").write_text("echo hi\n")

    result = local(lambda w: w.run(CommandRequest(["./script"])))

    assert (result.exit_code, result.tail) == (126, b"./script: Permission denied\n")


def test_a_script_without_interpreter_line_is_run_by_sh(local: RunLocal, project: Path) -> None:
    (project / "script").write_text('echo "hi $1"\n')
    (project / "script").chmod(0o755)

    result = local(lambda w: w.run(CommandRequest(["./script", "there"])))

    assert (result.exit_code, result.tail) == (0, b"hi there\n")


def test_programs_are_looked_for_in_the_path_of_the_command(local: RunLocal, project: Path) -> None:
    (project / "bin").mkdir()
    (project / "bin" / "greet").write_text("#!/bin/sh\necho hello\n")
    (project / "bin" / "greet").chmod(0o755)
    path = f"/nowhere:{project}/bin:{os.environ['PATH']}"

    result = local(lambda w: w.run(CommandRequest(["greet"], env={"PATH": path})))

    assert result.tail == b"hello\n"


@pytest.mark.usefixtures("mounts")
def test_no_process_is_started_for_a_folder_without_the_program(local: RunLocal) -> None:
    """A process namespace of its own counts: the number of the shell says how many were started before it."""
    path = ":".join([*(f"/nowhere/{number}" for number in range(100)), "/usr/bin", "/bin"])

    result = local(
        lambda w: w.run(CommandRequest(["sh", "-c", "echo $$"], env={"PATH": path})), sandbox=SandboxOptions()
    )

    assert int(result.tail) < 50


def test_a_file_that_may_not_be_executed_does_not_hide_a_program(local: RunLocal, project: Path) -> None:
    (project / "bin").mkdir()
    (project / "bin" / "echo").write_text("not me\n")
    path = f"{project}/bin:{os.environ['PATH']}"

    result = local(lambda w: w.run(CommandRequest(["echo", "me"], env={"PATH": path})))

    assert result.tail == b"me\n"


def test_a_large_argument_arrives_whole(local: RunLocal) -> None:
    text = "ä" * 60_000

    result = local(lambda w: w.run(CommandRequest(["printf", "%s", text], tail_bytes=_MEGABYTE)))

    assert result.tail.decode() == text


def test_arguments_too_large_for_the_system_are_refused_with_a_reason(local: RunLocal) -> None:
    result = local(lambda w: w.run(CommandRequest(["true", *["x" * 100_000] * 60])))

    assert (result.exit_code, result.tail) == (126, b"true: Argument list too long\n")


def test_a_null_character_in_an_argument_is_an_error(local: RunLocal) -> None:
    with pytest.raises(OSError, match="null"):
        local(lambda w: w.run(CommandRequest(["echo", "a\0b"])))


def test_a_background_process_does_not_delay_the_end_and_is_stopped(local: RunLocal, processes: Processes) -> None:
    result = local(lambda w: w.run(_bash("sleep 1000 & echo $!")))

    assert (result.exit_code, result.leftovers) == (0, 1)
    assert not processes.alive(int(result.tail))


def test_a_daemon_that_left_its_session_is_stopped_too(local: RunLocal, project: Path, processes: Processes) -> None:
    result = local(lambda w: w.run(_bash(_DAEMON.format(pids="pids") * 3)))

    pids = processes.pids_in(project / "pids", 3)
    assert (result.exit_code, result.leftovers) == (0, 3)
    assert not any(map(processes.alive, pids))


def test_what_a_background_process_still_has_to_say_is_waited_for(local: RunLocal) -> None:
    says = 'touch begun; while read -r line; do echo "${line/a/b}"; done'  # without a program that takes time to start
    script = f"exec > >({says}); until [ -e begun ]; do sleep 0.01; done; echo aaa"

    result = local(lambda w: w.run(_bash(script)))

    assert (result.tail, result.leftovers) == (b"baa\n", 0)


def test_a_timeout_stops_the_whole_tree(local: RunLocal, project: Path, processes: Processes) -> None:
    script = _DAEMON.format(pids="pids") + "sleep 1000 & echo $! >> pids; echo $$ >> pids; wait"

    result = local(lambda w: w.run(_bash(script, timeout=0.5)))

    assert (result.timed_out, result.exit_code, result.signal) == (True, None, signal.SIGTERM)
    assert not any(map(processes.alive, processes.pids_in(project / "pids", 3)))


def test_a_command_may_clean_up_when_it_is_told_to_stop(local: RunLocal) -> None:
    script = "trap 'echo cleaned; exit 9' TERM; echo ready; while :; do sleep 0.05; done"

    result = local(lambda w: w.run(_bash(script, timeout=0.5)))

    assert (result.timed_out, result.exit_code) == (True, 9)
    assert result.tail.endswith(b"cleaned\n")


def test_whoever_ignores_the_word_to_stop_is_killed(local: RunLocal) -> None:
    result = local(lambda w: w.run(_bash("trap '' TERM; while :; do sleep 0.05; done", timeout=0.3)))

    assert (result.timed_out, result.signal) == (True, signal.SIGKILL)


def test_a_stopped_process_ends_as_well(local: RunLocal) -> None:
    result = local(lambda w: w.run(_bash("kill -STOP $$", timeout=0.3)))

    assert (result.timed_out, result.signal) == (True, signal.SIGTERM)


def test_cancelling_returns_only_when_nothing_runs_any_more(
    local: RunLocal, project: Path, processes: Processes
) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        script = _DAEMON.format(pids="pids") + "sleep 1000 & echo $! >> pids; wait"
        task = asyncio.create_task(workspace.run(_bash(script)))
        pids = await asyncio.to_thread(processes.pids_in, project / "pids", 2)

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert not any(map(processes.alive, pids))

    local(scenario)


def test_cancelling_again_is_less_patient_but_as_thorough(local: RunLocal, project: Path, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        script = "trap 'touch told' TERM; echo $$ > pids; while :; do sleep 0.02; done"
        task = asyncio.create_task(workspace.run(_bash(script)))
        pids = await asyncio.to_thread(processes.pids_in, project / "pids", 1)

        task.cancel()
        while not (project / "told").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert not any(map(processes.alive, pids))

    local(scenario)


def test_cancelling_right_at_the_start_loses_nothing(local: RunLocal, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        for turns in range(12):
            task = asyncio.create_task(workspace.run(CommandRequest(["sleep", "1000"])))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        result = await workspace.run(CommandRequest(["echo", "fine"]))
        assert result.tail == b"fine\n"
        hands = processes.hands()
        sleeping = [pid for slot in processes.children(hands) for pid in processes.children(slot)]
        assert sleeping == []

    local(scenario)


def test_an_error_of_the_listener_stops_the_command_and_is_raised(local: RunLocal, processes: Processes) -> None:
    pids: list[int] = []

    def listener(chunk: bytes) -> None:
        pids.append(int(chunk))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        local(lambda w: w.run(_bash("echo $$; sleep 1000"), listener))

    assert not any(map(processes.alive, pids))


def test_closing_stops_what_runs(local: RunLocal, project: Path, processes: Processes) -> None:
    results: list[CommandResult] = []

    async def scenario(workspace: LocalWorkspace) -> None:
        async def run() -> None:
            results.append(await workspace.run(_bash("echo $$ > pids; sleep 1000")))

        task = asyncio.create_task(run())
        await asyncio.to_thread(processes.pids_in, project / "pids", 1)
        await workspace.close()
        await task

    local(scenario)

    assert [result.signal for result in results] == [signal.SIGTERM]
    assert not any(map(processes.alive, processes.pids_in(project / "pids", 1)))


def test_commands_run_side_by_side(local: RunLocal, project: Path) -> None:
    os.mkfifo(project / "pipe")  # whose ends wait for each other: one after the other, the commands would never end

    async def scenario(workspace: LocalWorkspace) -> tuple[CommandResult, CommandResult]:
        writer, reader = _bash("echo hello > pipe"), _bash("cat pipe")
        return await asyncio.gather(workspace.run(writer), workspace.run(reader))

    results = local(scenario)

    assert [result.tail for result in results] == [b"", b"hello\n"]


def test_a_long_output_is_kept_at_its_end_and_whole_in_a_private_file(local: RunLocal, logs: Path) -> None:
    result = local(lambda w: w.run(_bash("seq 100000", tail_bytes=20)))

    assert result.tail == b"99998\n99999\n100000\n"[-20:].rjust(20, b"\n")
    assert result.output_lines == 100_000
    assert result.log_path is not None
    log = Path(result.log_path)
    assert log.read_bytes() == b"".join(b"%d\n" % number for number in range(1, 100_001))
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
    assert logs in log.parents


def test_output_as_long_as_the_tail_needs_no_file(local: RunLocal) -> None:
    result = local(lambda w: w.run(_bash("printf 12345678", tail_bytes=8)))

    assert (result.tail, result.log_path) == (b"12345678", None)


def test_no_file_is_written_when_none_is_wanted(local: RunLocal, logs: Path) -> None:
    result = local(lambda w: w.run(_bash("seq 1000", tail_bytes=8, spill=False)))

    assert (result.tail, result.output_lines, result.log_path) == (b"99\n1000\n", 1000, None)
    assert not logs.exists() or list(logs.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to measure memory")
def test_300_megabytes_of_output_do_not_grow_the_process(local: RunLocal) -> None:
    sizes: list[int] = []
    chunks: list[int] = []

    def listener(chunk: bytes) -> None:
        chunks.append(len(chunk))
        if len(chunks) % 100 == 1:
            sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096)

    result = local(lambda w: w.run(_bash("head -c 300M /dev/zero"), listener))

    assert result.output_bytes == sum(chunks) == 300 * _MEGABYTE
    assert max(sizes) - sizes[0] < 20 * _MEGABYTE
    assert result.log_path is not None
    assert os.path.getsize(result.log_path) == 300 * _MEGABYTE
    os.unlink(result.log_path)


def test_many_commands_leak_neither_descriptors_nor_processes(local: RunLocal, processes: Processes) -> None:
    async def scenario(workspace: LocalWorkspace) -> None:
        await workspace.run(CommandRequest(["true"]))
        await asyncio.sleep(0.1)  # until the slot for the next command has been forked, for which sockets are open
        hands = processes.hands()
        before = len(os.listdir("/dev/fd")), len(os.listdir(f"/proc/{hands}/fd"))

        for _ in range(5):
            await asyncio.gather(*(workspace.run(_bash("true &")) for _ in range(10)))
        await asyncio.sleep(0.1)
        await workspace.run(CommandRequest(["true"]))

        after = len(os.listdir("/dev/fd")), len(os.listdir(f"/proc/{hands}/fd"))
        # A slot that is being made, or waits for the next command, has a few; one that leaked had left 50.
        assert after[0] <= before[0] + 10
        assert after[1] <= before[1] + 10
        assert len(processes.children(hands)) <= 12

    local(scenario)


_BRAIN = """
import asyncio, sys
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest
from kaa.workspace.sandbox.options import SandboxOptions
workspace = LocalWorkspace.start(sys.argv[1], sandbox=SandboxOptions(mode=sys.argv[3]))
asyncio.run(workspace.run(CommandRequest(["bash", "-c", sys.argv[2]])))
"""


@pytest.mark.parametrize("mode", ["workspace-write", "full-access"])
@pytest.mark.usefixtures("confined")
def test_when_the_brain_is_killed_everything_it_started_ends(project: Path, processes: Processes, mode: str) -> None:
    script = _DAEMON.format(pids="pids") + "trap '' TERM; sleep 1000 & echo $! $$ >> pids; wait"
    brain = subprocess.Popen([sys.executable, "-c", _BRAIN, str(project), script, mode])
    processes.pids_in(project / "pids", 3)
    started = processes.descendants(brain.pid)

    brain.kill()
    brain.wait()

    assert len(started) >= 6  # the hands, two slots at least, and what the command started
    processes.wait_until_gone(*started)
