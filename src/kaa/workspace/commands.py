"""Running one command in a slot: its output collected, its end awaited, its whole tree stopped when need be."""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec

from kaa.workspace.channel import parse
from kaa.workspace.protocol import WorkspaceUnavailableError
from kaa.workspace.slots import Slot, Slots
from kaa.workspace.standstill import standstill

if TYPE_CHECKING:
    from kaa.hands.confinement.failed_connections import FailedConnection
    from kaa.workspace.terminal import ProgramTerminal

GRACE_SECONDS = 2.0
# Killing the tree gives up after a second; whoever answers later than that has died or hangs.
_STOP_MARGIN_SECONDS = 3.0
_SHORTEST_WAIT_SECONDS = 0.1  # while its user is asked at the very end of its time
_READ_BYTES = 128 * 1024
_PIPE_BYTES = 1024 * 1024  # what Linux allows everybody; fewer wake-ups than with its usual 64 KiB


class Ending(NamedTuple):
    """How a command ended.

    Attributes:
        exit_code: None if a signal ended it.
        signal: the signal's number, else None.
        leftovers: background processes that had to be stopped.
        timed_out: it was stopped because its time was over.
        failed_connections: where it could not connect to, as far as the tier knows.
    """

    exit_code: int | None
    signal: int | None
    leftovers: int
    timed_out: bool
    failed_connections: "tuple[FailedConnection, ...]" = ()


class _EndReply(msgspec.Struct, frozen=True):
    """What the command slot says at the end: a raw wait status, or why there was nothing to wait for."""

    status: Annotated[int, msgspec.Meta(ge=0, le=0xFFFF)] = 0
    leftovers: int = 0
    error: str | None = None
    errno: int = 0
    again: bool = False
    halted: bool | None = None  # whether nothing of it runs, where it goes on


class OwnStreams(NamedTuple):
    """Descriptors that become a command's own; they stay the caller's to close. `further`: from number 3 on."""

    stdin: int
    stdout: int
    stderr: int
    further: tuple[int, ...] = ()

    @property
    def descriptors(self) -> tuple[int, ...]:
        """All of them, in the order of their numbers."""
        return self.stdin, self.stdout, self.stderr, *self.further


class CommandRunner:
    """Runs commands in slots of the hands and knows which are running.

    Args:
        naming: further fields of every request: how its directory is to be understood.
        only_reads: nothing that it runs writes in a project: that goes on while git runs outside the sandbox.
    """

    def __init__(self, slots: Slots, naming: Mapping[str, object] | None = None, *, only_reads: bool = False) -> None:
        self._slots = slots
        self._only_reads = only_reads
        self._naming = naming or {}
        self._running: set[_RunningCommand] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float | None,  # noqa: ASYNC109 - not the caller's timeouts but the command's limit; its end is an answer
        output: Callable[[bytes], None] | OwnStreams,
        given: Callable[[], None] = lambda: None,
        waited: Callable[[], float] = lambda: 0.0,
        fields: Mapping[str, object] | None = None,
        kind: Literal["command", "background"] = "command",
        terminal: "ProgramTerminal | None" = None,
    ) -> Ending:
        """Run a command to its end.

        Cancellation and exceptions from `output` stop the whole tree before they are raised here.

        Args:
            cwd: directory, relative to the workspace's root.
            timeout: seconds, None for no limit.
            output: gets stdout and stderr as they come; or the streams the command is to have itself.
            given: called when it has these streams: the caller needs them no more.
            waited: returns the seconds so far in which it may have waited for its user; these do not count.
            terminal: takes the place of the pipe for the output, and gives input.

        Raises:
            OSError: the directory cannot be entered.
            WorkspaceUnavailableError: the slot died.
        """
        slot = await self._slots.take(kind)
        command = _RunningCommand(slot, output, terminal)
        self._running.add(command)
        self._idle.clear()
        still = standstill()
        can_be_paused = not self._only_reads and slot.hands.policy.mode == "workspace-write"
        try:
            if can_be_paused:
                await still.admit(command, command.interruption)
            request = {**self._naming, "op": "run", "argv": list(argv), "cwd": cwd, "env": dict(env)}
            request |= fields or {}
            await command.start(request)
            given()
            # What pauses the others has its own limit.
            return await command.run(cwd, timeout, (lambda: waited() + still.seconds()) if can_be_paused else waited)
        finally:
            still.dismiss(command)
            if command.close():
                self._slots.give_back(kind, slot)
            self._running.discard(command)
            if not self._running:
                self._idle.set()

    def stop(self) -> None:
        """Stop everything that runs at once. It ends as if by a signal."""
        for command in self._running:
            command.interrupt(grace=0.0)

    async def close(self) -> None:
        """Stop everything that runs and wait for it."""
        for command in self._running:
            command.interrupt()
        await self._idle.wait()


