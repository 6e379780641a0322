"""System calls that Python has no functions for; a failed one is an `OSError`. Numbers: the kernel's syscall tables."""

import ctypes
import os
from functools import cache
from typing import Literal, TypeAlias

from kaa.hands.confinement.contract import ConfinementError

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
Architecture: TypeAlias = Literal["x86_64", "aarch64"]
# name: (x86_64, aarch64). None where the architecture never had it.
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "capget": (125, 90),
    "capset": (126, 91),
    "chmod": (90, None),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "connect": (42, 203),
    "creat": (85, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "fstatfs": (138, 44),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "ioprio_get": (252, 31),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "link": (86, None),
    "linkat": (265, 37),
    "lookup_dcookie": (212, 18),
    "migrate_pages": (256, 238),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "msgget": (68, 186),
    "nfsservctl": (180, 42),
    "open": (2, None),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "seccomp": (317, 277),
    "semget": (64, 190),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "statx": (332, 291),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "syslog": (103, 116),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "uselib": (134, None),
    "vhangup": (153, 58),
}


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


def architecture() -> Architecture | None:
    """The architecture we run on, or None if we do not know its system calls."""
    match os.uname().machine:
        case "x86_64":
            return "x86_64"
        case "aarch64" | "arm64":
            return "aarch64"
        case _:
            return None


def number(name: str, of: Architecture) -> int | None:
    """The number of a system call, or None if the architecture has none."""
    on_x86_64, on_aarch64 = NUMBERS[name]
    return on_x86_64 if of == "x86_64" else on_aarch64
