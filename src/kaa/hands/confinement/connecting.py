"""Connects sockets for the processes of one slot, whose own `connect` is notified to us, and notes its other calls.

The caller's socket is connected as it is, so the kernel keeps deciding about everything but one thing: a socket in the
file system must be one of the sandbox. Nothing is judged that the caller could exchange afterwards: the address is
copied, the socket is held by a descriptor of ours, and so is the file that was judged.
"""

import contextlib
import ctypes
import errno
import math
import os
import select
import signal
import socket
import stat
import struct
import time
from typing import TYPE_CHECKING, NamedTuple

from kaa.hands.confinement import kernel
from kaa.hands.confinement.failed_connections import FailureReporter, stand_in
from kaa.hands.confinement.insiders import SandboxSockets, take_descriptor
from kaa.hands.confinement.notifications import NotificationListener, SystemCallNotification

if TYPE_CHECKING:
    from kaa.hands.confinement.write_calls import CallNotes

_INT = 0xFFFFFFFF  # what the kernel looks at of an argument of this type
_LONGEST_ADDRESS = 128  # sizeof(struct sockaddr_storage)
_LONGEST_UNIX_ADDRESS = 110  # sizeof(struct sockaddr_un)
_FAMILY = struct.Struct("=H")
_NETLINK = 16  # AF_NETLINK, which other systems lack
_NETLINK_ADDRESS = struct.Struct("=HHII")  # struct sockaddr_nl: family, padding, port, groups
_SO_COOKIE = 57  # asm-generic/socket.h, as the next
_SO_SNDTIMEO = 21
_TIMEOUT = struct.Struct("@ll")  # struct timeval
_RESTART = 512  # ERESTARTSYS: the kernel makes it EINTR or calls again, as the handler of the signal wants it
_NO_MAGIC_LINKS = 2  # RESOLVE_NO_MAGICLINKS, linux/openat2.h
_HOW = struct.Struct("=3Q")  # struct open_how: flags, mode, resolve

_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.001, 0.05
_STUCK_SECONDS = 10  # nothing that we do blocks, unless the caller works on that
_MOST_UNREPORTED = 64


class _Target(NamedTuple):
    """Where a socket is to be connected to.

    Attributes:
        address: as the kernel takes it.
        file: descriptor of the socket file that the address names; -1 if there is none.
        path: without links, of a socket that nobody of the sandbox listens at; the address is that of its stand-in.
        error: why that cannot be connected to, for where there is no stand-in either.
    """

    address: bytes
    file: int = -1
    path: str = ""
    error: int = 0


class _Attempt:
    """A `connect` that waits for its answer. Owns the descriptors."""

    def __init__(self, notification: SystemCallNotification, sock: socket.socket, target: _Target) -> None:
        self.notification = notification
        self.sock = sock
        self.target = target
        self.blocks = os.get_blocking(sock.fileno())
        self.pause = 0.0  # at first: on loopback the kernel is done by then
        self.due = time.monotonic()
        self.deadline = self.due + _send_timeout(sock)

    def connect(self) -> int:
        """Try it, without waiting.

        Returns:
            The error; 0 for success.
        """
        descriptor = self.sock.fileno()
        if self.blocks:  # others may see that for a moment, on a socket that is of no use before it is connected
            os.set_blocking(descriptor, False)
        try:
            kernel.call("connect", descriptor, self.target.address, len(self.target.address))
        except OSError as error:
            return error.errno or errno.EIO
        finally:
            if self.blocks:
                os.set_blocking(descriptor, True)
        return 0

    def is_unfinished(self, error: int) -> bool:
        """Whether the kernel would have waited instead of failing with this error."""
        if self.sock.family == socket.AF_UNIX:
            return error == errno.EAGAIN
        return error in (errno.EINPROGRESS, errno.EALREADY)

    def postpone(self, now: float) -> None:
        self.due = min(now + self.pause, self.deadline)
        self.pause = min(max(_SHORTEST_PAUSE_SECONDS, 2 * self.pause), _LONGEST_PAUSE_SECONDS)

    def close(self) -> None:
        """Let go of the socket and the file."""
        self.sock.close()
        if self.target.file >= 0:
            os.close(self.target.file)


