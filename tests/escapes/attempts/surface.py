"""Parts of the kernel that the sandbox closes because they have let people out before.

Nothing outside changes when they are open, so no canary can tell: the attempt's own word counts here, and these are not
counted as escapes. Each asks for something that does no harm when it is granted.
"""

import ctypes
import errno
import os
import socket
import struct

from tests.escapes.attempts.kit import CLONE_NEWNET, CLONE_NEWUSER, Given, attempt, libc, syscall, unshare
from tests.escapes.attempts.uring import Ring


def _open_socket(family: int, kind: int = socket.SOCK_RAW, protocol: int = 0) -> None:
    socket.socket(family, kind, protocol).close()


# <linux/socket.h>: the families that say the least to an ordinary program and the most to those who look for faults.
_FAMILIES = {
    "ax25": 3,
    "packet": 17,
    "key": 15,
    "rds": 21,
    "can": 29,
    "tipc": 30,
    "bluetooth": 31,
    "alg": 38,
    "vsock": 40,
}
for _name, _family in _FAMILIES.items():
    for _kind in (socket.SOCK_SEQPACKET, socket.SOCK_DGRAM) if _name in {"alg", "bluetooth", "vsock"} else ():
        attempt("claim", name=f"socket of {_name}, {_kind.name}")(
            lambda given, family=_family, kind=_kind: _open_socket(family, kind)  # type: ignore[misc]  # bound values
        )
    attempt("claim", name=f"socket of {_name}")(
        lambda given, family=_family: _open_socket(family)  # type: ignore[misc]  # a default binds the loop's value
    )

_NETLINK = {"sock_diag": 4, "netfilter": 12, "audit": 9, "uevent": 15, "generic": 16, "crypto": 21}
for _name, _protocol in _NETLINK.items():
    attempt("claim", name=f"netlink {_name}")(
        lambda given, protocol=_protocol: _open_socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)  # type: ignore[misc]
    )

for _device in (
    "mem",
    "port",
    "kmsg",
    "kvm",
    "fuse",
    "net/tun",
    "loop-control",
    "mapper/control",
    "uinput",
    "vsock",
    "vhost-net",
):
    attempt("claim", name=f"device {_device}", device=_device)(
        lambda given, device=_device: os.close(os.open(f"/dev/{device}", os.O_RDWR))  # type: ignore[misc]
    )

for _setting in (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/drop_caches",
    "/proc/sysrq-trigger",
):
    attempt("claim", name=f"open {_setting}")(
        lambda given, path=_setting: os.close(os.open(path, os.O_WRONLY))  # type: ignore[misc]
    )


@attempt("claim")
def load_program_into_kernel(given: Given) -> None:
    """bpf(2): make a map."""
    map_create, array = 0, 2
    syscall("bpf", map_create, struct.pack("4I", array, 4, 8, 1).ljust(72, b"\0"), 72)


@attempt("claim")
def watch_performance(given: Given) -> None:
    """perf_event_open(2): count instructions of this process."""
    syscall("perf_event_open", struct.pack("IIQ", 1, 112, 0).ljust(112, b"\0"), 0, -1, -1, 0)


@attempt("claim")
def handle_page_faults(given: Given) -> None:
    """userfaultfd(2)."""
    syscall("userfaultfd", os.O_CLOEXEC)


@attempt("claim")
def make_ring(given: Given) -> None:
    """io_uring."""
    with Ring():
        pass


@attempt("claim")
def add_key(given: Given) -> None:
    """add_key(2): to the process's own keyring."""
    process_keyring = -2
    syscall("add_key", b"user", b"kaa", b"x", 1, process_keyring)


@attempt("claim")
def compare_processes(given: Given) -> None:
    """kcmp(2): compare this process with itself."""
    syscall("kcmp", os.getpid(), os.getpid(), 1, 0, 0)


@attempt("claim")
def new_user_namespace(given: Given) -> None:
    """unshare(2) with a user namespace."""
    unshare(CLONE_NEWUSER)


@attempt("claim")
def new_network_namespace(given: Given) -> None:
    """unshare(2) with a network namespace."""
    unshare(CLONE_NEWNET)


@attempt("claim")
def new_mount_context(given: Given) -> None:
    """fsopen(2)."""
    syscall("fsopen", b"tmpfs", 0)


@attempt("claim")
def unload_module(given: Given) -> None:
    """delete_module(2) of a module that there is not: ENOENT would say that it was looked for."""
    try:
        syscall("delete_module", b"kaa_no_such_module", os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise


@attempt("claim")
def load_other_kernel(given: Given) -> None:
    """kexec_load(2) with flags that there are not: EINVAL would say that they were looked at."""
    try:
        syscall("kexec_load", 0, 0, None, 0xFF00)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


@attempt("claim")
def keep_capabilities(given: Given) -> None:
    """Whether capabilities are left, but for those that root needs for the files of others."""
    of_files = {0, 1, 3, 4}  # CHOWN, DAC_OVERRIDE, FOWNER, FSETID
    header, sets = struct.pack("Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
    libc.capget(header, sets)
    words = struct.unpack("6I", sets.raw)
    left = [number for number in range(64) if any(word >> number % 32 & 1 for word in words[3 * (number // 32) :][:3])]
    if of_files.issuperset(left):
        raise PermissionError("there are none")


@attempt("claim")
def regain_privileges(given: Given) -> None:
    """Whether a set-user-id program would still get its privileges."""
    get_no_new_privs = 39
    if libc.prctl(get_no_new_privs, 0, 0, 0, 0) == 1:
        raise PermissionError("programs get no privileges")


@attempt("claim")
def see_other_processes(given: Given) -> None:
    """Whether processes outside are listed."""
    if not os.path.exists(f"/proc/{given.brain}"):
        raise ProcessLookupError("the process that started the sandbox is not listed")
