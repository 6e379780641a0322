"""Hands as a process: started with a policy, asked for slots, started again when they die, and stopped."""

import asyncio
import contextlib
import os
import socket
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from kaa.hands import wire
from kaa.hands.policy import Policy
from kaa.workspace.channel import Channel, parse, readable
from kaa.workspace.launch import LaunchedHands, launch
from kaa.workspace.protocol import WorkspaceUnavailableError
from kaa.workspace.slots import Slot, SlotKind

_Request: TypeAlias = SlotKind | Literal["socket"]

# Forked ahead of need: it takes a millisecond.
_SPARES: dict[SlotKind, int] = {"files": 0, "command": 1, "checkpoints": 0, "guard": 0}
_CALLED: dict[SlotKind, str] = {
    "files": "files",
    "command": "commands",
    "checkpoints": "checkpoints of files",
    "guard": "guarding the project",
}
_KEPT = 4  # of those that can be used again: as many as the calls of a reply that run in parallel, mostly
_TOP_UP_DELAY_SECONDS = 0.005
_PATIENCE_SECONDS = 30.0  # for what takes milliseconds, on a machine that swaps
_STOP_SECONDS = 3.0  # the hands give their slots two
_WORDS_BYTES = 1000  # of a wrapper that fails
_CLOSED = "The workspace is closed."


class Report(msgspec.Struct, frozen=True):
    """What hands say of the policy they hold.

    Attributes:
        tier: the mechanism.
        features: what of it there is on this machine, by name.
        warnings: sentences for the user.
        checks: what the self-test tried, all with the wanted outcome.
        listens: a socket for the network proxy came along.
        namespaces: how many descriptors of namespaces came along.
    """

    tier: str
    features: dict[str, str] = {}
    warnings: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    listens: bool = False
    namespaces: int = 0


class PolicyRefusedError(WorkspaceUnavailableError):
    """The hands cannot hold the policy on this machine; the message says why."""


class _Reply(msgspec.Struct, frozen=True):
    """What the fork-server sends: once whether it holds the policy, then a slot, a socket, or why there is none."""

    ready: Report | None = None
    failed: str | None = None
    slot: int | None = None
    socket: bool = False
    error: str | None = None


class _GoneError(Exception):
    """The fork-server is not there."""


