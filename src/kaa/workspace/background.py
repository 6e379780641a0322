"""Commands that go on in the background: started on purpose, listed, read while they run, stopped, never forgotten."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from kaa.workspace.blocked import BlockedError
from kaa.workspace.protocol import (
    BackgroundOutput,
    BackgroundProcess,
    CommandRequest,
    CommandResult,
    NoSuchProcessError,
    OnOutput,
    TooManyProcessesError,
)

if TYPE_CHECKING:
    from kaa.workspace.terminal import ProgramTerminal

RunCommand: TypeAlias = "Callable[[CommandRequest, OnOutput, ProgramTerminal | None], Awaitable[CommandResult]]"

_MAX_RUNNING = 16
_MAX_ENDED = 32  # that are remembered; each keeps the end of its output in memory


class ProcessTable:
    """The background processes of a workspace, by number.

    Args:
        logs: gives the directory for outputs that are too long to keep in memory, None if there is none.
    """

    def __init__(self, logs: Callable[[], str | None] = lambda: None) -> None:
        self._logs = logs
        self._processes: dict[int, _Process] = {}
        self._last_id = 0
        self._watchers: list[Callable[[BackgroundProcess], None]] = []

    def watch(self, changed: Callable[[BackgroundProcess], None]) -> Callable[[], None]:
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)

    def start(
        self, command: CommandRequest, run: RunCommand, rights: Callable[[], frozenset[str]] = frozenset
    ) -> BackgroundProcess:
        """Let a command run on its own.

        Args:
            command: its `tail_bytes` limit what is kept of the output here too.
            run: runs it to its end; cancelling that stops it.
            rights: of commands at the moment. It takes input as long as they have those that it began with.

        Raises:
            TooManyProcessesError: as many as are allowed are running.
        """
        running = [process for process in self._processes.values() if not process.task.done()]
        if len(running) >= _MAX_RUNNING:
            raise TooManyProcessesError(f"{_MAX_RUNNING} background processes are running; stop one of them first.")
        self._forget_oldest()
        self._last_id += 1
        process = _Process(self._last_id, command, run, self._logs() if command.spill else None, rights)
        self._processes[process.id] = process
        process.task.add_done_callback(lambda _: self._tell(process))
        self._tell(process)
        return process.info

    def _tell(self, process: "_Process") -> None:
        for changed in tuple(self._watchers):
            changed(process.info)

    @property
    def is_busy(self) -> bool:
        return any(not process.task.done() for process in self._processes.values())

    def list(self) -> tuple[BackgroundProcess, ...]:
        return tuple(process.info for process in self._processes.values())

    def output(self, process_id: int, position: int = 0) -> BackgroundOutput:
        return self._process(process_id).output(position)

    async def wait(self, process_id: int, seconds: float, beyond: int | None = None) -> BackgroundProcess:
        process = self._process(process_id)
        more = None if beyond is None else asyncio.create_task(process.more(beyond))
        waited: set[asyncio.Task[CommandResult] | asyncio.Task[None]] = {process.task}
        if more is not None:
            waited.add(more)
        try:
            await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if more is not None:
                more.cancel()
        return process.info

    async def write(self, process_id: int, data: bytes) -> bool:
        process = self._process(process_id)
        return process.terminal is not None and process.has_rights_of_now and await process.terminal.write(data)

    async def stop(self, process_id: int) -> BackgroundProcess:
        process = self._process(process_id)
        process.task.cancel()
        await asyncio.wait({process.task})
        return process.info

    async def close(self) -> None:
        tasks = [process.task for process in self._processes.values() if not process.task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _process(self, process_id: int) -> "_Process":
        try:
            return self._processes[process_id]
        except KeyError as error:
            known = ", ".join(map(str, self._processes)) or "none"
            raise NoSuchProcessError(f"There is no background process {process_id}; there are: {known}.") from error

    def _forget_oldest(self) -> None:
        ended = [process.id for process in self._processes.values() if process.task.done()]
        for process_id in ended[: -_MAX_ENDED + 1]:
            del self._processes[process_id]


class _Process:
    """One command and what it has printed."""

    def __init__(
        self,
        process_id: int,
        command: CommandRequest,
        run: RunCommand,
        logs: str | None,
        rights: Callable[[], frozenset[str]],
    ) -> None:
        from kaa.workspace.output import OutputCollector  # lazy: few commands run in the background

        self.id = process_id
        self._command = command
        self._rights, self._begun_with = rights, rights()
        self._started = time.monotonic()
        self._seconds: float | None = None
        self._output = OutputCollector(command.tail_bytes, logs=logs, spill_lines=command.spill_lines, on_output=None)
        self._fed = asyncio.Event()
        self.terminal = _terminal() if command.terminal else None
        self.task: asyncio.Task[CommandResult] = asyncio.create_task(self._run(run))
        self.task.add_done_callback(_look_at)
        if (terminal := self.terminal) is not None:  # also if it is stopped before it begins
            self.task.add_done_callback(lambda _: terminal.close())

    @property
    def has_rights_of_now(self) -> bool:
        """Whether a command that begins now could do as much: in plan mode, no older shell may be told what to do."""
        return self._begun_with <= self._rights()

    @property
    def info(self) -> BackgroundProcess:
        """What is known of it now."""
        known = BackgroundProcess(
            id=self.id,
            command=self._command,
            state="running",
            output_bytes=self._output.size,
            seconds=time.monotonic() - self._started if self._seconds is None else self._seconds,
            log_path=self._output.log_path,
        )
        if not self.task.done():
            return known
        if self.task.cancelled():
            return msgspec.structs.replace(known, state="stopped")
        error = self.task.exception()
        if isinstance(error, BlockedError):
            return msgspec.structs.replace(known, state="failed", error=error.blocked.text, blocked=(error.blocked,))
        if error is not None:
            return msgspec.structs.replace(known, state="failed", error=str(error))
        result = self.task.result()
        return msgspec.structs.replace(known, state="ended", result=result, blocked=result.blocked)

    def output(self, position: int) -> BackgroundOutput:
        """What it printed from a position on, as far as it is kept."""
        tail, size = self._output.tail, self._output.size
        start = max(min(position, size), size - len(tail))
        return BackgroundOutput(tail[len(tail) - (size - start) :], start, size)

    async def more(self, position: int) -> None:
        """Wait for output beyond a position."""
        while self._output.size <= position:
            self._fed.clear()
            await self._fed.wait()

    def _feed(self, chunk: bytes) -> None:
        self._output.feed(chunk)
        self._fed.set()

    async def _run(self, run: RunCommand) -> CommandResult:
        try:
            # Its whole output is kept here, where it can be read from the start on.
            command = msgspec.structs.replace(self._command, spill=False, carries_findings=False)
            result = await run(command, self._feed, self.terminal)
        finally:
            self._seconds = time.monotonic() - self._started
            self._output.close()
        return msgspec.structs.replace(result, log_path=self._output.log_path, log_cut=self._output.log_cut)


def _terminal() -> "ProgramTerminal":
    from kaa.workspace.terminal import ProgramTerminal  # lazy, as above

    return ProgramTerminal()


def _look_at(task: "asyncio.Task[CommandResult]") -> None:
    """Tell asyncio that somebody knows of a failure; whoever asks for the process is told."""
    if not task.cancelled():
        task.exception()
