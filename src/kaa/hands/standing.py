"""What a command can change about the process that runs it: limits and priorities, which the next would inherit.

A process may change those of another one of the same user. Nothing of this changes by itself.
"""

import os
import resource
from typing import TypeAlias

from kaa.hands.confinement import kernel

_LIMITS = range(16)  # RLIM_NLIMITS; Python has names for most
_OF_PROCESS = 1  # IOPRIO_WHO_PROCESS of ioprio_set(2)

Standing: TypeAlias = tuple[object, ...]


def standing() -> Standing:
    """Limits and priorities of the calling process, to be compared. Linux only; some 25 us.

    Raises:
        OSError: the kernel does not tell.
    """
    return (
        *(resource.getrlimit(limit) for limit in _LIMITS),
        os.getpriority(os.PRIO_PROCESS, 0),
        os.sched_getscheduler(0),
        os.sched_getparam(0).sched_priority,
        frozenset(os.sched_getaffinity(0)),
        kernel.call("ioprio_get", _OF_PROCESS, 0),
        _read("/proc/self/oom_score_adj"),
        _read("/proc/self/timerslack_ns"),
        _read("/proc/self/coredump_filter"),
    )


def _read(path: str) -> bytes:
    """A short file of the kernel's; empty where it may not be read, or the machine has none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 64)
    finally:
        os.close(descriptor)
