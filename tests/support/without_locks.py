"""Runs a command where no file system has locks or hard links, as in some network and container file systems.

Usage: python without_locks.py PROGRAM ARGUMENT…
"""

import errno
import os
import sys

from kaa.hands.confinement import bpf, kernel, seccomp
from kaa.hands.confinement.kernel import architecture

# Calls, their numbers on x86_64 and aarch64, and how they fail.
_CALLS = {"flock": (73, 32, errno.ENOLCK), "link": (86, None, errno.EPERM), "linkat": (265, 37, errno.EPERM)}


def main() -> None:
    """Become the command."""
    machine = architecture()
    assert machine is not None
    kernel.forbid_new_privileges()
    parts = [bpf.load(0)]  # the number of the call, in struct seccomp_data
    for on_x86_64, on_aarch64, error in _CALLS.values():
        which = on_x86_64 if machine == "x86_64" else on_aarch64
        if which is not None:
            parts.extend(bpf.on_call(which, [bpf.refuse(error)]))
    seccomp.install(bpf.encode([*parts, bpf.allow()]))
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
