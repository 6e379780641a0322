"""Changing or reading what processes of a machine share in the kernel."""

import ctypes
import mmap
import os
import struct

from tests.escapes.attempts.kit import Given, attempt, libc, mount, syscall, write


@attempt("shared-memory")
def write_shared_memory(given: Given) -> None:
    """Write memory that is shared by its number (SysV)."""
    _attached(given.number).value = b"harm"


@attempt("shared-memory")
def read_shared_memory(given: Given) -> bytes:
    """Read it."""
    return _attached(given.number).raw


@attempt("message-queue")
def send_message(given: Given) -> None:
    """Send a message to a queue (SysV)."""
    queue = syscall("msgget", given.number, 0)
    syscall("msgsnd", queue, struct.pack("l", 1) + b"harm", 4, 0o4000)


@attempt("semaphore")
def raise_semaphore(given: Given) -> None:
    """Change a semaphore (SysV)."""
    setval = 16
    syscall("semctl", syscall("semget", given.number, 1, 0), 0, setval, 7)


@attempt("posix-queue", "POSIX queues")
def send_to_posix_queue(given: Given) -> None:
    """Send a message to a queue (POSIX)."""
    queue = libc.mq_open(given.text.encode(), os.O_WRONLY)
    if queue < 0 or libc.mq_send(queue, b"harm", 4, 0) < 0:
        raise OSError(ctypes.get_errno(), "mq_open or mq_send")


@attempt("files", base="/dev/shm")
def change_posix_memory(given: Given) -> None:
    """Write memory that is shared by its name (POSIX)."""
    fd = os.open(given.path, os.O_RDWR)
    with mmap.mmap(fd, 4) as memory:
        memory[0:4] = b"harm"


@attempt("key", "keyrings")
def read_key(given: Given) -> bytes:
    """Read a key of the session's keyring."""
    keyctl_search, keyctl_read, session = 10, 11, -3
    key = syscall("keyctl", keyctl_search, session, b"user", given.text.encode(), 0)
    buffer = ctypes.create_string_buffer(256)
    syscall("keyctl", keyctl_read, key, buffer, 256)
    return buffer.raw


@attempt("sysctl", "root", setting="printk_ratelimit_burst")
def write_setting(given: Given) -> None:
    """Change a setting of the kernel's."""
    write(given.path, str(given.number))


@attempt("sysctl", "root", "mounts", setting="printk_ratelimit")
def write_setting_in_new_proc(given: Given) -> None:
    """Change a setting of the kernel's by a /proc of one's own."""
    place = f"{given.project}/proc"
    os.mkdir(place)
    mount("proc", place, "proc")
    write(place + given.path.removeprefix("/proc"), str(given.number))


@attempt("kernel-log", "root", "kernel log")
def write_kernel_log(given: Given) -> None:
    """Write to the kernel's log."""
    write("/dev/kmsg", given.text + "\n")


@attempt("kernel-log-secret", "root", "kernel log")
def read_kernel_log(given: Given) -> bytes:
    """Read the kernel's log."""
    read_all, size = 3, 1 << 20
    buffer = ctypes.create_string_buffer(size)
    syscall("syslog", read_all, buffer, size)
    return buffer.raw


@attempt("control-group", "root", "control groups")
def make_control_group(given: Given) -> None:
    """Make a control group."""
    os.mkdir(given.path)


@attempt("control-group", "root", "control groups", "mounts")
def make_control_group_in_new_mount(given: Given) -> None:
    """Make a control group by a mount of one's own, the first step of CVE-2022-0492."""
    place = f"{given.project}/groups"
    os.mkdir(place)
    mount("cgroup", place, given.text, 0, given.address)
    os.mkdir(f"{place}/{os.path.basename(given.path)}")


@attempt("host-name", "root", unproven="it would rename this machine")
def rename_host(given: Given) -> None:
    """Rename the machine."""
    if given.sandboxed:
        libc.sethostname(given.text.encode(), len(given.text))


@attempt("disk", "root", "disk")
def read_disk(given: Given) -> str:
    """Read the disk below the file system."""
    return _beginning_of(given.path)


@attempt("disk", "root", "disk")
def read_disk_by_own_node(given: Given) -> str:
    """Make a node for the disk in the project, and read it."""
    node = f"{given.project}/disk"
    os.mknod(node, 0o600 | 0o060000, given.number)
    return _beginning_of(node)


@attempt("disk", "root", "disk")
def read_disk_by_node_in_tmp(given: Given) -> str:
    """Make a node for the disk in /tmp, and read it."""
    node = f"/tmp/disk-{os.getpid()}"
    os.mknod(node, 0o600 | 0o060000, given.number)
    try:
        return _beginning_of(node)
    finally:
        os.unlink(node)


def _attached(key: int) -> "ctypes.Array[ctypes.c_char]":
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(syscall("shmget", key, 0, 0), None, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    return (ctypes.c_char * 64).from_address(address)


def _beginning_of(disk: str) -> str:
    """What identifies the file system on a disk, in the form in which the canary keeps it."""
    with open(disk, "rb") as file:
        file.seek(1128)
        return "canary-" + file.read(12).hex()
