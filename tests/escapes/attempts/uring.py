"""Just enough io_uring to do one thing: it acts in the kernel, where filters of system calls do not look."""

import ctypes
import mmap
import os
import struct

from tests.escapes.attempts.kit import AT_FDCWD, syscall

# <linux/io_uring.h>
_CONNECT, _OPENAT = 16, 18
_SQ_RING, _CQ_RING, _SQES = 0, 0x8000000, 0x10000000
_GETEVENTS = 1
_ENTRIES = 4
_RING_BYTES = 4096


class Ring:
    """A ring of submissions and completions.

    Raises:
        OSError: the kernel has none for us.
    """

    def __init__(self) -> None:
        parameters = ctypes.create_string_buffer(120)
        self._fd = syscall("io_uring_setup", _ENTRIES, parameters)
        words = struct.unpack("30I", parameters.raw)
        self._sq_tail, self._sq_array = words[11], words[16]
        self._cq_head, self._cqes = words[20], words[25]
        self._submissions = mmap.mmap(self._fd, _RING_BYTES, offset=_SQ_RING)
        self._completions = mmap.mmap(self._fd, _RING_BYTES, offset=_CQ_RING)
        self._entries = mmap.mmap(self._fd, 64 * _ENTRIES, offset=_SQES)

    def __enter__(self) -> "Ring":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def open(self, path: str, flags: int, mode: int = 0) -> int:
        """Open a file.

        Raises:
            OSError: the kernel refuses.
        """
        name = ctypes.create_string_buffer(path.encode())
        return self._submit(_OPENAT, AT_FDCWD, 0, ctypes.addressof(name), mode, flags)

    def connect(self, fd: int, address: bytes) -> int:
        """Connect a socket to a raw address.

        Raises:
            OSError: the kernel refuses.
        """
        raw = ctypes.create_string_buffer(address, len(address))
        return self._submit(_CONNECT, fd, len(address), ctypes.addressof(raw), 0, 0)

    def _submit(self, opcode: int, fd: int, offset: int, address: int, length: int, flags: int) -> int:
        (tail,) = struct.unpack_from("I", self._submissions, self._sq_tail)
        slot = tail % _ENTRIES
        struct.pack_into("BBHiQQII", self._entries, 64 * slot, opcode, 0, 0, fd, offset, address, length, flags)
        struct.pack_into("I", self._submissions, self._sq_array + 4 * slot, slot)
        struct.pack_into("I", self._submissions, self._sq_tail, tail + 1)
        syscall("io_uring_enter", self._fd, 1, 1, _GETEVENTS, None, 0)
        (head,) = struct.unpack_from("I", self._completions, self._cq_head)
        (result,) = struct.unpack_from("i", self._completions, self._cqes + 16 * (head % (2 * _ENTRIES)) + 8)
        struct.pack_into("I", self._completions, self._cq_head, head + 1)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return int(result)
