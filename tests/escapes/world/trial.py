"""One run of attempts, in the sandbox or without, and what their canaries say."""

import contextlib
import json
import os
import select
import shlex
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.escapes.attempts.kit import Attempt
from tests.escapes.world import file_canaries, forced, kernel_canaries, process_canaries, socket_canaries
from tests.escapes.world.arena import Arena, arena
from tests.escapes.world.canary import Canary, Ending
from tests.escapes.world.machine import can_mount
from tests.escapes.world.people import Person
from tests.support.patience import HANG_SECONDS

# Another command that runs what follows it in a sandbox: to compare, or to try an attempt.
_SANDBOX_VARIABLE = "KAA_ESCAPES_SANDBOX"
_DRAIN_SECONDS = 0.5

KINDS: dict[str, type[Canary]] = {
    "abstract": socket_canaries.Abstract,
    "brain": process_canaries.Brain,
    "claim": file_canaries.Claim,
    "control-group": kernel_canaries.ControlGroup,
    "descriptor": process_canaries.Descriptor,
    "disk": kernel_canaries.Disk,
    "environment": process_canaries.Environment,
    "files": file_canaries.Files,
    "host-name": kernel_canaries.HostName,
    "interface-address": socket_canaries.InterfaceAddress,
    "kept": file_canaries.Kept,
    "kernel-log": kernel_canaries.KernelLog,
    "kernel-log-secret": kernel_canaries.KernelLogSecret,
    "key": kernel_canaries.Key,
    "keyboard": process_canaries.Keyboard,
    "message-queue": kernel_canaries.MessageQueue,
    "other-terminal": process_canaries.OtherTerminal,
    "posix-queue": kernel_canaries.PosixQueue,
    "project": file_canaries.Project,
    "raw": socket_canaries.Raw,
    "run-later": file_canaries.RunLater,
    "secret": file_canaries.Secret,
    "semaphore": kernel_canaries.Semaphore,
    "set-id": file_canaries.SetId,
    "shared-memory": kernel_canaries.SharedMemory,
    "survivor": process_canaries.Survivor,
    "sysctl": kernel_canaries.Sysctl,
    "tcp": socket_canaries.Tcp,
    "udp": socket_canaries.Udp,
    "unix": socket_canaries.Unix,
    "victim": process_canaries.Victim,
    "vsock": socket_canaries.Vsock,
}


class Verdict(msgspec.Struct, frozen=True):
    """What became of an attempt.

    Attributes:
        harm: what its canary says was harmed; empty if nothing was.
        outcome: what the attempt itself says, to explain.
    """

    harm: str
    outcome: str


class _Report(msgspec.Struct, frozen=True):
    name: str
    outcome: str
    secrets: tuple[str, ...]


def sandbox_command(flags: Sequence[str] = (), tier: str = "") -> list[str]:
    """What to put before a command to run it in the sandbox.

    Args:
        flags: those of `kaa sandbox`.
        tier: the one to use; empty for the one that kaa takes.
    """
    if tier:
        return [sys.executable, forced.__file__, tier, *flags, "--"]
    if is_compared():
        return [*shlex.split(os.environ[_SANDBOX_VARIABLE]), "--"]
    return [str(Path(sysconfig.get_path("scripts")) / "kaa"), "sandbox", *flags, "--"]


def is_compared() -> bool:
    """Whether another sandbox is tried, not kaa's."""
    return bool(os.environ.get(_SANDBOX_VARIABLE))


