"""The hands as a process: started, asked for slots, started again when they die, and stopped."""

import asyncio
import contextlib
import socket
import subprocess
from collections import deque
from typing import Literal

import msgspec

from kaa.hands import wire
from kaa.workspace.channel import Channel, parse
from kaa.workspace.launch import LaunchedHands, launch
from kaa.workspace.protocol import WorkspaceUnavailableError

SlotKind = Literal["files", "command"]

_SPARES: dict[SlotKind, int] = {"files": 0, "command": 2}  # forked ahead of need: it takes a millisecond
_TOP_UP_DELAY_SECONDS = 0.005
_STOP_SECONDS = 3.0  # the hands give their slots two


class Slot(msgspec.Struct, frozen=True):
    """A process of the hands that waits for work."""

    pid: int
    channel: Channel


class _SlotReply(msgspec.Struct, frozen=True):
    """What the fork-server answers: a pid, or why there is none."""

    slot: int | None = None
    error: str | None = None


class _GoneError(Exception):
    """The fork-server is not there."""


class Hands:
    """The fork-server process of one workspace.

    Args:
        root: absolute path of the workspace.
        home: what `~` stands for.
    """

    def __init__(self, root: str, home: str) -> None:
        self._settings = {"root": root, "home": home}
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._decoder = wire.FrameDecoder()
        self._descriptors: deque[int] = deque()
        self._requested: deque[SlotKind] = deque()  # in the order in which they will be answered
        self._ready: dict[SlotKind, deque[Slot]] = {"files": deque(), "command": deque()}
        self._waiting: dict[SlotKind, int] = {"files": 0, "command": 0}
        self._receiving = asyncio.Lock()
        self._closed = False

    def start(self, launched: LaunchedHands | None = None) -> None:
        """Start the process and ask for its first slots, without waiting for it. Needs no event loop.

        Args:
            launched: a process that was started before; None starts one.

        Raises:
            WorkspaceUnavailableError: it cannot be started.
        """
        try:
            self._process, ours = launched or launch()
        except OSError as error:
            raise WorkspaceUnavailableError(f"The hands cannot be started: {error}.") from error
        ours.setblocking(False)
        self._control = ours
        self._decoder = wire.FrameDecoder()
        with contextlib.suppress(_GoneError):  # noticed and reported by whoever waits for a slot
            self._send(self._settings)
            self._request("files")
            self._top_up("command")

    async def take(self, kind: SlotKind) -> Slot:
        """A slot of one's own. Starts the process again if it has died.

        Raises:
            WorkspaceUnavailableError: the process dies each time.
        """
        reason = ""
        for _attempt in range(2):
            if self._closed:
                raise WorkspaceUnavailableError("The workspace is closed.")
            if self._control is None:
                self.start()
            try:
                return await self._take(kind)
            except _GoneError as error:
                reason = str(error)
                self._discard()
        raise WorkspaceUnavailableError(f"The hands died twice while they were to start a process: {reason}.")

    def kill(self, pid: int) -> None:
        """Kill a slot that does not answer."""
        with contextlib.suppress(_GoneError):
            self._send({"op": "kill", "pid": pid})

    async def close(self) -> None:
        """Hang up and wait until the process has stopped everything it started."""
        self._closed = True
        control, process = self._control, self._process
        if control is None or process is None:
            return
        self._hang_up_spares()
        with contextlib.suppress(OSError):
            control.shutdown(socket.SHUT_WR)
        async with self._receiving:
            with contextlib.suppress(TimeoutError, _GoneError):
                async with asyncio.timeout(_STOP_SECONDS):
                    while True:  # until end of file, which is the process's end
                        await _readable(control)
                        self._receive()
                        self._hang_up_spares()
        self._discard()

    async def _take(self, kind: SlotKind) -> Slot:
        self._waiting[kind] += 1
        try:
            self._receive()
            while (slot := self._next_living(kind)) is None:
                self._top_up(kind)
                async with self._receiving:
                    if not self._ready[kind] and self._control is not None:
                        await _readable(self._control)
                    self._receive()
        finally:
            self._waiting[kind] -= 1
        # Later, so that the fork does not compete with what the slot is taken for.
        asyncio.get_running_loop().call_later(_TOP_UP_DELAY_SECONDS, self.prepare, kind)
        return slot

    def _next_living(self, kind: SlotKind) -> Slot | None:
        """A slot that waits and has not been killed while it did."""
        while self._ready[kind]:
            slot = self._ready[kind].popleft()
            if slot.channel.is_alive():
                return slot
            slot.channel.close()
        return None

    def prepare(self, kind: SlotKind) -> None:
        """Have a slot ready for whoever takes the next one."""
        with contextlib.suppress(_GoneError):  # matters only to whoever takes the next one
            self._top_up(kind)

    def _top_up(self, kind: SlotKind) -> None:
        """Ask for as many slots as are wanted beyond those that are ready or on their way."""
        wanted = self._waiting[kind] + _SPARES[kind]
        for _ in range(wanted - len(self._ready[kind]) - self._requested.count(kind)):
            self._request(kind)

    def _request(self, kind: SlotKind) -> None:
        self._send({"op": "slot", "kind": kind})
        self._requested.append(kind)

    def _send(self, header: dict[str, object] | dict[str, str]) -> None:
        if self._control is None:
            raise _GoneError("it is not running")
        try:
            self._control.sendall(wire.encode(header))  # a few bytes: the buffer has room for thousands
        except OSError as error:
            raise _GoneError(f"it ended {self._exit_reason()}") from error

    def _receive(self) -> None:
        """Take what the fork-server has sent by now."""
        if self._control is None:
            raise _GoneError("it is not running")
        try:
            while True:
                data, descriptors = wire.receive(self._control)
                self._descriptors += descriptors
                if not data:
                    raise _GoneError(f"it ended {self._exit_reason()}")
                self._decoder.feed(data)
                while (frame := self._decoder.next()) is not None:
                    self._take_in(frame)
        except BlockingIOError:
            return
        except ConnectionError as error:
            raise _GoneError(f"it ended {self._exit_reason()}") from error
        except (OSError, wire.WireError) as error:
            raise _GoneError(str(error)) from error

    def _take_in(self, frame: wire.Frame) -> None:
        reply = parse(frame.header, _SlotReply)
        if not self._requested:
            raise wire.WireError("it sent what nobody asked for")
        kind = self._requested.popleft()
        if reply.slot is None or not self._descriptors:
            raise wire.WireError(reply.error or "a process came without its socket")
        slot_socket = socket.socket(fileno=self._descriptors.popleft())
        name = "The process for files" if kind == "files" else "The process for commands"
        self._ready[kind].append(Slot(reply.slot, Channel(slot_socket, name)))

    def _exit_reason(self) -> str:
        if self._closed:
            return "as it was told to"
        if self._process is None:
            return "unexpectedly"
        try:
            code = self._process.wait(timeout=0.05)  # it has closed its socket: it is ending right now
        except subprocess.TimeoutExpired:
            return "unexpectedly"
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"

    def _hang_up_spares(self) -> None:
        for slots in self._ready.values():
            while slots:
                slots.popleft().channel.close()

    def _discard(self) -> None:
        """Forget a process that is gone or has to go."""
        self._hang_up_spares()
        self._requested.clear()
        wire.close_all(self._descriptors)
        self._descriptors.clear()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


async def _readable(sock: socket.socket) -> None:
    """Wait until a socket has something to read."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(sock, _resolve, ready)
    try:
        await ready
    finally:
        loop.remove_reader(sock)


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
