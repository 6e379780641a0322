"""System calls that Python has no functions for; a failed one is an `OSError`."""

import ctypes
import os
from functools import cache

from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.confinement.syscalls import architecture, number

# linux/prctl.h
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47

_SIGCHLD = 17  # on both architectures
_STATFS_BYTES = 256  # 120 on both architectures
# linux/magic.h: ext2 to ext4, XFS, btrfs, tmpfs, F2FS, overlayfs. Their times are of this machine's clock; what others
# say is that of a server, or nothing.
_LOCAL = frozenset({0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010, 0x794C7630})

# The GIL stays held during calls: none of them blocks, and a fork needs it held.
_libc = ctypes.PyDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
# The C function takes any number of arguments, so each must have the width of a register: the upper half of a shorter
# one is undefined. Pointers have it, and may be made from numbers, too.
_MOST_ARGUMENTS = 6
_syscall.argtypes = [ctypes.c_long, *[ctypes.c_void_p] * _MOST_ARGUMENTS]
_NO_ARGUMENTS = (0,) * _MOST_ARGUMENTS


def call(name: str, *arguments: int | bytes | None) -> int:
    """Make a system call.

    Args:
        arguments: numbers, or bytes to whose memory the kernel gets the address.

    Raises:
        OSError: it failed; the message names the call.
        ConfinementError: we do not know the system calls of this machine.
    """
    result: int = _syscall(number_of(name), *arguments, *_NO_ARGUMENTS[len(arguments) :])
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


@cache
def number_of(name: str) -> int:
    """The number of a system call on this machine.

    Raises:
        ConfinementError: we do not know the system calls of this machine.
    """
    machine = architecture()
    which = machine and number(name, machine)
    if which is None:
        raise ConfinementError(f"this machine ({os.uname().machine}) has no {name} that kaa knows")
    return which


def prctl(option: int, value: int = 0) -> None:
    """Change an attribute of the calling process.

    Raises:
        OSError: the kernel refused.
    """
    call("prctl", option, value, 0, 0, 0)


def forbid_new_privileges() -> None:
    """Nothing this process executes gains privileges any more; set-user-ID bits have no effect."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def has_times_of_this_machine(descriptor: int) -> bool:
    """Whether the file system of a file takes the times of changes from the clock of this machine.

    Raises:
        OSError: it is not known.
    """
    memory = ctypes.create_string_buffer(_STATFS_BYTES)
    call("fstatfs", descriptor, ctypes.addressof(memory))
    return int.from_bytes(memory.raw[:4], "little") in _LOCAL  # f_type is a long


def fork_into(namespaces: int) -> int:
    """Fork with the child in new namespaces, in one step. The caller must have one thread only.

    `unshare` before `os.fork` cannot do this more than once: a process may choose the process namespace of its children
    only while it is still its own.

    Args:
        namespaces: CLONE_NEW* flags.

    Returns:
        The child's id, or 0 in the child.

    Raises:
        OSError: there is no child.
    """
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = -1
    try:
        pid = call("clone", namespaces | _SIGCHLD, None, None, None, None)
    finally:
        if pid == 0:
            ctypes.pythonapi.PyOS_AfterFork_Child()
        else:
            ctypes.pythonapi.PyOS_AfterFork_Parent()
    return pid
