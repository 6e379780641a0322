"""What this machine has: attempts that need something else are skipped, and say so."""

import ctypes
import errno
import functools
import os
import platform
import shutil
import socket
import stat
import subprocess
import sysconfig
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.escapes.attempts.kit import AT_FDCWD, CLONE_NEWNS, libc, syscall, unshare
from tests.escapes.attempts.machine_code import x32
from tests.escapes.attempts.uring import Ring
from tests.escapes.world.people import Person

_MPTCP = 262


class Disk(NamedTuple):
    """A block device: its node and its number."""

    path: str
    number: int


class ControlGroups(NamedTuple):
    """A hierarchy of control groups: where it is, and how it is mounted."""

    path: str
    kind: str
    options: str


def lacks(needs: tuple[str, ...]) -> str:
    """What of `needs` this machine has not; empty if it has all. `root` is not of its concern."""
    return ", ".join(need for need in needs if need != "root" and not _PROBES[need]())


def owns_packages(person: Person) -> bool:
    """Whether a person may change the interpreter's packages."""
    packages = Path(sysconfig.get_path("purelib"))
    return os.access(packages, os.W_OK) if person.uid < 0 else packages.stat().st_uid == person.uid


@functools.cache
def can_mount() -> bool:
    """Whether we can have mounts of our own."""
    return _survives(lambda: unshare(CLONE_NEWNS))


@functools.cache
def own_address() -> str:
    """An address of the machine's that is not loopback; empty if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))  # for documentation, RFC 5737; nothing is sent
        except OSError:
            return ""
        return str(sock.getsockname()[0])


def disk_of(path: Path) -> Disk | None:
    """The disk that a file is on, if it is on one that can be read."""
    number = path.stat().st_dev
    for node in Path("/dev").iterdir():
        try:
            status = node.stat()
        except OSError:
            continue
        if stat.S_ISBLK(status.st_mode) and status.st_rdev == number and _can_be_read(node):
            return Disk(str(node), number)
    return None


@functools.cache
def control_groups() -> ControlGroups | None:
    """A hierarchy in which groups can be made."""
    found = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, path, kind, options = line.split()[:4]
        if kind in ("cgroup", "cgroup2") and "ro" not in options.split(",") and os.access(path, os.W_OK):
            controllers = ",".join(set(options.split(",")) - {"rw", "relatime", "nosuid", "nodev", "noexec"})
            found.append(ControlGroups(path, kind, controllers if kind == "cgroup" else ""))
    return max(found, key=lambda groups: groups.kind) if found else None


def _can_be_read(path: Path) -> bool:
    """Whether a file opens: control groups may deny a device that its permissions do not."""
    return _works(lambda: path.open("rb").close())


def _has_attributes() -> bool:
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
        return _works(lambda: os.setxattr(file.name, "user.kaa", b"x"))


def _has_file_flags() -> bool:
    import fcntl

    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
        return _works(lambda: fcntl.ioctl(file.fileno(), 0x80086601, bytes(4)))


def _has_fchmodat2() -> bool:
    try:
        syscall("fchmodat2", AT_FDCWD, b"/does/not/exist", 0o600, 0)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


def _has_32_bit_calls() -> bool:
    """Whether the kernel answers programs of 32 bits, found out in a process that may die of it."""
    if platform.machine() != "x86_64":
        return False
    return _survives(_call_by_32_bits)


def _call_by_32_bits() -> None:
    from tests.escapes.attempts.machine_code import Page

    getpid = 20
    assert Page().call(getpid) == os.getpid()


def _has_bwrap() -> bool:
    command = ["bwrap", "--ro-bind", "/", "/", "true"]
    return _works(lambda: subprocess.run(command, check=True, capture_output=True))


def _has_x32_calls() -> bool:
    getpid = 39
    return platform.machine() == "x86_64" and _works(lambda: x32(getpid))


def _has_keyrings() -> bool:
    session = -3
    return _works(lambda: syscall("keyctl", 0, session, 1))


def _has_vsock_loopback() -> bool:
    def talk() -> None:
        with socket.socket(socket.AF_VSOCK) as server, socket.socket(socket.AF_VSOCK) as client:
            server.bind((socket.VMADDR_CID_ANY, socket.VMADDR_PORT_ANY))
            server.listen(1)
            client.settimeout(1)
            client.connect((1, server.getsockname()[1]))

    return _works(talk)


def _listens(family: int, protocol: int, address: str) -> bool:
    def listen() -> None:
        with socket.socket(family, socket.SOCK_STREAM, protocol) as sock:
            sock.bind((address, 0))
            sock.listen(1)

    return _works(listen)


def _has_posix_queues() -> bool:
    name = b"/kaa-escape-probe"
    queue = libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None)
    if queue < 0:
        return False
    os.close(queue)
    libc.mq_unlink(name)
    return True


def _works(act: Callable[[], object]) -> bool:
    try:
        act()
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _survives(act: Callable[[], object]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pytest has threads: the child does nothing with theirs
        pid = os.fork()
    if pid == 0:
        try:
            act()
        except BaseException:  # noqa: BLE001 - whatever it is, the answer is no
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


_PROBES: dict[str, Callable[[], bool]] = {
    "2 processors": lambda: len(os.sched_getaffinity(0)) > 1,
    "32-bit calls": functools.cache(_has_32_bit_calls),
    "IPv6": lambda: _listens(socket.AF_INET6, 0, "::1"),
    "MPTCP": lambda: _listens(socket.AF_INET, _MPTCP, "127.0.0.1"),
    "POSIX queues": _has_posix_queues,
    "SCTP": lambda: _listens(socket.AF_INET, socket.IPPROTO_SCTP, "127.0.0.1"),
    "address": lambda: bool(own_address()),
    "attributes": functools.cache(_has_attributes),
    "bwrap": functools.cache(_has_bwrap),
    "control groups": lambda: control_groups() is not None,
    "disk": lambda: disk_of(Path("/home")) is not None,
    "fchmodat2": _has_fchmodat2,
    "file flags": functools.cache(_has_file_flags),
    "gcc": lambda: shutil.which("gcc") is not None,
    "io_uring": lambda: _works(lambda: Ring().__exit__()),
    "kernel log": lambda: os.access("/dev/kmsg", os.R_OK | os.W_OK),
    "keyrings": _has_keyrings,
    "mounts": can_mount,
    "priority to lose": lambda: os.nice(0) < 18,
    "unshare": lambda: shutil.which("unshare") is not None,
    "vsock loopback": functools.cache(_has_vsock_loopback),
    "x32 calls": _has_x32_calls,
}
assert ctypes.sizeof(ctypes.c_long) == 8, "the attempts are written for 64 bits"
