"""One command after another in the same slot: none leaves anything to the next, and none ends the slot."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from kaa.workspace.sandbox.options import SandboxOptions

if TYPE_CHECKING:
    from tests.workspace.conftest import RunLocal
else:
    RunLocal = Any

pytestmark = pytest.mark.usefixtures("confined")

_OF_THE_C_LIBRARY = 0x180000000  # signals 32 and 33, which no program can set
_SHOW = """
import os, resource
print([resource.getrlimit(limit) for limit in range(16)], os.getpriority(os.PRIO_PROCESS, 0))
print(os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)), os.umask(0))
print(open("/proc/self/oom_score_adj").read(), open("/proc/self/timerslack_ns").read())
print([line for line in open("/proc/self/status") if line.startswith(("Sig", "Shd"))])
"""
_CHANGE = {
    "a limit": "import resource; resource.prlimit(1, resource.RLIMIT_NOFILE, (64, 64))",
    "a limit of its file sizes": "import resource; resource.prlimit(1, resource.RLIMIT_FSIZE, (4096, 4096))",
    "the stack": "import resource; resource.prlimit(1, resource.RLIMIT_STACK, (1 << 20, 1 << 20))",
    "the priority": "import os; os.setpriority(os.PRIO_PROCESS, 1, 19)",
    "that of all of the user": "import os; os.setpriority(os.PRIO_USER, 0, 19)",
    "the scheduler": "import os; os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))",
    "the processors": "import os; os.sched_setaffinity(1, {min(os.sched_getaffinity(0))})",
    "its umask": "import os; os.umask(0o777)",
}

# A tier may refuse these, as long as none takes effect.
_PERHAPS_REFUSED = {
    "the choice of what is killed": "open('/proc/1/oom_score_adj', 'w').write('1000')",
    "the timers": "open('/proc/1/timerslack_ns', 'w').write('1000000000')",
}


def _in_turn(local: RunLocal, commands: Sequence[list[str]]) -> list[CommandResult]:
    async def scenario(workspace: LocalWorkspace) -> list[CommandResult]:
        return [await workspace.run(CommandRequest(argv)) for argv in commands]

    return local(scenario, sandbox=SandboxOptions())


def _python(script: str) -> list[str]:
    return ["python3", "-I", "-S", "-c", script]


def _around(local: RunLocal, changes: dict[str, str]) -> dict[str, list[CommandResult]]:
    """Make changes in turn, with a look before, after and once more after each: what a change left stays to be seen."""
    commands = [_python(script) for change in changes.values() for script in (_SHOW, change, _SHOW, _SHOW)]
    results = _in_turn(local, commands)
    return {name: results[4 * number : 4 * number + 4] for number, name in enumerate(changes)}


def test_limits_and_priorities_are_not_left_to_the_next_command(local: RunLocal) -> None:
    for name, (before, changed, after, again) in _around(local, _CHANGE).items():
        assert before.exit_code == 0
        assert before.tail
        assert changed.exit_code == 0, (name, changed.tail)  # else nothing was changed, and nothing is tested
        assert (name, after.tail) == (name, before.tail)
        assert (name, again.tail) == (name, before.tail)


def test_what_proc_can_change_is_refused_or_not_left_to_the_next_command(local: RunLocal) -> None:
    for name, (before, changed, after, again) in _around(local, _PERHAPS_REFUSED).items():
        assert before.exit_code == 0
        assert changed.exit_code == 0 or b"PermissionError" in changed.tail or b"Read-only" in changed.tail
        assert (name, after.tail, again.tail) == (name, before.tail, before.tail)


def test_the_process_that_runs_a_command_ignores_its_signals(local: RunLocal) -> None:
    script = "for n in {1..64}; do case $n in 9|19|32|33) ;; *) kill -$n $PPID;; esac; done; echo fine"

    first, second = _in_turn(local, [["bash", "-c", script], ["echo", "next"]])

    assert (first.exit_code, first.tail.splitlines()[-1]) == (0, b"fine")
    assert second.tail == b"next\n"


def test_commands_get_the_default_for_every_signal(local: RunLocal) -> None:
    (shown,) = _in_turn(local, [["cat", "/proc/self/status"]])

    masks = [line.split()[1] for line in shown.tail.decode().splitlines() if line.startswith(("SigBlk", "SigIgn"))]
    assert [int(mask, 16) & ~_OF_THE_C_LIBRARY for mask in masks] == [0, 0]


def test_an_interrupted_command_is_reported_as_such(local: RunLocal) -> None:
    (ended,) = _in_turn(local, [["bash", "-c", "kill -INT $$"]])

    assert (ended.exit_code, ended.signal) == (None, 2)