def base_environment(home: Path) -> dict[str, str]:
    """A person's environment."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm"}


def attempted(person: Person, attempts: Sequence[Attempt], *, sandboxed: bool, tier: str = "") -> dict[str, Verdict]:
    """Make attempts in one arena, one after the other, and judge each.

    Args:
        person: who makes them.
        attempts: to be made, of one group.
        sandboxed: whether there is a sandbox.
        tier: see `sandbox_command`.
    """
    with arena(person) as place, contextlib.ExitStack() as stack:
        canaries: dict[str, Canary] = {}
        for each in attempts:
            around = place.with_own_project(f"project-{len(canaries)}") if each.own_project else place
            canary = KINDS[each.canary](around, each.name, each.options)
            stack.callback(canary.close)
            canaries[each.name] = canary
        place.hand_over()
        for canary in canaries.values():
            canary.settle()
        trial = _Trial(place, attempts, canaries, sandboxed, tier)
        trial.run()
        return {name: trial.verdict(name) for name in canaries}


class _Trial:
    def __init__(
        self, place: Arena, attempts: Sequence[Attempt], canaries: dict[str, Canary], sandboxed: bool, tier: str
    ) -> None:
        self._arena = place
        self._attempts = attempts
        self._canaries = canaries
        self._sandboxed = sandboxed
        self._tier = tier
        self._reports: dict[str, _Report] = {}
        self._errors = b""
        self._exit_code = 0
        self._stopped = False
        self._killed = False

    def run(self) -> None:
        process = self._start()
        try:
            self._follow(process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)
            process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

    def verdict(self, name: str) -> Verdict:
        report = self._reports.get(name)
        if report is not None:
            outcome = report.outcome
        elif self._killed or self._stopped:
            outcome = "not finished when the brain was killed"
        else:
            outcome = f"not run: {self._errors.decode(errors='replace')[-500:]!r}"
        ending = Ending(outcome, report.secrets if report else (), self._exit_code, self._stopped, self._sandboxed)
        return Verdict(self._canaries[name].harm(ending), outcome)

    def _start(self) -> "subprocess.Popen[bytes]":
        environment = base_environment(self._arena.home)
        descriptors: list[int] = []
        key: Sequence[str] = ()
        terminal = None
        for canary in self._canaries.values():
            environment |= canary.environment()
            descriptors += canary.descriptors()
            key = canary.key() or key
            terminal = canary.terminal() if terminal is None else terminal
        command = [sys.executable, "-I", "-S", str(self._arena.attempts), str(self._write_job())]
        if self._sandboxed:
            command = [*sandbox_command(self._flags(), self._tier), *command]
        return self._arena.person.start(
            command,
            directory=self._arena.project,
            environment=environment,
            pid_file=self._arena.top / "brain.pid",
            own_mounts=not self._sandboxed and can_mount(),
            key=key,
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            controlling_terminal=terminal is not None,
            pass_fds=descriptors,
            is_read=any(canary.environment().keys() - {"HOME"} for canary in self._canaries.values()),
        )

    def _flags(self) -> list[str]:
        """Those that the attempts have in common, and their own projects."""
        own = (self._canaries[each.name].arena.project for each in self._attempts if each.own_project)
        return [*self._attempts[0].flags, *(flag for project in own for flag in ("--add-dir", str(project)))]

    def _write_job(self) -> Path:
        common = {"home": str(self._arena.home), "sandboxed": self._sandboxed}
        tasks = [
            {"name": name, "facts": {**common, "project": str(canary.arena.project), **canary.facts()}}
            for name, canary in self._canaries.items()
        ]
        job = {"tasks": tasks, "go": str(self._arena.top / "go"), "brain": str(self._arena.top / "brain.pid")}
        path = self._arena.top / "job.json"
        path.write_text(json.dumps(job))
        path.chmod(0o644)
        return path

    def _follow(self, process: "subprocess.Popen[bytes]") -> None:
        """Take in what is reported until the process ends. Its output may stay open longer: nobody waits for that."""
        assert process.stdout is not None
        assert process.stderr is not None
        pipes = {process.stdout.fileno(): b"", process.stderr.fileno(): b""}
        deadline = time.monotonic() + HANG_SECONDS
        while process.poll() is None:
            if time.monotonic() > deadline:
                self._errors += b"[the run hung]"
                break
            self._read(pipes, process.stdout.fileno(), 0.02)
            if any(canary.may_end() for canary in self._canaries.values()):
                self._killed = True
                process.kill()
            if _is_stopped(process.pid):
                self._stopped = True
                break
        self._exit_code = process.returncode or 0
        deadline = time.monotonic() + _DRAIN_SECONDS
        while self._read(pipes, process.stdout.fileno(), 0.0) and time.monotonic() < deadline:
            pass

    def _read(self, pipes: dict[int, bytes], output: int, timeout: float) -> bool:
        """Read what is there. Whether there was something."""
        anything = False
        for fd in select.select(list(pipes), [], [], timeout)[0]:
            data = os.read(fd, 65536)
            if not data:
                del pipes[fd]
                continue
            anything = True
            if fd != output:
                self._errors += data
                continue
            *lines, pipes[fd] = (pipes[fd] + data).split(b"\n")
            for line in lines:
                self._take_in(line)
        if not anything and not pipes:
            time.sleep(timeout)
        return anything

    def _take_in(self, line: bytes) -> None:
        try:
            report = msgspec.json.decode(line, type=_Report)
        except msgspec.DecodeError:
            self._errors += line + b"\n"
            return
        if report.name:
            self._reports[report.name] = report
            return
        for canary in self._canaries.values():
            canary.started()
        (self._arena.top / "go").touch()


def _is_stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False
