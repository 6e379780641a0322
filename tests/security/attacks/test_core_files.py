"""kaa crashes: the core file would hold the key, in the project, where commands can read it."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import Answer, Fault, ModelServer
from tests.support.patience import HANG_SECONDS
from tests.support.warm_start import COMMAND

_PATTERN = Path("/proc/sys/kernel/core_pattern")

pytestmark = [
    pytest.mark.usefixtures("confined"),
    pytest.mark.skipif(
        not _PATTERN.exists() or _PATTERN.read_text()[:1] in "/|\n",
        reason="core files are not written into the project",
    ),
]


def test_a_crash_leaves_no_core_file(kaa: Kaa) -> None:
    with ModelServer([Answer(text=("Hello",), fault=Fault("stall", after=0))]) as server:
        kaa.use(server, "openai-completions")
        process = subprocess.Popen(
            ["bash", "-c", f"ulimit -c unlimited; exec {COMMAND} -p hi"],
            cwd=kaa.project,
            env=kaa.environ,
            stdin=subprocess.DEVNULL,
        )
        server.wait_for_requests(1)
        process.send_signal(signal.SIGABRT)
        assert process.wait(HANG_SECONDS) == -signal.SIGABRT

    assert list(kaa.project.iterdir()) == []
