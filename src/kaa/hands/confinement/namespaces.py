"""User, network, IPC and mount namespaces: made once by the fork-server, or joined."""

import contextlib
import fcntl
import os
import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

from kaa.hands.confinement import kernel
from kaa.hands.confinement.contract import ConfinementError

# linux/sched.h
NEW_MOUNT = 0x00020000
NEW_IPC = 0x08000000
NEW_USER = 0x10000000
NEW_PROCESS = 0x20000000
NEW_NETWORK = 0x40000000

_NAMES = {NEW_USER: "user", NEW_NETWORK: "net", NEW_IPC: "ipc"}
_GET_TYPE = 0xB703  # NS_GET_NSTYPE, linux/nsfs.h
# linux/sockios.h, linux/if.h
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_INTERFACE_REQUEST = "16sH14x"


# What all processes of a sandbox may have together, with its guard, which has one instance and half of the watches.
_SHARES_OF_INOTIFY = {"instances": (1, 4), "watches": (3, 4)}


class Identities(NamedTuple):
    """A line of a user or group map, user_namespaces(7)."""

    inside: int
    outside: int
    length: int


def enter(joined: Sequence[int], network: bool) -> None:
    """Move the calling process, which must have one thread only, into its namespaces.

    Args:
        joined: descriptors of namespaces to enter; what is not among them is made.
        network: whether a namespace of its own is wanted for the network.

    Raises:
        OSError: the kernel refused.
        ConfinementError: the kernel made a user namespace but nobody may be mapped into it.
    """
    wanted = NEW_USER | NEW_IPC | (NEW_NETWORK if network else 0)
    found = {fcntl.ioctl(descriptor, _GET_TYPE): descriptor for descriptor in joined}
    for kind in _NAMES:  # the user namespace first: it gives the right to enter the others
        if kind & wanted and kind in found:
            kernel.call("setns", found[kind], kind)
            wanted &= ~kind
    if wanted & NEW_USER:
        _unshare_with_user(wanted | NEW_MOUNT)
        _leave_watches_to_others()
    else:
        kernel.call("unshare", wanted | NEW_MOUNT)
    if wanted & NEW_NETWORK:
        _bring_up_loopback()


def leave_mounts() -> None:
    """Move the calling process, which must have one thread only, into a mount namespace of its own.

    Raises:
        PermissionError: only a user namespace gives the right to that; see `leave_mounts_as_user`.
        OSError: the kernel refused.
    """
    kernel.call("unshare", NEW_MOUNT)


def leave_mounts_as_user() -> None:
    """The same in a user namespace of its own, where files of users that are not mapped belong to nobody.

    Raises:
        OSError: the kernel refused.
        ConfinementError: nobody may be mapped into it.
    """
    _unshare_with_user(NEW_USER | NEW_MOUNT)


def descriptors(network: bool) -> list[int]:
    """Descriptors of the namespaces that other hands can join."""
    kinds = [kind for kind in _NAMES if network or kind != NEW_NETWORK]
    return [os.open(f"/proc/self/ns/{_NAMES[kind]}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]


def unmapped_id() -> int | None:
    """The id that root leaves out of its namespaces, so that even root in there has no rights on what it owns.

    Returns:
        An id of the calling process's namespace; None for ordinary users and where root is all there is.
    """
    if os.geteuid() != 0:
        return None
    first, _, count = _own_map("uid")[-1]
    return first + count - 1 if count > 1 else None


def _unshare_with_user(namespaces: int) -> None:
    if os.geteuid() != 0:
        user, group = os.geteuid(), os.getegid()
        kernel.call("unshare", namespaces)
        _write("/proc/self/setgroups", "deny")
        _write_maps("self", [Identities(user, user, 1)], [Identities(group, group, 1)])
        return
    # Root works on files of all users. Only a process outside may map more than one id.
    pid = os.getpid()
    waiting, start = os.pipe()
    helper = os.fork()
    if helper == 0:
        _map_all_when_told(pid, waiting, start)
    os.close(waiting)
    try:
        kernel.call("unshare", namespaces)
        os.write(start, b".")
    finally:
        os.close(start)
        _, status = os.waitpid(helper, 0)
    if status != 0:
        raise ConfinementError("the kernel lets nobody be mapped into a user namespace")


def _leave_watches_to_others() -> None:
    """Limit what commands can take of the user's instances and watches of inotify: others could notice nothing then.

    Both are counted by user, for all programs together. The limit of a namespace holds besides that of the machine.
    """
    for name, (part, of) in _SHARES_OF_INOTIFY.items():
        with contextlib.suppress(OSError, ValueError):  # an old kernel, or a container in which nobody may
            with open(f"/proc/sys/fs/inotify/max_user_{name}", "rb") as file:
                most = int(file.read())
            _write(f"/proc/sys/user/max_inotify_{name}", str(max(most * part // of, 1)))


def _map_all_when_told(pid: int, waiting: int, start: int) -> None:
    status = 1
    try:
        os.close(start)
        if os.read(waiting, 1):
            _write_maps(str(pid), _all_but_the_last("uid"), _all_but_the_last("gid"))
            status = 0
    finally:
        os._exit(status)


def _all_but_the_last(kind: str) -> list[Identities]:
    identities = [Identities(first, first, count) for first, _, count in _own_map(kind)]
    first, _, count = identities.pop()
    return [*identities, Identities(first, first, count - 1)] if count > 1 else identities


def _own_map(kind: str) -> list[Identities]:
    with open(f"/proc/self/{kind}_map", "rb") as file:
        return [Identities(*map(int, line.split())) for line in file]


def _write_maps(process: str, users: list[Identities], groups: list[Identities]) -> None:
    for kind, identities in (("uid", users), ("gid", groups)):
        _write(
            f"/proc/{process}/{kind}_map",
            "".join(f"{inside} {outside} {length}\n" for inside, outside, length in identities),
        )


def _write(path: str, content: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, content.encode())  # in one piece, or the kernel refuses it
    finally:
        os.close(descriptor)


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        answer = fcntl.ioctl(sock, _GET_FLAGS, struct.pack(_INTERFACE_REQUEST, b"lo", 0))
        _, flags = struct.unpack(_INTERFACE_REQUEST, answer)
        fcntl.ioctl(sock, _SET_FLAGS, struct.pack(_INTERFACE_REQUEST, b"lo", flags | _UP))
