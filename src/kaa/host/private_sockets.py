"""Unix sockets in a folder that only its owner can enter: whoever listens or connects there is the owner.

The folder is opened once and entered through its descriptor, so that nobody can exchange it for another one meanwhile,
and so that its path may be longer than the address of a socket.
"""

import contextlib
import errno
import fcntl
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kaa.host import regular_files

_PRIVATE_FOLDER = 0o700
_PRIVATE_SOCKET = 0o600
_OF_OTHERS = 0o077
_SUFFIX = ".sock"
# Clients that the kernel lets wait until they are accepted.
_BACKLOG = 8
# struct ucred of Linux: process, user, group (unix(7)).
_CREDENTIALS = struct.Struct("=iII")


class PrivateSocketError(Exception):
    """The folder or a socket in it cannot be used; the message says why and what to do."""


class NobodyListensError(PrivateSocketError):
    """There is no such socket, or its process has ended."""


class NotAcceptedError(PrivateSocketError):
    """The process that listens accepts nobody: it is stopped or hangs."""


class PeerProcess(NamedTuple):
    """Who is at the other end of a socket, as the kernel knows it. None: this system does not tell."""

    pid: int | None
    uid: int | None

    @property
    def is_owner(self) -> bool:
        """Whether it is this user. The folder keeps others out, where the system does not tell."""
        return self.uid in (None, os.geteuid())


class PrivateListener(NamedTuple):
    """A socket that listens.

    Attributes:
        file: tells its file from a later one of the same name.
    """

    sock: socket.socket
    name: str
    file: tuple[int, int]


def _identity(file: str, folder: int) -> tuple[int, int]:
    """Inode and time: inodes are used again."""
    status = os.stat(file, dir_fd=folder, follow_symlinks=False)
    return status.st_ino, status.st_ctime_ns


def peer_of(sock: socket.socket) -> PeerProcess:
    """Who is at the other end; of one that listens, who began to."""
    if not hasattr(socket, "SO_PEERCRED"):
        return PeerProcess(None, None)
    pid, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return PeerProcess(pid or None, uid)


class PrivateSockets:
    """The sockets in a folder.

    Args:
        folder: it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def listen(self, name: str) -> PrivateListener:
        """Listen at a name. Whatever is there is removed: only call this while nobody else may listen at that name.

        Raises:
            PrivateSocketError: the folder is not only the user's, or cannot be written.
        """
        try:
            self._folder.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from error
        with self._entered(exclusively=True) as descriptor:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{name}{_SUFFIX}", dir_fd=descriptor)
                listener.bind(self._address(descriptor, name))
                os.chmod(f"{name}{_SUFFIX}", _PRIVATE_SOCKET, dir_fd=descriptor)
                listener.listen(_BACKLOG)
                file = _identity(f"{name}{_SUFFIX}", descriptor)
            except OSError as error:
                listener.close()
                raise self._unusable(error) from error
            return PrivateListener(listener, name, file)

    def connect(self, name: str) -> socket.socket:
        """Connect to who listens at a name.

        Raises:
            NobodyListensError: nobody does.
            NotAcceptedError: the process accepts nobody.
            PrivateSocketError: the folder, the socket or its process is not the user's.
        """
        with self._entered() as descriptor:
            self._check_socket(descriptor, name)
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                # Without blocking: one whose queue is full would have us wait as long as it hangs.
                sock.setblocking(False)
                sock.connect(self._address(descriptor, name))
                sock.setblocking(True)
                if not peer_of(sock).is_owner:
                    raise PrivateSocketError(f"another user (uid {peer_of(sock).uid}) listens at {self._path(name)}")
            except BaseException as error:
                sock.close()
                match error:
                    case BlockingIOError():
                        raise NotAcceptedError(f"{self._path(name)}: the process accepts no connections") from error
                    case OSError(errno=errno.ECONNREFUSED | errno.ENOENT):
                        raise NobodyListensError(f"nobody listens at {self._path(name)} any more") from error
                    case OSError():
                        raise PrivateSocketError(f"cannot connect to {self._path(name)}: {error.strerror}") from error
                raise
            return sock

    def remove(self, listener: PrivateListener) -> None:
        """Remove the file of a socket, unless another process listens at its name by now."""
        file = f"{listener.name}{_SUFFIX}"
        with contextlib.suppress(PrivateSocketError, OSError), self._entered(exclusively=True) as descriptor:
            if _identity(file, descriptor) == listener.file:
                os.unlink(file, dir_fd=descriptor)

    def clear_away(self) -> None:
        """Remove the sockets of processes that were killed."""
        with contextlib.suppress(PrivateSocketError), self._entered(exclusively=True) as descriptor:
            for file in os.listdir(descriptor):
                name = file.removesuffix(_SUFFIX)
                if name == file:
                    continue
                try:
                    self._check_socket(descriptor, name)
                    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
                        sock.setblocking(False)
                        sock.connect(self._address(descriptor, name))
                except ConnectionRefusedError:
                    with contextlib.suppress(OSError):
                        os.unlink(file, dir_fd=descriptor)
                except (OSError, PrivateSocketError):
                    continue

    @contextlib.contextmanager
    def _entered(self, *, exclusively: bool = False) -> Iterator[int]:
        """A descriptor of the folder. `exclusively`: nobody else removes or makes sockets meanwhile.

        Raises:
            NobodyListensError: there is no folder.
            PrivateSocketError: it is not only the user's.
        """
        try:
            descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise NobodyListensError(f"nobody listens: {self._folder} does not exist") from error
        except OSError as error:
            raise self._unusable(error) from error
        try:
            status = os.fstat(descriptor)
            if status.st_uid != os.geteuid() or status.st_mode & _OF_OTHERS:
                raise PrivateSocketError(
                    f"{self._folder} is not only yours (owner {status.st_uid}, mode {stat.S_IMODE(status.st_mode):o}):"
                    " if nobody else put something there, run  chmod 700  on it; otherwise remove it"
                )
            if exclusively:
                regular_files.lock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _check_socket(self, descriptor: int, name: str) -> None:
        try:
            status = os.stat(f"{name}{_SUFFIX}", dir_fd=descriptor, follow_symlinks=False)
        except FileNotFoundError as error:
            raise NobodyListensError(f"there is no socket {self._path(name)}") from error
        except OSError as error:
            raise PrivateSocketError(f"{self._path(name)} cannot be used: {error.strerror}") from error
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
            raise PrivateSocketError(f"{self._path(name)} is not a socket of yours: remove it")

    def _address(self, descriptor: int, name: str) -> str:
        """The address of a socket, through the descriptor of the folder where the system has such paths."""
        return f"/proc/self/fd/{descriptor}/{name}{_SUFFIX}" if sys.platform == "linux" else str(self._path(name))

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_SUFFIX}"

    def _unusable(self, error: OSError) -> PrivateSocketError:
        return PrivateSocketError(f"{self._folder} cannot be used for sockets: {error.strerror or error}")
