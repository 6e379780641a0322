"""Which unix sockets belong to the sandbox.

The network namespace confines abstract names, but not names in the file system: whoever finds the file of a socket
reaches it. So a socket file is good only if a socket of our network namespace was bound to it. What is so stays so:
`bind` always makes a new file, hence a file stands for one socket for as long as we hold on to it.

The socket itself is asked for its file, by a descriptor taken from whoever listens. What sock_diag(7) says would be
cheaper but proves nothing: half an inode number, and a device that all subvolumes of btrfs share.
"""

import contextlib
import errno
import fcntl
import os
import socket
import stat
from collections import OrderedDict
from collections.abc import Iterator

from kaa.hands.confinement import kernel

# linux/un.h: the file that a socket was bound to. Needs CAP_NET_ADMIN in the user namespace that the socket's network
# namespace belongs to, so that it fails for sockets of the host.
_OPEN_BOUND_FILE = 0x89E0
_LISTENS = 0x10000  # __SO_ACCEPTCON, in the flags of /proc/net/unix
_MOST_REMEMBERED = 64


class SandboxSockets:
    """Judges socket files. Remembers which belong to the sandbox."""

    def __init__(self) -> None:
        self._files: OrderedDict[tuple[int, int], int] = OrderedDict()

    def includes(self, file: int) -> bool:
        """Whether a socket that listens in our network namespace was bound to this file."""
        identity = _identity(file)
        if identity in self._files:
            self._files.move_to_end(identity)
            return True
        for bound in _bound_files():
            if _identity(bound) == identity:
                self._remember(identity, bound)
                return True
            os.close(bound)
        return False

    def _remember(self, identity: tuple[int, int], bound: int) -> None:
        """Hold the file open, so that no other can get its number."""
        self._files[identity] = bound
        if len(self._files) > _MOST_REMEMBERED:
            _, oldest = self._files.popitem(last=False)
            os.close(oldest)


def can_ask_for_files() -> bool:
    """Whether the kernel lets us see files of sockets."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("")  # by an abstract name, so that there is no file
        try:
            os.close(fcntl.ioctl(sock, _OPEN_BOUND_FILE))
        except OSError as error:
            return error.errno == errno.ENOENT
    return True


def take_descriptor(process: int, descriptor: int) -> int:
    """A duplicate of another process's descriptor. Needs the right to trace it.

    Raises:
        OSError: EBADF if it has none; EPERM if it is not ours to trace.
    """
    return kernel.call("pidfd_getfd", process, descriptor, 0)


def _identity(file: int) -> tuple[int, int]:
    status = os.fstat(file)
    return status.st_dev, status.st_ino


def _identity_at(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _bound_files() -> Iterator[int]:
    """Descriptors of the files that listening sockets of our network namespace were bound to."""
    wanted = _listening()
    if not wanted:
        return
    network = _identity_at("/proc/self/ns/net")
    for name in reversed(os.listdir("/proc")):  # the newest come last
        with contextlib.suppress(OSError):  # gone, or nobody's that we could trace
            if name.isdecimal() and _identity_at(f"/proc/{name}/ns/net") == network:
                yield from _bound_files_of(int(name), wanted)
        if not wanted:
            return


def _bound_files_of(pid: int, wanted: set[int]) -> Iterator[int]:
    process = os.pidfd_open(pid)
    try:
        for number in _numbers_of_sockets(pid):
            with contextlib.suppress(OSError):  # closed meanwhile, no socket, of the host
                taken = take_descriptor(process, number)
                try:
                    serial = os.fstat(taken).st_ino
                    if serial not in wanted:
                        continue
                    bound = fcntl.ioctl(taken, _OPEN_BOUND_FILE)
                finally:
                    os.close(taken)
                wanted.remove(serial)
                yield bound
    finally:
        os.close(process)


def _numbers_of_sockets(pid: int) -> Iterator[int]:
    """Descriptors that may be sockets."""
    directory = f"/proc/{pid}/fd"
    try:
        names = os.listdir(directory)
    except PermissionError:  # it hides itself, as ssh-agent does; what it has can still be taken
        with open(f"/proc/{pid}/status", "rb") as file:
            size = next(line for line in file if line.startswith(b"FDSize:")).split()[1]
        yield from range(int(size))
        return
    for name in names:
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.stat(f"{directory}/{name}").st_mode):
                yield int(name)


def _listening() -> set[int]:
    """Numbers of the sockets of our network namespace that listen and have a name in the file system.

    proc(5): `Num RefCount Protocol Flags Type St Inode Path`. What a path fakes with newlines names sockets that prove
    to be something else.
    """
    found = set()
    with open("/proc/net/unix", "rb") as table:
        for line in table:
            fields = line.rstrip(b"\n").split(None, 7)
            with contextlib.suppress(ValueError):
                if len(fields) == 8 and not fields[7].startswith(b"@") and int(fields[3], 16) & _LISTENS:
                    found.add(int(fields[6]))
    return found
