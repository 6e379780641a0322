"""Becomes an extension process: `child.py PARENT READ WRITE PROGRAM ARGUMENT…`.

It arranges the descriptors 3 and 4 and lets the kernel end the process together with kaa, which no start of a program
can do from outside without running code between fork and exec in kaa itself. Standard library only.
"""

import fcntl
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_RTLD_NOW = 2
_FIRST_FREE = 10  # above the descriptors that are replaced


def main(parent: int, read: int, write: int, command: list[str]) -> None:
    """Execute the command. `read` and `write` become descriptors 3 and 4."""
    if sys.platform == "linux":
        import _ctypes  # `ctypes` takes ten times as long to import

        program = _ctypes.dlopen(None, _RTLD_NOW)  # type: ignore[arg-type]  # None: what is loaded, as for ctypes.CDLL
        _ctypes.call_function(_ctypes.dlsym(program, "prctl"), (_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != parent:  # it ended before the line above
        sys.exit(1)
    aside = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for one in (read, write)]
    for descriptor in {read, write} - {3, 4}:
        os.close(descriptor)
    for descriptor, wanted in zip(aside, (3, 4), strict=True):
        os.dup2(descriptor, wanted)
    try:
        os.execv(command[0], command)  # noqa: S606 the manifest's program, without a shell
    except OSError as error:
        sys.exit(f"cannot execute {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
