"""System calls by other doors of x86-64 than the usual: those of 32-bit programs and of the x32 ABI."""

import ctypes
import errno
import mmap
import os

from tests.escapes.attempts.kit import libc

_MAP_32BIT = 0x40
_X32 = 0x40000000
# int(number, a, b, c): push rbx; mov eax,edi; mov ebx,esi; xchg ecx,edx; int 0x80; pop rbx; movsxd rax,eax; ret
_INT80 = bytes.fromhex("53 89f8 89f3 87d1 cd80 5b 4863c0 c3")
_DATA = 256  # where the arguments begin in the page that holds the code


class Page:
    """A page below 4 GiB with the code, and room for what 32-bit pointers point to."""

    def __init__(self) -> None:
        everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_32BIT
        self._memory = mmap.mmap(-1, 4096, flags=flags, prot=everything)
        self._memory[: len(_INT80)] = _INT80
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._used = _DATA
        kind = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)
        self._call = kind(self._address)

    def store(self, data: bytes) -> int:
        """Put data where 32 bits can point to."""
        place = self._used
        self._memory[place : place + len(data)] = data
        self._used += (len(data) + 15) // 16 * 16
        return self._address + place

    def call(self, number: int, *arguments: int) -> int:
        """Make a call of the 32-bit ABI.

        Raises:
            OSError: the kernel refuses.
        """
        words = [*arguments, 0, 0, 0][:3]
        result = int(self._call(number, *(word & 0xFFFFFFFF for word in words)))
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return result


def x32(number: int, *arguments: int | bytes) -> int:
    """Make a call of the x32 ABI: the numbers of x86-64 with one bit more.

    Raises:
        OSError: the kernel refuses.
    """
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(libc.syscall(ctypes.c_long(_X32 | number), *words))
    if result < 0:
        code = ctypes.get_errno() or errno.ENOSYS
        raise OSError(code, os.strerror(code))
    return result
