"""Canaries that are things of the kernel which processes share."""

import contextlib
import ctypes
import os
import secrets
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

from tests.escapes.attempts.kit import libc, syscall
from tests.escapes.world.canary import Canary, Ending, Facts
from tests.escapes.world.machine import control_groups, disk_of

_CREATE = 0o1000 | 0o666
_REMOVE = 0


def _new_key() -> int:
    return 0x4B000000 | secrets.randbelow(1 << 24)


class SharedMemory(Canary):
    """Memory that processes share by its number."""

    def prepare(self) -> None:
        self._key = _new_key()
        self._id = syscall("shmget", self._key, 4096, _CREATE)
        libc.shmat.restype = ctypes.c_void_p
        self._content = (ctypes.c_char * 64).from_address(libc.shmat(self._id, None, 0))
        self._content.value = self.secret.encode()

    def facts(self) -> Facts:
        return {"number": self._key}

    def harm(self, ending: Ending) -> str:
        changed = self._content.value != self.secret.encode()
        return self.learned(ending) or ("it was written" if changed else "")

    def close(self) -> None:
        libc.shmctl(self._id, _REMOVE, None)
        libc.shmdt(self._content)


class MessageQueue(Canary):
    """A queue that processes share by its number."""

    def prepare(self) -> None:
        self._key = _new_key()
        self._id = syscall("msgget", self._key, _CREATE)

    def facts(self) -> Facts:
        return {"number": self._key}

    def harm(self, ending: Ending) -> str:
        no_wait, buffer = 0o4000, ctypes.create_string_buffer(128)
        return "a message arrived" if libc.msgrcv(self._id, buffer, 100, ctypes.c_long(0), no_wait) >= 0 else ""

    def close(self) -> None:
        libc.msgctl(self._id, _REMOVE, None)


class Semaphore(Canary):
    """A semaphore that processes share by its number."""

    def prepare(self) -> None:
        self._key = _new_key()
        self._id = syscall("semget", self._key, 1, _CREATE)

    def facts(self) -> Facts:
        return {"number": self._key}

    def harm(self, ending: Ending) -> str:
        get_value = 12
        value = libc.semctl(self._id, 0, get_value)
        return f"it is {value}" if value else ""

    def close(self) -> None:
        libc.semctl(self._id, 0, _REMOVE)


class PosixQueue(Canary):
    """A queue that processes share by its name."""

    def prepare(self) -> None:
        self._name = f"/kaa-escape-{secrets.token_hex(8)}".encode()
        flags = os.O_CREAT | os.O_RDWR | os.O_NONBLOCK
        attributes = struct.pack("8l", 0, 1, 64, 0, 0, 0, 0, 0)
        self._queue = libc.mq_open(self._name, flags, 0o666, attributes)
        assert self._queue >= 0
        if self.arena.person.uid >= 0:
            os.fchown(self._queue, self.arena.person.uid, -1)

    def facts(self) -> Facts:
        return {"text": self._name.decode()}

    def harm(self, ending: Ending) -> str:
        return (
            "a message arrived" if libc.mq_receive(self._queue, ctypes.create_string_buffer(64), 64, None) >= 0 else ""
        )

    def close(self) -> None:
        os.close(self._queue)
        libc.mq_unlink(self._name)


class Key(Canary):
    """A key in the keyring of the session."""

    def facts(self) -> Facts:
        return {"text": self.name}

    def key(self) -> Sequence[str]:
        return (self.name, self.secret)

    def harm(self, ending: Ending) -> str:
        return self.learned(ending)


class Sysctl(Canary):
    """A setting of the kernel's, one that nothing depends on."""

    def prepare(self) -> None:
        self._path = Path("/proc/sys/kernel", self.option("setting"))
        self._before = self._path.read_text()
        self._number = 1000 + secrets.randbelow(100_000)

    def facts(self) -> Facts:
        return {"path": str(self._path), "number": self._number}

    def harm(self, ending: Ending) -> str:
        return "it was set" if int(self._path.read_text()) == self._number else ""

    def close(self) -> None:
        if int(self._path.read_text()) == self._number:
            self._path.write_text(self._before)


class KernelLog(Canary):
    """The kernel's log: nobody writes there."""

    def prepare(self) -> None:
        self._fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self._fd, 0, os.SEEK_END)

    def facts(self) -> Facts:
        return {"text": self.secret}

    def harm(self, ending: Ending) -> str:
        with contextlib.suppress(BlockingIOError):
            while record := os.read(self._fd, 8192):
                if self.secret.encode() in record:
                    return "a line was written"
        return ""

    def close(self) -> None:
        os.close(self._fd)


class KernelLogSecret(Canary):
    """The kernel's log: it tells where things are in memory."""

    def prepare(self) -> None:
        Path("/dev/kmsg").write_text(self.secret + "\n")

    def harm(self, ending: Ending) -> str:
        return self.learned(ending)


class ControlGroup(Canary):
    """The host's control groups: no new one appears."""

    def prepare(self) -> None:
        groups = control_groups()
        assert groups is not None
        self._groups = groups
        self._path = Path(groups.path, f"kaa-escape-{secrets.token_hex(6)}")

    def facts(self) -> Facts:
        return {"path": str(self._path), "text": self._groups.kind, "address": self._groups.options}

    def harm(self, ending: Ending) -> str:
        return "a group was made" if self._path.exists() else ""

    def close(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._path.rmdir()


class HostName(Canary):
    """The machine's name."""

    def prepare(self) -> None:
        self._before = socket.gethostname()

    def facts(self) -> Facts:
        return {"text": f"escaped-{secrets.token_hex(3)}"}

    def harm(self, ending: Ending) -> str:
        return "" if socket.gethostname() == self._before else "the machine was renamed"

    def close(self) -> None:
        if socket.gethostname() != self._before:
            socket.sethostname(self._before)


class Disk(Canary):
    """The disk that people's homes are on: what identifies it counts as the secret."""

    def prepare(self) -> None:
        disk = disk_of(Path("/home"))
        assert disk is not None
        self._disk = disk
        with open(disk.path, "rb") as file:
            file.seek(1128)
            self.secret = f"canary-{file.read(12).hex()}"

    def facts(self) -> Facts:
        return {"path": self._disk.path, "number": self._disk.number}

    def harm(self, ending: Ending) -> str:
        return self.learned(ending)