class Connector:
    """Answers notifications of `connect`, one after the other; those that block are tried again until they end.

    Args:
        listener: where the calls of one slot are notified.
        notes: of all other calls that are notified, which go on.
    """

    def __init__(
        self,
        listener: NotificationListener,
        reporter: FailureReporter | None = None,
        notes: "CallNotes | None" = None,
    ) -> None:
        self._listener = listener
        self._reporter = reporter
        self._notes = notes
        self._connect = kernel.number_of("connect")
        self._insiders = SandboxSockets()
        self._attempts: list[_Attempt] = []
        self._unreported: dict[bytes, None] = {}  # cookies of sockets whose success nobody could be told about

    def serve(self, needed: int | None = None) -> int:
        """Answer until nobody is left who could ask.

        Args:
            needed: a pipe: until nobody reads it any more.

        Returns:
            How often somebody asked.
        """
        asked = 0
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        if needed is not None:
            poll.register(needed, 0)  # its end is told in any case
        while True:
            happened = sum(events for _, events in poll.poll(self._milliseconds()))
            signal.alarm(_STUCK_SECONDS)  # the end of this process; then nothing can be connected any more
            if happened & select.POLLIN:
                asked += 1
                self._receive()
            elif happened:
                signal.alarm(0)
                if self._notes is not None:
                    self._notes.close()
                return asked
            if self._notes is not None:
                self._notes.look()
            self._go_on()
            signal.alarm(0)

    def _milliseconds(self) -> float | None:
        pauses = [max(0.0, attempt.due - time.monotonic()) for attempt in self._attempts]
        if self._notes is not None and (left := self._notes.seconds_left()) is not None:
            pauses.append(left)
        return min(pauses) * 1000 if pauses else None

    def _receive(self) -> None:
        notification = self._listener.receive()
        if notification is None:
            return
        if notification.call != self._connect and self._notes is not None:
            self._notes.note(notification.thread)
            self._listener.let_go_on(notification)
            return
        try:
            attempt = self._understand(notification)
        except OSError as error:
            self._listener.answer(notification, error.errno or errno.EIO)
            return
        if self._pursue(attempt):
            attempt.close()
        else:
            self._attempts.append(attempt)

    def _go_on(self) -> None:
        now = time.monotonic()
        for attempt in [attempt for attempt in self._attempts if attempt.due <= now]:
            if self._pursue(attempt):
                self._attempts.remove(attempt)
                attempt.close()

    def _pursue(self, attempt: _Attempt) -> bool:
        if not self._listener.is_waiting(attempt.notification):
            return True
        error = attempt.connect()
        if attempt.blocks and attempt.is_unfinished(error):
            now = time.monotonic()
            if now >= attempt.deadline:
                error = errno.EINPROGRESS if error == errno.EALREADY else error
            elif _is_signalled(attempt.notification.thread):
                error = _RESTART
            else:
                attempt.postpone(now)
                return False
        self._report(attempt, error)
        return True

    def _report(self, attempt: _Attempt, error: int) -> None:
        cookie = attempt.sock.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8)
        if cookie in self._unreported and error == errno.EISCONN:
            error = 0  # it was us, but a signal had taken the caller away, who now calls again
        if error in (errno.ECONNREFUSED, errno.EPROTOTYPE) and attempt.target.path:
            error = attempt.target.error
            if self._reporter is not None:
                self._reporter.of_path(attempt.target.path)
        elif error and self._reporter is not None:
            self._reporter.of_socket(attempt.sock, attempt.target.address, error)
        self._unreported.pop(cookie, None)
        if not self._listener.answer(attempt.notification, error) and error == 0:
            self._unreported[cookie] = None
            if len(self._unreported) > _MOST_UNREPORTED:
                del self._unreported[next(iter(self._unreported))]

    def _understand(self, notification: SystemCallNotification) -> _Attempt:
        """Get hold of what the caller means.

        Raises:
            OSError: the call fails with this error.
        """
        thread = notification.thread
        descriptor, address, length, *_ = notification.arguments
        descriptor, length = descriptor & _INT, length & _INT
        with contextlib.ExitStack() as undo:
            sock = undo.enter_context(_take_socket(thread, descriptor))
            if length > _LONGEST_ADDRESS:
                raise _failure(errno.EINVAL)
            target = self._find(thread, sock, _read_memory(thread, address, length))
            if target.file >= 0:
                undo.callback(os.close, target.file)
            if not self._listener.is_waiting(notification):  # then all of this was of somebody else
                raise _failure(errno.ESRCH)
            attempt = _Attempt(notification, sock, target)
            undo.pop_all()
        return attempt

    def _find(self, thread: int, sock: socket.socket, address: bytes) -> _Target:
        """Where an address leads, if the caller may go there.

        Raises:
            OSError: it may not, or it leads nowhere.
        """
        family = _FAMILY.unpack_from(address)[0] if len(address) >= _FAMILY.size else -1
        match sock.family:
            case socket.AF_UNIX:
                name = address[_FAMILY.size :]
                if family != socket.AF_UNIX or not name or len(address) > _LONGEST_UNIX_ADDRESS:
                    raise _failure(errno.EINVAL)
                # Abstract names are those of our network namespace only.
                return self._find_file(thread, name) if name[0] else _Target(address)
            case socket.AF_INET | socket.AF_INET6:
                return _Target(address)
            case family_ if family_ == _NETLINK:  # we have rights on the network that the caller does not
                if len(address) >= _NETLINK_ADDRESS.size and any(_NETLINK_ADDRESS.unpack_from(address)[2:]):
                    raise _failure(errno.EPERM)
                return _Target(address)
        raise _failure(errno.EACCES)

    def _find_file(self, thread: int, name: bytes) -> _Target:
        name = name.partition(b"\0")[0]
        try:
            file = open_file(thread, name)
        except OSError as failure:
            error = failure.errno or errno.EIO
        else:
            if stat.S_ISSOCK(os.fstat(file).st_mode) and self._insiders.includes(file):
                return _Target(_FAMILY.pack(socket.AF_UNIX) + b"/proc/self/fd/%d\0" % file, file)
            os.close(file)
            error = errno.ECONNREFUSED
        path = os.path.realpath(os.path.join(os.readlink(f"/proc/{thread}/cwd"), os.fsdecode(name)))
        return _Target(_FAMILY.pack(socket.AF_UNIX) + stand_in(path), path=path, error=error)