class Hands:
    """The fork-server process of one workspace under one policy.

    Args:
        root: absolute path of the workspace.
        home: what `~` stands for.
        policy: what the slots may do.
        wrap: program and arguments that start the process in their confinement; empty if it confines itself.
        join: descriptors of the namespaces of other hands to live in; they stay the caller's.
    """

    def __init__(
        self, root: str, home: str, policy: Policy, *, wrap: Sequence[str] = (), join: Sequence[int] = ()
    ) -> None:
        self.policy = policy
        self._settings = {"root": root, "home": home, "policy": policy._asdict()}
        self._wrap = wrap
        self._join = join
        self._report: Report | None = None
        self._proxy_listener: socket.socket | None = None
        self._namespaces: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._decoder = wire.FrameDecoder()
        self._descriptors: deque[int] = deque()
        self._requested: deque[_Request] = deque()  # in the order in which they will be answered
        self._ready: dict[SlotKind, deque[Slot]] = {kind: deque() for kind in _SPARES}
        self._waiting: dict[SlotKind, int] = dict.fromkeys(_SPARES, 0)
        self._sockets: deque[socket.socket] = deque()
        self._receiving = asyncio.Lock()
        self._closed = False
        self._retired = False

    def start(self, launched: LaunchedHands | None = None) -> None:
        """Start the process and ask for its first slots, without waiting for it. Needs no event loop.

        Args:
            launched: a process that was started before; None starts one.

        Raises:
            PolicyRefusedError: it cannot be started.
        """
        try:
            self._process, ours = launched or launch(self._wrap)
        except OSError as error:
            raise PolicyRefusedError(f"The hands cannot be started: {error}.") from error
        ours.setblocking(False)
        self._control = ours
        self._decoder = wire.FrameDecoder()
        self._report = None
        with contextlib.suppress(_GoneError):  # noticed and reported by whoever waits for a slot
            self._send(self._settings, self._join)
            self._request("files")

    async def report(self) -> Report:
        """Wait until the process holds its policy.

        Raises:
            PolicyRefusedError: it cannot.
            WorkspaceUnavailableError: it died.
        """
        try:
            while (report := self._held()) is None:
                await self._more()
        except _GoneError as error:
            if self._closed:
                raise WorkspaceUnavailableError(_CLOSED) from error
            self._refuse_if_wrapped(str(error))
            self._discard()
            raise WorkspaceUnavailableError(f"The hands died while they were started: {error}.") from error
        return report

    def _held(self) -> Report | None:
        return self._report

    def take_proxy_listener(self) -> socket.socket | None:
        """The socket on which the slots expect a proxy, once; the caller closes it."""
        listener, self._proxy_listener = self._proxy_listener, None
        return listener

    @property
    def namespaces(self) -> Sequence[int]:
        """Descriptors of namespaces that other hands can join; they stay open as long as this."""
        return self._namespaces

    async def socket(self) -> socket.socket:
        """A fresh TCP socket in the network of the slots.

        Raises:
            WorkspaceUnavailableError: there is none.
        """
        try:
            self._send({"op": "socket"})
            self._requested.append("socket")
            while not self._sockets:
                await self._more()
        except _GoneError as error:
            self._discard()
            raise WorkspaceUnavailableError(f"The hands died: {error}.") from error
        return self._sockets.popleft()

    async def take(self, kind: SlotKind) -> Slot:
        """A slot of one's own. Starts the process again if it has died.

        Raises:
            PolicyRefusedError: it cannot hold its policy.
            WorkspaceUnavailableError: the process dies each time.
        """
        reason = ""
        for _attempt in range(2):
            if self._closed:
                raise WorkspaceUnavailableError(_CLOSED)
            if self._control is None:
                self.start()
            try:
                return await self._take(kind)
            except _GoneError as error:
                reason = str(error)
                self._refuse_if_wrapped(reason)
                self._discard()
        raise WorkspaceUnavailableError(f"The hands died twice while they were to start a process: {reason}.")

    def gives(self, slot: Slot) -> bool:
        """Whether a slot is of these hands."""
        return slot.hands is self

    def kill(self, pid: int) -> None:
        """Kill a slot that does not answer."""
        with contextlib.suppress(_GoneError):
            self._send({"op": "kill", "pid": pid})

    def retire(self) -> None:
        """Let the slots go that nobody uses: other hands take over. What runs goes on."""
        self._retired = True
        self._hang_up_spares()

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
            with contextlib.suppress(TimeoutError, _GoneError, PolicyRefusedError):
                async with asyncio.timeout(_STOP_SECONDS):
                    while True:  # until end of file, which is the process's end
                        await readable(control)
                        self._receive()
                        self._hang_up_spares()
        self._discard()

    async def _take(self, kind: SlotKind) -> Slot:
        self._waiting[kind] += 1
        try:
            self._receive()
            while (slot := self._next_living(kind)) is None:
                self._top_up(kind)
                await self._more(kind)
        finally:
            self._waiting[kind] -= 1
        # Later, so that the fork does not compete with what the slot is taken for.
        asyncio.get_running_loop().call_later(_TOP_UP_DELAY_SECONDS, self._prepare, kind)
        return slot

    async def _more(self, kind: SlotKind | None = None) -> None:
        """Wait for more from the fork-server, unless somebody else who waited got what is wanted meanwhile."""
        async with self._receiving:
            if self._control is not None and not (self._ready[kind] if kind else False):
                try:
                    async with asyncio.timeout(_PATIENCE_SECONDS):
                        await readable(self._control)
                except TimeoutError:
                    raise _GoneError("it does not answer") from None
            self._receive()

    def _next_living(self, kind: SlotKind) -> Slot | None:
        """A slot that waits and has not been killed while it did."""
        while self._ready[kind]:
            slot = self._ready[kind].popleft()
            if slot.channel.is_alive():
                return slot
            slot.channel.close()
        return None

    def give_back(self, kind: SlotKind, slot: Slot) -> None:
        """Keep a slot for whoever takes the next one, if it is still wanted."""
        if self._retired or self._closed or self._control is None or len(self._ready[kind]) >= _KEPT:
            slot.channel.close()
        else:
            self._ready[kind].appendleft(slot)

    def _prepare(self, kind: SlotKind) -> None:
        """Have a slot ready for whoever takes the next one."""
        if self._retired:
            return
        with contextlib.suppress(_GoneError):  # matters only to whoever takes the next one
            self._top_up(kind)

    def warm_up(self) -> None:
        """Have the slots ready that the first command needs."""
        if self._retired:
            return
        with contextlib.suppress(_GoneError):  # matters only to whoever takes one
            if self.policy.tier != "none" and "guard" not in self._requested and not self._ready["guard"]:
                self._request("guard")
            self._top_up("command")

    def _top_up(self, kind: SlotKind) -> None:
        """Ask for as many slots as are wanted beyond those that are ready or on their way."""
        wanted = self._waiting[kind] + _SPARES[kind]
        for _ in range(wanted - len(self._ready[kind]) - self._requested.count(kind)):
            self._request(kind)

    def _request(self, kind: SlotKind) -> None:
        self._send({"op": "slot", "kind": kind})
        self._requested.append(kind)

    def _send(self, header: Mapping[str, object], descriptors: Sequence[int] = ()) -> None:
        if self._control is None:
            raise _GoneError("it is not running")
        data = wire.encode(header)
        try:
            sent = wire.send_some(self._control, data, descriptors)
            if sent < len(data):  # never seen: the buffer has room for hundreds of times as much
                raise _GoneError("it does not read")
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
        except PolicyRefusedError:
            self._discard()
            raise
        except ConnectionError as error:
            raise _GoneError(f"it ended {self._exit_reason()}") from error
        except (OSError, wire.WireError) as error:
            raise _GoneError(str(error)) from error

    def _take_in(self, frame: wire.Frame) -> None:
        match parse(frame.header, _Reply):
            case _Reply(failed=str(reason)):
                raise PolicyRefusedError(reason)
            case _Reply(ready=Report() as report) if self._report is None:
                self._take_over_descriptors(report)
                self._report = report
            case reply if self._requested:
                self._take_answer(self._requested.popleft(), reply)
            case _:
                raise wire.WireError("it sent what nobody asked for")

    def _take_over_descriptors(self, report: Report) -> None:
        """Those that come with the report: perhaps a listening socket, then namespaces."""
        if len(self._descriptors) < report.listens + report.namespaces:
            raise wire.WireError("its report came without its descriptors")
        if report.listens:
            self._proxy_listener = socket.socket(fileno=self._descriptors.popleft())
        self._namespaces += [self._descriptors.popleft() for _ in range(report.namespaces)]

    def _take_answer(self, kind: _Request, reply: _Reply) -> None:
        if not self._descriptors or (reply.slot is None and not reply.socket):
            raise wire.WireError(reply.error or "an answer came without its socket")
        answer = socket.socket(fileno=self._descriptors.popleft())
        if kind == "socket":
            self._sockets.append(answer)
            return
        channel = Channel(answer, f"The process for {_CALLED[kind]}")
        self._ready[kind].append(Slot(reply.slot or 0, channel, self))

    def _refuse_if_wrapped(self, reason: str) -> None:
        """A wrapper that ends before there is a report was not allowed what it needs, as in most containers.

        Raises:
            PolicyRefusedError: that is so.
        """
        if self._closed or not self._wrap or self._report is not None:
            return
        words = ""
        if self._process is not None and self._process.stderr is not None:
            os.set_blocking(self._process.stderr.fileno(), False)
            with contextlib.suppress(BlockingIOError):
                words = os.read(self._process.stderr.fileno(), _WORDS_BYTES).decode("utf-8", "replace").strip()
        self._discard()
        raise PolicyRefusedError(words.removeprefix(f"{os.path.basename(self._wrap[0])}: ") or reason)

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
        wire.close_all(self._namespaces)
        self._namespaces.clear()
        for unclaimed in (self._proxy_listener, *self._sockets):
            if unclaimed is not None:
                unclaimed.close()
        self._proxy_listener = None
        self._sockets.clear()
        wire.close_all(self._descriptors)
        self._descriptors.clear()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
            self._process = None
