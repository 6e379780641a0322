import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.program import Program
from tests.support.warm_start import COMMAND


@pytest.fixture
def kaa(tmp_path: Path) -> Kaa:
    return Kaa(tmp_path)


def _command_line(process: "subprocess.Popen[str]") -> str:
    return Path(f"/proc/{process.pid}/cmdline").read_text()


@pytest.mark.skipif(sys.platform != "linux" or bool(os.environ.get("KAA_TESTS_COLD")), reason="all runs are cold")
@pytest.mark.skipif("COVERAGE_PROCESS_CONFIG" in os.environ, reason="coverage needs cold runs")
class TestWarm:
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
