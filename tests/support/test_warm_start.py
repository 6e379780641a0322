import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kaa.workspace.launch import LaunchedHands, launch
from tests.end_to_end.detached import started
from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import Answer, Fault, ModelServer
from tests.support.patience import HANG_SECONDS
from tests.support.program import Program
from tests.support.started_by_kaa import AS_A_PROGRAM
from tests.support.warm_start import COMMAND, cold_hands


@pytest.fixture
def kaa(tmp_path: Path) -> Kaa:
    return Kaa(tmp_path)


# In /proc/PID/status (proc_pid_status(5)); name and parent differ, and SigQ counts signals of all the user's processes.
_SIGNALS = ("SigPnd", "SigBlk", "SigIgn", "SigCgt", "ShdPnd")
_STANDING = ("Umask", "Uid", "Gid", "Groups", "Threads", *_SIGNALS, "Cap", "NoNewPrivs", "Seccomp")


def _properties(hands: LaunchedHands) -> dict[str, object]:
    """What the kernel knows of hands that wait to be told their workspace."""
    process = Path(f"/proc/{hands.process.pid}")
    deadline = time.monotonic() + HANG_SECONDS
    while (process / "fd/0").readlink() != Path(os.devnull):  # then they have taken their socket from there
        assert time.monotonic() < deadline, "they do not start"
        time.sleep(0.01)
    lines = (line.partition(":") for line in (process / "status").read_text().splitlines())
    return {
        "status": {name: value for name, _, value in lines if name.startswith(_STANDING)},
        "descriptors": sorted(str(fd.readlink()).partition(":")[0] for fd in (process / "fd").iterdir()),
        "links": [(process / name).readlink() for name in ("exe", "cwd", "root", "ns/mnt", "ns/net")],
        "limits": (process / "limits").read_text(),
        "environment": (process / "environ").read_bytes(),
        "is leader": os.getsid(hands.process.pid) == os.getpgid(hands.process.pid) == hands.process.pid,
    }


def _ended(hands: LaunchedHands) -> int:
    hands.control.close()
    return hands.process.wait()


def _command_line(process: "subprocess.Popen[str]") -> str:
    return Path(f"/proc/{process.pid}/cmdline").read_text()


@pytest.mark.skipif(sys.platform != "linux" or bool(os.environ.get("KAA_TESTS_COLD")), reason="all runs are cold")
@pytest.mark.skipif("COVERAGE_PROCESS_CONFIG" in os.environ, reason="coverage needs cold runs")
class TestWarm:
    def test_forked_hands_have_the_properties_of_a_new_program(self) -> None:
        forked = launch()
        with cold_hands():
            program = launch()

        deadline = time.monotonic() + HANG_SECONDS
        while _properties(forked) != _properties(program) and time.monotonic() < deadline:
            time.sleep(0.05)  # one of them is still getting ready

        assert _properties(forked) == _properties(program)
        assert (_ended(forked), _ended(program)) == (0, 0)

    def test_the_end_of_forked_hands_is_known(self) -> None:
        hands = launch()

        with pytest.raises(subprocess.TimeoutExpired):
            hands.process.wait(timeout=0)
        hands.process.kill()

        assert hands.process.wait() == -signal.SIGKILL
        hands.control.close()

    def test_a_run_that_a_run_starts_is_forked_too_if_it_need_not_be_a_program(self, kaa: Kaa) -> None:
        with ModelServer([Answer(text=("Work", "ing"), fault=Fault("stall"))] * 2) as server:
            kaa.use(server, "openai-completions")
            with started(kaa, "hi") as one:
                forked = Path(f"/proc/{one.pid}/cmdline").read_text()
            kaa.setenv(**AS_A_PROGRAM)
            with started(kaa, "hi") as one:
                program = Path(f"/proc/{one.pid}/cmdline").read_text()

        assert "warm_server.py" in forked
        assert "-m\0kaa\0agents" in program

    def test_a_run_is_forked_and_a_child_of_this_process(self, kaa: Kaa) -> None:
        with kaa.running("--mode", "rpc", stdin=subprocess.PIPE) as process:
            assert "warm_server.py" in _command_line(process)
            process.kill()
            assert process.wait() == -signal.SIGKILL

    def test_a_locale_needs_a_process_of_its_own(self, kaa: Kaa) -> None:
        kaa.setenv(LC_ALL="C.UTF-8")

        with kaa.running("--mode", "rpc", stdin=subprocess.PIPE) as process:
            assert "warm_server.py" not in _command_line(process)


def test_the_exit_status_and_both_streams_arrive(kaa: Kaa) -> None:
    done = kaa.run("--modell")

    assert (done.code, done.out) == (2, "")
    assert "--modell" in done.err


def test_a_run_has_its_own_directory_and_environment(kaa: Kaa, tmp_path: Path) -> None:
    kaa.setenv(KAA_DIR=str(tmp_path / "other"))

    shown = kaa.run("doctor", "--json").out

    assert str(kaa.project) in shown


def test_a_terminal_becomes_that_of_the_run(kaa: Kaa) -> None:
    with Program.start([COMMAND, "--help"], env=kaa.environ, cwd=kaa.project) as program:
        program.wait_for("exit codes")

        assert program.wait_for_end() == 0
