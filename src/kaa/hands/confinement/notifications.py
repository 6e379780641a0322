"""User notification of seccomp: system calls that somebody else decides about while their callers wait.

A decision is always an answer, never "go on": between a look at the arguments and the call, the caller's other threads
could exchange what the arguments point to (seccomp_unotify(2)). "Go on" is for calls that nobody decides about, and
that are only noted. Source of all formats: linux/seccomp.h.
"""

import contextlib
import errno
import fcntl
import os
import struct
from typing import NamedTuple

# struct seccomp_notif: __u64 id; __u32 pid, flags; struct seccomp_data (int nr; __u32 arch; __u64 ip, args[6])
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
# struct seccomp_notif_resp: __u64 id; __s64 val; __s32 error; __u32 flags
_ANSWER = struct.Struct("=QqiI")
_CONTINUE = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE, from Linux 5.5 on
_RECEIVE = 0xC0502100
_SEND = 0xC0182101
_IS_VALID = 0x80082102  # the number with the wrong direction, which all versions of Linux understand
_IS_VALID_ARGUMENT = struct.Struct("=Q")


class SystemCallNotification(NamedTuple):
    """A call that waits for its answer.

    Attributes:
        identity: of the call; never used again by the same listener.
        call: number of the system call.
        thread: id of the caller, valid as long as the call is.
        arguments: of the call, 64 bits each.
    """

    identity: int
    call: int
    thread: int
    arguments: tuple[int, ...]


class NotificationListener:
    """Where the calls of one slot, and of all that it starts, are notified. Readable when there is one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """For poll. It hangs up when the last process that could call has ended (Linux 5.9)."""
        return self._descriptor

    def close(self) -> None:
        """If nobody else listens, calls fail with ENOSYS from now on."""
        os.close(self._descriptor)

    def receive(self) -> SystemCallNotification | None:
        """The next call, or None if its caller was interrupted or killed before we came to it."""
        memory = bytearray(_NOTIFICATION.size)  # the kernel insists on zeros
        try:
            fcntl.ioctl(self._descriptor, _RECEIVE, memory)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):
                return None
            raise
        identity, thread, _, call, _, _, *arguments = _NOTIFICATION.unpack(memory)
        return SystemCallNotification(identity, call, thread, tuple(arguments))

    def is_waiting(self, notification: SystemCallNotification) -> bool:
        """Whether the caller still waits. What was read of it under its id before was then really its own."""
        try:
            fcntl.ioctl(self._descriptor, _IS_VALID, _IS_VALID_ARGUMENT.pack(notification.identity))
        except OSError:
            return False
        return True

    def let_go_on(self, notification: SystemCallNotification) -> None:
        """Have the kernel make the call, whatever its arguments are by now, if the caller still waits."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._descriptor, _SEND, _ANSWER.pack(notification.identity, 0, 0, _CONTINUE))

    def answer(self, notification: SystemCallNotification, error: int) -> bool:
        """End the call.

        Args:
            error: with which it fails; 0 for success.

        Returns:
            Whether the caller got the answer. Before Linux 5.19 a signal takes it away from us, and it calls again.
        """
        try:
            fcntl.ioctl(self._descriptor, _SEND, _ANSWER.pack(notification.identity, 0, -error, 0))
        except OSError:
            return False
        return True
