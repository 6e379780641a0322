"""Canaries that are processes, and what processes have."""

import contextlib
import ctypes
import os
import pty
import secrets
import shutil
import signal
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.escapes.world.canary import Canary, Ending, Facts, write_secret
from tests.escapes.world.snapshot import Snapshot

_GONE_SECONDS = 20.0  # what is killed with a whole tree may take a while on a busy machine
_IOPRIO_GET = {"x86_64": 252, "aarch64": 31}
_libc = ctypes.CDLL(None)


class Victim(Canary):
    """A process outside: it lives on as it was, and what it knows stays its own.

    It has the secret in its environment, its arguments and an open file, and a file open for writing.
    """

    def prepare(self) -> None:
        self.directory = self.arena.directory(self.name)
        (self.directory / "canary.txt").write_text("sings\n")
        (self.directory / "open.txt").write_text("sings\n")
        write_secret(self.directory / "secret.txt", self.secret)

    def facts(self) -> Facts:
        return {
            "pid": self._process.pid,
            "directory": str(self.directory),
            "path": str(self.directory / "canary.txt"),
        }

    def settle(self) -> None:
        person = self.arena.person
        with (self.directory / "secret.txt").open("rb") as known, (self.directory / "open.txt").open("r+b") as written:
            self._process = subprocess.Popen(
                [self.secret, "1000"],
                executable=shutil.which("sleep") or "/bin/sleep",
                stdin=known,
                stdout=written,
                stderr=subprocess.DEVNULL,
                env={"SECRET": self.secret},
                cwd=self.directory,
                start_new_session=True,
                user=person.user,
                group=person.user,
                extra_groups=person.groups,
            )
        while not Path(f"/proc/{self._process.pid}/environ").read_bytes():  # it is still being loaded
            time.sleep(0.001)
        self._before = self._look()
        self._files = Snapshot(self.directory)

    def harm(self, ending: Ending) -> str:
        if self._process.poll() is not None:
            return f"it died: {self._process.returncode}"
        now = self._look()
        changed = [name for name, value in self._before.items() if now[name] != value]
        return self.learned(ending) or self._files.changes() or ", ".join(f"its {name} was changed" for name in changed)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _look(self) -> dict[str, object]:
        pid = self._process.pid
        folder = Path(f"/proc/{pid}")
        status = folder.joinpath("status").read_text()
        return {
            "environment": folder.joinpath("environ").read_bytes(),
            "tracer": [line for line in status.splitlines() if line.startswith("TracerPid")],
            "state": folder.joinpath("stat").read_text().rpartition(")")[2].split()[0] in "Tt",
            "limits": folder.joinpath("limits").read_text(),
            "priority": os.getpriority(os.PRIO_PROCESS, pid),
            "affinity": os.sched_getaffinity(pid),
            "scheduler": os.sched_getscheduler(pid),
            "priority of disk": _libc.syscall(_IOPRIO_GET[os.uname().machine], 1, pid),
            "score": folder.joinpath("oom_score_adj").read_text(),
            "filter of core dumps": folder.joinpath("coredump_filter").read_text(),
        }


class Brain(Canary):
    """The process that started the sandbox."""

    def harm(self, ending: Ending) -> str:
        if ending.stopped:
            return "it was stopped"
        return "it was killed" if ending.exit_code in {-signal.SIGKILL, 128 + signal.SIGKILL} else ""


class Survivor(Canary):
    """Nothing: no process that has the mark among its arguments may be there when the sandbox has ended."""

    def prepare(self) -> None:
        self._mark = f"kaa-survivor-{secrets.token_hex(8)}"

    def facts(self) -> Facts:
        return {"text": self._mark}

    def may_end(self) -> bool:
        return bool(self.options.get("brain_dies")) and any(self._marked())

    def harm(self, ending: Ending) -> str:
        deadline = time.monotonic() + (_GONE_SECONDS if self.options.get("brain_dies") and ending.sandboxed else 0)
        while (survivors := list(self._marked())) and time.monotonic() < deadline:
            time.sleep(0.02)
        return f"{len(survivors)} processes live on" if survivors else ""

    def close(self) -> None:
        deadline = time.monotonic() + _GONE_SECONDS
        while (survivors := list(self._marked())) and time.monotonic() < deadline:
            for pid in survivors:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _marked(self) -> Iterator[int]:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if self._mark.encode() in path.read_bytes():
                    yield int(path.parent.name)


class Environment(Canary):
    """A variable of the process that starts the sandbox."""

    def environment(self) -> dict[str, str]:
        return {self.option("variable"): self.secret}

    def harm(self, ending: Ending) -> str:
        return self.learned(ending)


class Descriptor(Canary):
    """An open file which that process has inherited, and would let everybody inherit."""

    def prepare(self) -> None:
        path = self.arena.directory(self.name) / "inherited"
        path.write_text(self.secret)
        self._fd = os.open(path, os.O_RDONLY)
        path.unlink()  # it has no name: the descriptor is the only way to it

    def descriptors(self) -> Sequence[int]:
        return (self._fd,)

    def harm(self, ending: Ending) -> str:
        return self.learned(ending)

    def close(self) -> None:
        os.close(self._fd)


class Keyboard(Canary):
    """The terminal that the sandbox is started in: nobody but the user types there."""

    def prepare(self) -> None:
        self._master, self._slave = pty.openpty()
        self._text = secrets.token_hex(4)
        if self.arena.person.uid >= 0:
            os.fchown(self._slave, self.arena.person.uid, -1)

    def facts(self) -> Facts:
        return {"text": self._text}

    def terminal(self) -> int:
        return self._slave

    def harm(self, ending: Ending) -> str:
        # A terminal echoes what is typed.
        return "something was typed" if self._text.encode() in _waiting(self._master) else ""

    def close(self) -> None:
        os.close(self._master)
        os.close(self._slave)


class OtherTerminal(Canary):
    """A terminal of the user's that has nothing to do with the sandbox."""

    def prepare(self) -> None:
        self._master, self._slave = pty.openpty()
        if self.arena.person.uid >= 0:
            os.fchown(self._slave, self.arena.person.uid, -1)
        *others, local, input_speed, output_speed, characters = termios.tcgetattr(self._slave)
        settings = [*others, local & ~termios.ECHO, input_speed, output_speed, characters]
        termios.tcsetattr(self._slave, termios.TCSANOW, settings)
        os.write(self._master, self.secret.encode() + b"\n")

    def facts(self) -> Facts:
        return {"path": os.ttyname(self._slave)}

    def harm(self, ending: Ending) -> str:
        return self.learned(ending) or ("something was written" if _waiting(self._master) else "")

    def close(self) -> None:
        os.close(self._master)
        os.close(self._slave)


def _waiting(fd: int) -> bytes:
    """What can be read right now."""
    os.set_blocking(fd, False)
    data = b""
    with contextlib.suppress(OSError):
        while more := os.read(fd, 4096):
            data += more
    return data