def _take_socket(thread: int, descriptor: int) -> socket.socket:
    try:
        process = os.pidfd_open(thread)
    except OSError:  # not the first thread
        process = os.pidfd_open(int(_status(thread)["Tgid"]))
    try:
        taken = take_descriptor(process, descriptor)
    finally:
        os.close(process)
    try:
        return socket.socket(fileno=taken)
    except OSError:  # none
        os.close(taken)
        raise


def _read_memory(thread: int, address: int, length: int) -> bytes:
    memory = ctypes.create_string_buffer(length)
    here, there = (struct.pack("@PN", place, length) for place in (ctypes.addressof(memory), address))
    if length and kernel.call("process_vm_readv", thread, here, 1, there, 1, 0) != length:
        raise _failure(errno.EFAULT)
    return memory.raw


def open_file(thread: int, name: bytes) -> int:
    """Open what a name means to a thread, without rights on it.

    We see the same files, but for /proc. Nothing is opened through the links of /proc, which would be ours.

    Raises:
        OSError: there is nothing, or nothing that one could reach.
    """
    start = os.open(f"/proc/{thread}/{'root' if name.startswith(b'/') else 'cwd'}", os.O_PATH | os.O_CLOEXEC)
    try:
        how = _HOW.pack(os.O_PATH | os.O_CLOEXEC, 0, _NO_MAGIC_LINKS)
        return kernel.call("openat2", start, name.lstrip(b"/") or b".", how, len(how))
    finally:
        os.close(start)


def _send_timeout(sock: socket.socket) -> float:
    seconds, microseconds = _TIMEOUT.unpack(sock.getsockopt(socket.SOL_SOCKET, _SO_SNDTIMEO, _TIMEOUT.size))
    return seconds + microseconds / 1e6 or math.inf


def _is_signalled(thread: int) -> bool:
    """Whether a signal waits that this thread will handle; one for the whole process goes to its first thread."""
    try:
        status = _status(thread)
    except OSError:  # it ended
        return False
    pending = int(status["SigPnd"], 16)
    if status["Pid"] == status["Tgid"]:
        pending |= int(status["ShdPnd"], 16)
    return bool(pending & ~(int(status["SigBlk"], 16) | int(status["SigIgn"], 16)))


def _status(thread: int) -> dict[str, str]:
    with open(f"/proc/{thread}/status", encoding="utf-8", errors="replace") as file:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


def _failure(error: int) -> OSError:
    return OSError(error, os.strerror(error))
