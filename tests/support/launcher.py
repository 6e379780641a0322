"""Becomes somebody and runs a command as them: `python -I -S launcher.py`, told what in the variable KAA_ESCAPE_LAUNCH.

For an ordinary user it also makes the interpreter readable: root's is often below a directory that nobody else may
enter. In a mount namespace of its own, an empty directory everyone may enter takes the place of the closed one, with
nothing in it but what is to be reached. No rights are kept; what runs has those of the user and no others.
"""

import ctypes
import fcntl
import json
import os
import stat
import termios
from typing import TypedDict

VARIABLE = "KAA_ESCAPE_LAUNCH"
_MS_BIND, _MS_REC, _MS_PRIVATE, _MS_NOSUID = 4096, 16384, 1 << 18, 2
_CLONE_NEWNS = 0x20000
_libc = ctypes.CDLL(None, use_errno=True)


class Launch(TypedDict):
    """What is to be run, and as whom.

    Attributes:
        uid: whom to become; also the group. -1: stay who we are.
        own_mounts: whether to have mounts of one's own, so that nothing that is mounted is left.
        reach: what must be readable.
        pid_file: where to write the id of the process that will be the command.
        controlling_terminal: whether standard input is to be the controlling terminal.
        key: description and content of a key to put into a session keyring of its own; empty for none.
        environment: that of the command.
        directory: where the command starts.
        command: the command.
    """

    uid: int
    own_mounts: bool
    reach: list[str]
    pid_file: str
    controlling_terminal: bool
    key: list[str]
    environment: dict[str, str]
    directory: str
    command: list[str]


def main() -> None:
    """Do what the variable says."""
    launch: Launch = json.loads(os.environ[VARIABLE])
    become(launch)
    os.execve(launch["command"][0], launch["command"], launch["environment"])


def become(launch: Launch) -> None:
    """Become the process that is to be the command."""
    if launch["own_mounts"]:
        _checked(_libc.unshare(_CLONE_NEWNS), "unshare")
        _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
        _make_reachable(launch["reach"])
    if launch["controlling_terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if launch["uid"] >= 0:
        os.setgroups([])
        os.setresgid(launch["uid"], launch["uid"], launch["uid"])
        os.setresuid(launch["uid"], launch["uid"], launch["uid"])
    if launch["key"]:
        _add_key(*launch["key"])
    with open(launch["pid_file"], "w") as file:
        file.write(str(os.getpid()))
    os.chdir(launch["directory"])


def _make_reachable(paths: list[str]) -> None:
    closed: dict[str, dict[str, int]] = {}
    for path in paths:
        if (directory := _closed_above(path)) is not None:
            closed.setdefault(directory, {})[path] = os.open(path, os.O_PATH)
    for directory, descriptors in closed.items():
        _mount("tmpfs", directory, "tmpfs", _MS_NOSUID, "mode=755")
        for path, fd in sorted(descriptors.items()):
            if not os.path.lexists(path):
                os.makedirs(path)
                _mount(f"/proc/self/fd/{fd}", path, "", _MS_BIND | _MS_REC)
            os.close(fd)


def _closed_above(path: str) -> str | None:
    """The first directory above `path` that others may not enter."""
    directory = "/"
    for name in path.strip("/").split("/"):
        if not stat.S_IMODE(os.stat(directory).st_mode) & stat.S_IXOTH:
            return directory
        directory = os.path.join(directory, name)
    return None


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    arguments = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _checked(_libc.mount(*arguments), f"mount {target}")


def _add_key(description: str, content: str) -> None:
    x86 = os.uname().machine == "x86_64"
    add_key, keyctl = (248, 250) if x86 else (217, 219)
    join_session, set_permissions, session, everything = 1, 5, -3, 0x3F3F3F3F
    _libc.syscall.restype = ctypes.c_long
    _libc.syscall(ctypes.c_long(keyctl), ctypes.c_long(join_session), None)
    data = content.encode()
    key = _libc.syscall(
        ctypes.c_long(add_key), b"user", description.encode(), data, ctypes.c_long(len(data)), ctypes.c_long(session)
    )
    _libc.syscall(ctypes.c_long(keyctl), ctypes.c_long(set_permissions), ctypes.c_long(key), ctypes.c_long(everything))


def _checked(result: int, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


if __name__ == "__main__":
    main()
