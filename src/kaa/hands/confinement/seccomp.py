"""Which system calls slots may make. Pure, but for `install`.

Denied is what leads out of the sandbox, what reaches parts of the kernel that have no use here, and what Landlock and
namespaces do not cover. Denied calls fail with the error that programs know how to handle: ENOSYS where they have a
fallback, else EPERM.
"""

import ctypes
import errno
import socket
import struct
from collections.abc import Iterator, Sequence

from kaa.hands.confinement import bpf, kernel
from kaa.hands.confinement.bpf import ANY_BIT, EQUAL, GREATER_OR_EQUAL, Instruction
from kaa.hands.confinement.kernel import Architecture, number

# linux/audit.h
_AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_SET_MODE_FILTER = 1
_NEW_LISTENER = 1 << 3
_WAIT_KILLABLE = 1 << 5  # from Linux 5.19 on: signals do not take notified calls back

# Programs fall back on these errors. clone3 must be "unknown" or threads fail (moby#42681); its flags and the mode of
# openat2 lie in memory, where a filter cannot see them.
_UNKNOWN = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "openat2")
_DENIED = (
    # Other views of the file system, namespaces.
    *("mount", "umount2", "pivot_root", "chroot", "setns", "move_mount", "open_tree", "open_tree_attr"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at"),
    # Other processes' memory and files.
    *("process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp"),
    *("migrate_pages", "move_pages"),
    # The kernel itself.
    *("bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl", "fanotify_init", "lookup_dcookie"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "nfsservctl", "uselib"),
    # The machine.
    *("acct", "swapon", "swapoff", "reboot", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "quotactl"),
    *("quotactl_fd", "syslog", "vhangup", "sethostname", "setdomainname", "iopl", "ioperm", "modify_ldt"),
)
_NEW_NAMESPACES = 0x7E020000  # all CLONE_NEW* of clone, linux/sched.h
_NEW_TIME_NAMESPACE = 0x80  # of unshare only; for clone the low byte is the signal
_TYPE_INTO_TERMINAL = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX

# A file that runs as its owner, made in the sandbox, would run as the user for every other user of the machine.
_SET_USER_ID = 0o4000
_MODE_ARGUMENT = {
    "chmod": 1,
    "fchmod": 1,
    "fchmodat": 2,
    "fchmodat2": 2,
    "creat": 1,
    "mkdir": 1,
    "mkdirat": 2,
    "mknod": 1,
    "mknodat": 2,
}
_FLAGS_ARGUMENT = {"open": 1, "openat": 2}  # the mode comes next and means something only when a file may be created
_CREATES = 0o100 | 0o20000000  # O_CREAT; O_TMPFILE without its O_DIRECTORY
_WRITES = _CREATES | 0o3 | 0o1000  # O_WRONLY, O_RDWR, O_TRUNC

# Calls that give a file a name, or change one that is not open. What else changes files needs a descriptor that `open`
# or `creat` has opened for writing, and io_uring does not exist here.
_NAMES_FILES = (
    *("creat", "mkdir", "mkdirat", "mknod", "mknodat", "link", "linkat", "symlink", "symlinkat"),
    *("rename", "renameat", "renameat2", "truncate"),
)
# linux/btrfs.h: BTRFS_IOC_SNAP_CREATE, _SUBVOL_CREATE and the second version of both make directories, also with files.
_MAKES_SUBVOLUMES = (0x50009401, 0x5000940E, 0x50009417, 0x50009418)

# Calls that act on any process of the same user, and the argument that must be 0 for "myself".
_PROCESS_ARGUMENT = {
    "prlimit64": 0,
    "sched_setaffinity": 0,
    "sched_setscheduler": 0,
    "sched_setparam": 0,
    "sched_setattr": 0,
}
# (which, who): kind of target in argument 0, its id in argument 1; the last kind is "all processes of a user".
_ALL_OF_USER = {"setpriority": 2, "ioprio_set": 3}
_SHARED_MEMORY = ("shmget", "msgget", "semget")

_NETLINK_ROUTE = 0

_ALLOW = bpf.allow()
# SOCK_STREAM and SOCK_SEQPACKET among the kinds of sockets, of which the kernel looks at four bits.
_CONNECTED_BIT, _OTHER_BITS = 0b0001, 0b1010


def program(
    architecture: Architecture,
    families: tuple[int, ...],
    others_visible: bool,
    ipc_shared: bool,
    ptrace: bool,
    notify: bool = False,
    note: bool = False,
) -> bytes:
    """The filter for slots.

    With `notify`, unix sockets for datagrams are denied: they name their receivers in memory, where no filter sees it,
    with every message. What they are used for is reports to daemons (syslog, sd_notify), which are not there anyway;
    rarely, pairs of them are.

    Args:
        families: allowed socket families. Netlink is allowed for questions about interfaces only.
        others_visible: there is no process namespace, so calls that take a process id may only be used on oneself.
        ipc_shared: there is no IPC namespace, so System V IPC is switched off.
        ptrace: whether something else confines tracing to the command's own processes.
        notify: whether somebody listens who decides about each `connect`, for `install_notifying`.
        note: whether they also want to know of each call that can create a file or open one for writing.
    """
    parts = [*_preamble(architecture)]

    def judge(name: str, *body: Instruction) -> None:
        which = number(name, architecture)
        if which is not None:
            parts.extend(bpf.on_call(which, list(body)))

    for name in _UNKNOWN:
        judge(name, bpf.refuse(errno.ENOSYS))
    for name in _DENIED if ptrace else (*_DENIED, "ptrace"):
        judge(name, bpf.refuse())
    judge("clone", *_refuse_bits(0, _NEW_NAMESPACES))
    judge("unshare", *_refuse_bits(0, _NEW_NAMESPACES | _NEW_TIME_NAMESPACE))
    judge(
        "ioctl", *_notify_of_values(1, *(_MAKES_SUBVOLUMES if note else ())), *_refuse_values(1, *_TYPE_INTO_TERMINAL)
    )
    for name, body in _file_calls(note):
        judge(name, *body)
    judge("socket", *_refuse_unix_datagrams(notify), *_allow_families(families))
    # A pair of datagram sockets can be connected anew, to what `socket` would not have been allowed to reach.
    no_datagrams = notify or socket.AF_UNIX not in families
    judge("socketpair", *_refuse_unix_datagrams(no_datagrams), *_require(0, socket.AF_UNIX, errno.EACCES))
    judge("connect", bpf.notify() if notify else bpf.allow())
    if others_visible:
        for name, index in _PROCESS_ARGUMENT.items():
            judge(name, *_require(index, 0, errno.EPERM))
        for name, kind in _ALL_OF_USER.items():
            judge(name, bpf.argument(0), bpf.jump(EQUAL, kind, if_true=2), *_require(1, 0, errno.EPERM))
    if ipc_shared:
        for name in _SHARED_MEMORY:
            judge(name, bpf.refuse(errno.ENOSYS))
    return bpf.encode([*parts, bpf.allow()])


def noted_calls(architecture: Architecture) -> frozenset[int]:
    """Return the numbers of all calls of which a filter with `note` may notify."""
    names = (*_NAMES_FILES, *_FLAGS_ARGUMENT, "ioctl")
    return frozenset(which for name in names if (which := number(name, architecture)) is not None)


def install(filter_program: bytes) -> None:
    """Filter the calling process and all that it starts. Needs `forbid_new_privileges` before.

    Raises:
        OSError: the kernel refused.
    """
    _install(filter_program, 0)


def install_notifying(filter_program: bytes) -> int:
    """As `install`, for a program that notifies.

    Returns:
        A descriptor for `notifications.Listener`. Whoever has it decides; without anybody, calls fail with ENOSYS.

    Raises:
        OSError: the kernel refused, EBUSY because somebody is notified already.
    """
    try:
        return _install(filter_program, _NEW_LISTENER | _WAIT_KILLABLE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return _install(filter_program, _NEW_LISTENER)


def _install(filter_program: bytes, flags: int) -> int:
    memory = ctypes.create_string_buffer(filter_program, len(filter_program))
    # struct sock_fprog: unsigned short len; struct sock_filter *filter
    structure = struct.pack("@HP", len(filter_program) // 8, ctypes.addressof(memory))
    return kernel.call("seccomp", _SET_MODE_FILTER, flags, structure)


def _preamble(architecture: Architecture) -> Iterator[Instruction]:
    """Only calls of the machine's own kind: the numbers of 32-bit and x32 programs mean other things."""
    yield bpf.load(bpf.ARCHITECTURE_OFFSET)
    yield bpf.jump(EQUAL, _AUDIT_ARCHITECTURE[architecture], if_true=1)
    yield bpf.kill()
    yield bpf.load(bpf.NUMBER_OFFSET)
    if architecture == "x86_64":
        yield bpf.jump(GREATER_OR_EQUAL, _X32_BIT, if_false=1)
        yield bpf.refuse(errno.ENOSYS)


def _file_calls(note: bool) -> Iterator[tuple[str, Sequence[Instruction]]]:
    """Calls that make, open or name files, and their bodies."""
    noted = bpf.notify() if note else bpf.allow()
    for name, index in _MODE_ARGUMENT.items():
        yield name, _refuse_bits(index, _SET_USER_ID, noted if name in _NAMES_FILES else bpf.allow())
    for name in _NAMES_FILES if note else ():
        if name not in _MODE_ARGUMENT:
            yield name, [noted]
    for name, index in _FLAGS_ARGUMENT.items():
        only_writes = [bpf.jump(ANY_BIT, _WRITES, if_true=1), bpf.allow()] if note else []
        creates = bpf.jump(ANY_BIT, _CREATES, if_false=3)
        yield name, [bpf.argument(index), *only_writes, creates, *_refuse_bits(index + 1, _SET_USER_ID, noted)]


def _refuse_bits(index: int, bits: int, otherwise: Instruction = _ALLOW) -> list[Instruction]:
    return [bpf.argument(index), bpf.jump(ANY_BIT, bits, if_false=1), bpf.refuse(), otherwise]


def _notify_of_values(index: int, *values: int) -> list[Instruction]:
    """Leave all other values to what follows."""
    if not values:
        return []
    tests = [bpf.jump(EQUAL, value, if_true=len(values) - 1 - place) for place, value in enumerate(values)]
    last = tests.pop()._replace(if_false=1)
    return [bpf.argument(index), *tests, last, bpf.notify()]


def _refuse_values(index: int, *values: int) -> list[Instruction]:
    tests = [bpf.jump(EQUAL, value, if_true=len(values) - place) for place, value in enumerate(values)]
    return [bpf.argument(index), *tests, bpf.allow(), bpf.refuse()]


def _require(index: int, value: int, error: int) -> list[Instruction]:
    return [bpf.argument(index), bpf.jump(EQUAL, value, if_true=1), bpf.refuse(error), bpf.allow()]


def _refuse_unix_datagrams(refuse: bool) -> list[Instruction]:
    """Also by their other name, SOCK_RAW. All other sockets are left to what follows."""
    if not refuse:
        return []
    return [
        *(bpf.argument(0), bpf.jump(EQUAL, socket.AF_UNIX, if_false=4)),
        *(bpf.argument(1), bpf.jump(ANY_BIT, _OTHER_BITS, if_true=1), bpf.jump(ANY_BIT, _CONNECTED_BIT, if_true=1)),
        bpf.refuse(errno.ESOCKTNOSUPPORT),
    ]


def _allow_families(families: tuple[int, ...]) -> list[Instruction]:
    body = [bpf.argument(0)]
    for family in families:
        if family == socket.AF_NETLINK:
            body += [bpf.jump(EQUAL, family, if_false=4), *_require(2, _NETLINK_ROUTE, errno.EACCES)]
        else:
            body += [bpf.jump(EQUAL, family, if_false=1), bpf.allow()]
    return [*body, bpf.refuse(errno.EACCES)]