class _RunningCommand:
    """One command from its start to its end."""

    def __init__(
        self, slot: Slot, output: Callable[[bytes], None] | OwnStreams, terminal: "ProgramTerminal | None" = None
    ) -> None:
        self._slot = slot
        # Done when the command has to be stopped: with an exception if that is because `output` raised it.
        self.interruption: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pipe = None if isinstance(output, OwnStreams) else _Pipe(output, self.interruption, terminal)
        self._started, self._still = asyncio.Event(), asyncio.Event()
        self._is_halted, self._has_halted, self._answers_due = False, True, 0
        self._stopped = False
        self._grace = GRACE_SECONDS
        self._reusable = False
        self._streams = output if isinstance(output, OwnStreams) else None

    async def run(self, cwd: str, seconds: float | None, waited: Callable[[], float]) -> Ending:
        """Once it was started, see `CommandRunner.run`."""
        ended = asyncio.create_task(self._end())
        try:
            first: list[asyncio.Future[_EndReply] | asyncio.Future[None]] = [ended, self.interruption]
            left, before = seconds, waited()
            while not (await asyncio.wait(first, timeout=left, return_when=asyncio.FIRST_COMPLETED))[0]:
                now = waited()
                if now <= before:
                    break
                left, before = max(now - before, _SHORTEST_WAIT_SECONDS), now
            timed_out = not ended.done() and not self.interruption.done()
        finally:
            if not ended.done():
                await self._stop(ended)
        if ended.cancelled():
            raise WorkspaceUnavailableError("The process for commands does not answer; it was killed.")
        reply = ended.result()
        self._reusable = reply.again and not self._stopped
        if reply.error is not None:
            raise OSError(reply.errno, reply.error, cwd)
        if self._pipe is not None:
            self._pipe.drain()
        if self.interruption.done():
            self.interruption.result()
        by_signal = os.WIFSIGNALED(reply.status)
        return Ending(
            exit_code=None if by_signal else os.WEXITSTATUS(reply.status),
            signal=os.WTERMSIG(reply.status) if by_signal else None,
            leftovers=reply.leftovers,
            timed_out=timed_out,
            failed_connections=self._slot.take_failed_connections(),
        )

    def interrupt(self, grace: float = GRACE_SECONDS) -> None:
        """Have it stopped; it gets so many seconds to end by itself."""
        self._grace = grace
        if not self.interruption.done():
            self.interruption.set_result(None)

    def close(self) -> bool:
        """Let go of the slot. Returns whether it can be used again; if not, whatever still runs there is killed."""
        self._has_halted = True
        self._still.set()
        if self._pipe is not None:
            self._pipe.close()
        if self.interruption.done():
            self.interruption.exception()  # whoever did not see it had something more important to raise
        if not self._reusable:
            self._slot.close()
        return self._reusable

    async def start(self, request: Mapping[str, object]) -> None:
        try:
            if self._pipe is None:
                await self._slot.channel.send(
                    request, descriptors=() if self._streams is None else self._streams.descriptors
                )
                return
            descriptors = self._pipe.open()
            own_terminal = {"own_terminal": True} if len(descriptors) > 1 else {}
            try:
                await self._slot.channel.send({**request, **own_terminal}, descriptors=descriptors)
            finally:
                os.close(descriptors[0])
        finally:
            self._started.set()

    async def halt(self) -> bool:
        await self._started.wait()
        if not self._is_halted:
            self._is_halted = True
            self._answers_due += 1
            self._still.clear()
            self._slot.channel.post({"op": "halt"})
        await self._still.wait()
        return self._has_halted

    def resume(self) -> None:
        if self._is_halted:
            self._is_halted = False
            self._slot.channel.post({"op": "resume"})

    async def _end(self) -> "_EndReply":
        while (reply := parse((await self._slot.channel.receive()).header, _EndReply)).halted is not None:
            self._has_halted = reply.halted
            self._answers_due -= 1
            if not self._answers_due:
                self._still.set()
        return reply

    async def _stop(self, ended: "asyncio.Task[_EndReply]") -> None:
        """Stop the whole tree. Cancelling this makes it quicker (KILL at once) but does not leave anything running.

        `ended` is done afterwards: cancelled if the slot did not answer and was killed with all that it ran.
        """
        self._stopped = True
        cancelled = False
        for grace in (self._grace, 0.0):
            with contextlib.suppress(WorkspaceUnavailableError):  # `ended` knows it too
                await self._slot.channel.send({"op": "stop", "grace": grace})
            try:
                await asyncio.wait({ended}, timeout=grace + _STOP_MARGIN_SECONDS)
            except asyncio.CancelledError:
                cancelled = True
            if ended.done():
                break
        else:
            self._slot.kill()
            ended.cancel()
            await asyncio.wait({ended})  # it reads the socket, which is about to be closed
        if cancelled:
            raise asyncio.CancelledError


class _Pipe:
    """The pipe that carries a command's output.

    Args:
        failure: gets the exception if `output` raises one; nothing is read any more then.
        terminal: takes the place of the pipe.
    """

    def __init__(
        self, output: Callable[[bytes], None], failure: "asyncio.Future[None]", terminal: "ProgramTerminal | None"
    ) -> None:
        self._output = output
        self._failure = failure
        self._terminal = terminal
        self._read_end: int | None = None

    def open(self) -> list[int]:
        """Create the pipe and start reading. Returns its other end, which the caller closes, for each stream."""
        if self._terminal is not None:
            self._read_end, theirs = self._terminal.take()
            asyncio.get_running_loop().add_reader(self._read_end, self._read)
            return [theirs] * 3
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):  # the user has many pipes already
                fcntl.fcntl(read_end, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._read_end = read_end
        asyncio.get_running_loop().add_reader(read_end, self._read)
        return [write_end]

    def drain(self) -> None:
        """Read what is there, without waiting: a process that escaped may hold the other end open for ever."""
        left = _PIPE_BYTES
        while left > 0 and (size := self._read()):
            left -= size

    def close(self) -> None:
        if self._read_end is not None:
            asyncio.get_running_loop().remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = None

    def _read(self) -> int:
        """Read once; how many bytes came."""
        if self._read_end is None:
            return 0
        try:
            chunk = os.read(self._read_end, _READ_BYTES)
        except BlockingIOError:
            return 0
        except OSError:  # of a terminal that no program has open any more
            chunk = b""
        if not chunk:
            self.close()
            return 0
        try:
            self._output(chunk)
        except Exception as error:  # noqa: BLE001 - not ours: handed to whoever waits for the command
            self.close()
            if not self._failure.done():
                self._failure.set_exception(error)
        return len(chunk)
