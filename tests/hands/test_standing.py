import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has what is compared")

# ioprio_set(2): the best-effort class, lowest priority; the number of the call differs between architectures.
_CHANGES = {
    "what is killed first": "write('oom_score_adj', '500')",
    "the slack of timers": "write('timerslack_ns', '1000000000')",
    "what a core file has": "write('coredump_filter', '0x1')",
    "the priority of its input and output": "kernel.call('ioprio_set', 1, 0, 2 << 13 | 7)",
    "a limit": "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))",
    "its priority": "os.nice(5)",
    "its scheduler": "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))",
}
_SCRIPT = """
import os, resource
from kaa.hands.confinement import kernel
from kaa.hands.processes import standing

def write(name, text):
    with open(f"/proc/self/{{name}}", "w") as file:
        file.write(text)

before = standing()
assert before == standing()
{change}
print(sum(one != other for one, other in zip(before, standing(), strict=True)))
"""


@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES.keys())
def test_a_change_of_the_process_shows(change: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT.format(change=change)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
