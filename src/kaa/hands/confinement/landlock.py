"""Landlock: what a process may do below which path, enforced without namespaces.

Source of all numbers: linux/landlock.h; of the meanings: docs.kernel.org/userspace-api/landlock.
"""

import os
import stat
import struct

from kaa.hands.confinement import kernel
from kaa.hands.confinement.contract import ViewChangedError

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15
RESOLVE_UNIX = 1 << 16

READ = READ_FILE | READ_DIR | EXECUTE
# Everything but device nodes.
WRITE = (
    READ
    | WRITE_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_SYM
    | REFER
    | TRUNCATE
    | RESOLVE_UNIX
)
DEVICE = READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV

SCOPE_ABSTRACT_UNIX = 1 << 0
SCOPE_SIGNAL = 1 << 1
SCOPES_ABI = 6  # the first that knows scopes

_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV | RESOLVE_UNIX
_NET_TCP = 1 << 0 | 1 << 1  # bind, connect
_NET_UDP = 1 << 2 | 1 << 3
_VERSION = 1 << 0
_PATH_BENEATH = 1
_LOG_SAME_EXEC_OFF = 1 << 0


def abi() -> int:
    """The version of the kernel's Landlock; 0 if it has none, or if it is switched off or forbidden."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0


def handled_access(version: int) -> int:
    """The rights on files that a kernel knows, so that all others are denied where no rule grants them."""
    rights = MAKE_SYM * 2 - 1
    for first_version, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV), (9, RESOLVE_UNIX)):
        if version >= first_version:
            rights |= right
    return rights


def attributes(version: int, network: bool, scopes: int, handled: int = ~0) -> bytes:
    """`struct landlock_ruleset_attr`, as long as the kernel knows it.

    Args:
        version: the kernel's ABI.
        network: whether TCP and UDP are left alone; otherwise no port may be used.
        scopes: SCOPE_* flags.
        handled: the rights on files that need a rule; others are left alone.
    """
    ports = 0
    if not network:
        ports = (_NET_TCP if version >= 4 else 0) | (_NET_UDP if version >= 10 else 0)
    fields = [handled_access(version) & handled]
    if version >= 4:
        fields.append(ports)
    if version >= SCOPES_ABI:
        fields.append(scopes)
    return struct.pack(f"={len(fields)}Q", *fields)


class Ruleset:
    """What is allowed; everything else is not. Made by the fork-server, imposed by each slot on itself."""

    def __init__(self, version: int, network: bool, scopes: int, handled: int = ~0) -> None:
        self._version = version
        self._handled = handled_access(version) & handled
        structure = attributes(version, network, scopes, handled)
        self._descriptor = kernel.call("landlock_create_ruleset", structure, len(structure), 0)
        os.set_inheritable(self._descriptor, False)

    def allow(self, path: str, rights: int, *, real: bool = False) -> None:
        """Allow something on a file, or on everything below a directory. A path that does not exist is left out.

        Args:
            path: absolute.
            real: no link leads to the path.

        Raises:
            ViewChangedError: one does by now.
            OSError: the kernel refused.
        """
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # nothing is there, or nothing that we could reach either
            return
        try:
            if real and (place := os.readlink(f"/proc/self/fd/{descriptor}")) != path:
                raise ViewChangedError(f"{path} leads to {place} meanwhile")
            rights &= self._handled
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                rights &= _ON_FILES
            if rights:
                rule = struct.pack("=Qi", rights, descriptor)
                kernel.call("landlock_add_rule", self._descriptor, _PATH_BENEATH, rule, 0)
        finally:
            os.close(descriptor)

    def impose(self) -> None:
        """Restrict the calling process and all that it starts. Needs `forbid_new_privileges` before."""
        quiet = _LOG_SAME_EXEC_OFF if self._version >= 7 else 0  # a denied read of ours is no news for the audit log
        kernel.call("landlock_restrict_self", self._descriptor, quiet)
        os.close(self._descriptor)
