"""The privileges of root, one by one, and how slots lose them."""

import contextlib
import ctypes
import struct

from kaa.hands.confinement import kernel

# linux/capability.h
CHOWN, DAC_OVERRIDE, FOWNER, FSETID = 0, 1, 3, 4
NET_ADMIN, SYS_PTRACE = 12, 19
# What root keeps: enough to work in a project whose files belong to somebody else, and to unpack archives.
FILES_OF_OTHERS = (CHOWN, DAC_OVERRIDE, FOWNER, FSETID)

_VERSION_3 = 0x20080522
_HIGHEST = 63  # the sets have 64 bits; the kernel says EINVAL after the last one it has
_AMBIENT_CLEAR_ALL = 4


def drop_all_but(kept: tuple[int, ...]) -> None:
    """Give up all capabilities, forever: programs started later cannot get them back.

    Args:
        kept: capabilities to keep; those that the process does not have are ignored.

    Raises:
        OSError: the kernel refused.
    """
    remaining = sum(1 << number for number in kept) & _permitted()
    with contextlib.suppress(OSError):  # past the last capability, or no right to: nothing to gain then either
        for number in range(_HIGHEST + 1):
            if not remaining >> number & 1:
                kernel.prctl(kernel.PR_CAPBSET_DROP, number)
    kernel.prctl(kernel.PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    _set(remaining)


def lay_down_all_but(kept: tuple[int, ...]) -> None:
    """Give up capabilities for as long as this process executes no other program.

    Args:
        kept: as for `drop_all_but`.

    Raises:
        OSError: the kernel refused.
    """
    _set(sum(1 << number for number in kept) & _permitted())


def _set(remaining: int) -> None:
    low, high = remaining & 0xFFFFFFFF, remaining >> 32
    header = struct.pack("=Ii", _VERSION_3, 0)
    kernel.call("capset", header, struct.pack("=6I", low, low, 0, high, high, 0))


def _permitted() -> int:
    sets = ctypes.create_string_buffer(24)
    kernel.call("capget", struct.pack("=Ii", _VERSION_3, 0), ctypes.addressof(sets))
    _, low, _, _, high, _ = struct.unpack("=6I", sets.raw)
    return int(low | high << 32)
