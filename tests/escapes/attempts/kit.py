"""What attempts are made of. It runs inside the sandbox too: standard library only, nothing of kaa.

An attempt is a function that tries to do harm outside. It need not know whether it did: a canary outside judges.
What it returns is searched for the secrets that canaries hide, and for nothing else.
"""

import ctypes
import os
import platform
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

Option: TypeAlias = str | int | bool
Act: TypeAlias = "Callable[[Given], bytes | str | None]"


class Given(NamedTuple):
    """What an attempt is told about the world outside. Which fields are set depends on its canary.

    Attributes:
        project: the directory the sandbox is for, which may be written.
        home: the user's home; the project is below it.
        sandboxed: False when the attempt is run to prove that it works without a sandbox. It is looked at only where
            the attempt would disturb the machine, never to do less harm to the canary.
        brain: the process that started the sandbox.
        path: the file that the canary watches, a socket, or a program to plant.
        directory: where the canary watches everything.
        pid: a process outside.
        port: where something outside listens.
        address: the host it listens on, or the name of an abstract socket.
        number: the key of a thing in the kernel, or a value to set.
        text: whatever else the canary has to say.
    """

    project: str
    home: str
    sandboxed: bool
    brain: int
    path: str = ""
    directory: str = ""
    pid: int = 0
    port: int = 0
    address: str = ""
    number: int = 0
    text: str = ""


class Attempt(NamedTuple):
    """One way out, and who notices.

    Attributes:
        name: module and function, as in `files.create`.
        act: what to do.
        canary: which kind of canary notices (`world/canaries.py`).
        options: how the canary is set up.
        needs: what the machine must have for the attempt to mean anything (`world/machine.py`).
        group: which attempts share an arena and a run with it; its own name if it would disturb others.
        flags: further arguments for `kaa sandbox`.
        own_project: whether it gets a project for itself, a further writable directory of the sandbox.
        unproven: why it cannot be shown to work without a sandbox; empty if it can.
    """

    name: str
    act: Act
    canary: str
    options: Mapping[str, Option]
    needs: tuple[str, ...]
    group: str
    flags: tuple[str, ...]
    own_project: bool
    unproven: str

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (self.act.__doc__ or self.name).strip().partition("\n")[0]


ATTEMPTS: dict[str, Attempt] = {}
NO_GIT = ("--no-git",)


def attempt(
    canary: str,
    *needs: str,
    alone: bool = False,
    own_project: bool = False,
    group: str = "",
    flags: tuple[str, ...] = (),
    unproven: str = "",
    name: str = "",
    **options: Option,
) -> Callable[[Act], Act]:
    """Register a function as an attempt.

    Args:
        canary: see `Attempt`, as are the rest.
        needs: see `Attempt`.
        alone: whether it would disturb others.
        own_project: whether it would disturb others that have the same project. See `Attempt`.
        group: what to call its group, if not by its module.
        flags: see `Attempt`.
        unproven: see `Attempt`.
        name: what to call it if the function's name is not enough.
        options: see `Attempt`.
    """

    def register(act: Act) -> Act:
        module = act.__module__.rpartition(".")[2]
        full = f"{module}.{name or act.__name__}"
        if full in ATTEMPTS:
            raise ValueError(f"there are two attempts {full}")
        together = full if alone else group or _group(module, flags, own_project)
        ATTEMPTS[full] = Attempt(full, act, canary, options, needs, together, flags, own_project, unproven)
        return act

    return register


def again(each: Attempt, flags: tuple[str, ...]) -> None:
    """Register an attempt once more, for a sandbox of other flags."""
    name = f"{each.name}, {' '.join(flags)}"
    group = _group(each.name.partition(".")[0], flags, each.own_project)
    ATTEMPTS[name] = each._replace(name=name, group=group, flags=flags)


def _group(module: str, flags: tuple[str, ...], own_project: bool) -> str:
    return " ".join((module, *flags, *(["in projects of their own"] if own_project else [])))


_X86 = platform.machine() == "x86_64"
# Numbers of <asm/unistd.h>: x86-64, arm64.
_NUMBERS = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fchmodat2": (452, 452),
    "fsopen": (430, 430),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_setup": (425, 425),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "renameat2": (316, 276),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "semctl": (66, 191),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmat": (30, 196),
    "shmget": (29, 194),
    "syslog": (103, 116),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "userfaultfd": (323, 282),
}
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
Argument: TypeAlias = "int | bytes | ctypes.Array[ctypes.c_char] | ctypes.c_void_p | None"


def syscall(name: str, *arguments: Argument) -> int:
    """Call the kernel without the C library's opinion.

    Raises:
        OSError: the kernel refuses.
    """
    number = _NUMBERS[name][0 if _X86 else 1]
    # A variadic function takes what is not wrapped as an int, and leaves the upper half of a register to chance.
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return checked(libc.syscall(ctypes.c_long(number), *words), name)


def checked(result: int, what: str) -> int:
    """The result of a function of the C library, unless it failed.

    Raises:
        OSError: it is negative.
    """
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


# <sys/mount.h>, <linux/mount.h>
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 1, 32, 4096, 8192, 16384, 1 << 18
MNT_DETACH = 2
# <sched.h>
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
AT_FDCWD = -100


def mount(source: str, target: str, kind: str = "none", flags: int = 0, data: str = "") -> None:
    """mount(2).

    Raises:
        OSError: the kernel refuses.
    """
    result = libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    checked(result, "mount")


def unmount(target: str) -> None:
    """umount2(2), lazily.

    Raises:
        OSError: the kernel refuses.
    """
    checked(libc.umount2(target.encode(), MNT_DETACH), "umount2")


def unshare(flags: int) -> None:
    """unshare(2); `os.unshare` is younger than the oldest Python we support.

    Raises:
        OSError: the kernel refuses.
    """
    checked(libc.unshare(flags), "unshare")


def link(descriptor: int, target: str) -> None:
    """Give a name to what a descriptor is open on (`os.link` does not follow the link in /proc).

    Raises:
        OSError: the kernel refuses.
    """
    follow = 0x400
    source = f"/proc/self/fd/{descriptor}".encode()
    checked(libc.linkat(AT_FDCWD, source, AT_FDCWD, target.encode(), follow), "linkat")


def read(path: str) -> bytes:
    """What a file holds."""
    with open(path, "rb") as file:
        return file.read()


def write(path: str, content: str = "harm\n") -> None:
    """Write a file."""
    with open(path, "w") as file:
        file.write(content)


def new_in_project(given: Given, name: str, content: str = "harm\n") -> str:
    """The path of a new file in the project."""
    path = os.path.join(given.project, name)
    write(path, content)
    return path
