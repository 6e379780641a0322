"""One fork-server process as the brain sees it: started, asked, and read; each answer goes to whoever asked for it.

The process answers in the order of the requests. While anybody waits, one reader takes in what it sends and resolves
the answers, so no waiter depends on which other one reads.
"""

import asyncio
import contextlib
import io
import os
import socket
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from kaa.hands import wire
from kaa.workspace.channel import parse
from kaa.workspace.launch import LaunchedHands, launch
from kaa.workspace.protocol import WorkspaceUnavailableError

_PATIENCE_SECONDS = 30.0  # for what takes milliseconds, on a machine that swaps
# The hands give their slots two, and take what they made out of the project, which takes seconds on a busy machine.
_STOP_SECONDS = 20.0
_EXIT_SECONDS = 0.05  # it has closed its socket: it is ending right now
_WORDS_BYTES = 1000  # of a wrapper that fails

_T = TypeVar("_T")


class PolicyReport(msgspec.Struct, frozen=True):
    """What hands say of the policy they hold.

    Attributes:
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


class Granted(NamedTuple):
    """The answer to a request: a socket; for a slot the process at its other end, and what tells of its connections."""

    socket: socket.socket
    pid: int
    reports: io.FileIO | None

    def close(self) -> None:
        self.socket.close()
        if self.reports is not None:
            self.reports.close()


class PolicyRefusedError(WorkspaceUnavailableError):
    """The hands cannot hold the policy on this machine; the message says why."""


class ForkServerGoneError(Exception):
    """The fork-server is not there any more; the message says how it ended."""


class _Reply(msgspec.Struct, frozen=True):
    """What the fork-server sends: once whether it holds the policy; then an answer to each request."""

    ready: PolicyReport | None = None
    failed: str | None = None
    changed: str | None = None
    slot: int | None = None
    reports: bool = False
    socket: bool = False
    done: bool = False
    error: str | None = None


class PendingReply(Generic[_T]):
    """What has been asked for: a value or an error, once it has come. Needs no event loop until it is waited for."""

    def __init__(self) -> None:
        self._outcome: tuple[_T] | Exception | None = None
        self._come = asyncio.Event()

    @property
    def has_come(self) -> bool:
        return self._outcome is not None

    def get(self) -> _T:
        """The value.

        Raises:
            ForkServerGoneError: the fork-server ended before it answered.
            WorkspaceUnavailableError: it answered that there is none.
        """
        match self._outcome:
            case None:
                raise asyncio.InvalidStateError("the answer has not come")
            case Exception() as error:
                raise error
            case (value,):
                return value

    def resolve(self, outcome: tuple[_T] | Exception) -> bool:
        """Set the outcome. Returns whether it is the first one; later ones change nothing."""
        if self._outcome is not None:
            return False
        self._outcome = outcome
        self._come.set()
        return True

    async def wait(self) -> None:
        """Wait until it has come."""
        await self._come.wait()


class _Order(PendingReply[None]):
    """The answer to a request that asks for nothing but to do something."""


class ForkServerClient:
    """A process that makes slots, from its start to its end.

    Args:
        wrap: program and arguments that start the process in their confinement; empty if it confines itself.
        launched: a process that was started before; None starts one.

    Attributes:
        report: what it says of the policy it was given.

    Raises:
        PolicyRefusedError: it cannot be started.
    """

    def __init__(self, wrap: Sequence[str], launched: LaunchedHands | None) -> None:
        try:
            self._process, self._control = launched or launch(wrap)
        except OSError as error:
            raise PolicyRefusedError(f"The hands cannot be started: {error}.") from error
        self._control.setblocking(False)
        self._wrap = wrap
        self._decoder = wire.FrameDecoder()
        self._descriptors: deque[int] = deque()
        self._requests: deque[PendingReply[Granted] | _Order] = deque()  # in the order in which they will be answered
        self._over: PendingReply[None] = PendingReply()
        self._waiting = 0
        self._reader: asyncio.AbstractEventLoop | None = None
        self._proxy_listener: socket.socket | None = None
        self._closing = False
        self.namespaces: list[int] = []
        self.report: PendingReply[PolicyReport] = PendingReply()
        self._reason: Exception | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or was ended since it does not keep to the protocol. Nothing of it is left then."""
        return self._reason is not None

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, header: Mapping[str, object], descriptors: Sequence[int] = ()) -> None:
        """Send what has no answer."""
        if self.is_over:
            return
        data = wire.encode(header)
        try:
            sent = wire.send_some(self._control, data, descriptors)
        except OSError:
            self._end(self._ended())
        else:
            if sent < len(data):  # never seen: the buffer has room for hundreds of times as much
                self._end(ForkServerGoneError("it does not read"))

    def request(self, header: Mapping[str, object]) -> PendingReply[Granted]:
        """Ask for a slot or a socket. The answer comes while anybody waits for one."""
        answer: PendingReply[Granted] = PendingReply()
        self._ask(answer, header)
        return answer

    def order(self, header: Mapping[str, object]) -> PendingReply[None]:
        """Have it do something. The answer comes as those to requests do."""
        answer = _Order()
        self._ask(answer, header)
        return answer

    async def wait(self, answer: PendingReply[_T]) -> _T:
        """Wait for one of its answers. When this is cancelled, the answer can be waited for again.

        Raises:
            PolicyRefusedError: the process cannot hold its policy.
            ForkServerGoneError: it ended, or does not answer and was ended.
            WorkspaceUnavailableError: it has no such thing to give.
        """
        self.receive()
        if not answer.has_come:
            with self._reading():
                try:
                    async with asyncio.timeout(_PATIENCE_SECONDS):
                        await answer.wait()
                except TimeoutError:
                    self.receive()
                    if not answer.has_come:
                        self._end(ForkServerGoneError("it does not answer"))
        return answer.get()

    def receive(self) -> None:
        """Take in what the process has sent by now."""
        if self.is_over:
            return
        try:
            while True:
                data, descriptors = wire.receive(self._control)
                self._descriptors += descriptors
                if not data:
                    raise ConnectionResetError
                self._decoder.feed(data)
                while (frame := self._decoder.next()) is not None:
                    self._take_in(frame)
        except BlockingIOError:
            return
        except ConnectionError:
            self._end(self._ended())
        except (PolicyRefusedError, ForkServerGoneError) as error:
            self._end(error)
        except (OSError, wire.WireError) as error:
            self._end(ForkServerGoneError(str(error)))

    def take_proxy_listener(self) -> socket.socket | None:
        """The socket on which the slots expect a proxy, once; the caller closes it."""
        listener, self._proxy_listener = self._proxy_listener, None
        return listener

    def forget_namespaces(self) -> None:
        """Close the descriptors of its namespaces: no other process will join them."""
        wire.close_all(self.namespaces)
        self.namespaces.clear()

    async def close(self) -> None:
        """Hang up and wait until the process has stopped everything it started."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await self.wait(self._over)  # until end of file, which is the process's end
        self.end()

    def end(self) -> None:
        """Kill the process and let go of what came from it, but for the sockets it has granted."""
        self._end(ForkServerGoneError("it was closed"))

    def _ask(self, answer: PendingReply[Granted] | _Order, header: Mapping[str, object]) -> None:
        self._requests.append(answer)
        self.send(header)
        if self._reason is not None:
            answer.resolve(self._reason)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        self._waiting += 1
        if self._reader is None and not self.is_over:
            self._reader = asyncio.get_running_loop()
            self._reader.add_reader(self._control, self.receive)
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._stop_reading()

    def _stop_reading(self) -> None:
        if self._reader is not None:
            self._reader.remove_reader(self._control)
            self._reader = None

    def _take_in(self, frame: wire.Frame) -> None:
        match parse(frame.header, _Reply):
            case _Reply(failed=str(reason)):
                raise PolicyRefusedError(reason)
            case _Reply(changed=str(reason)):
                raise ForkServerGoneError(reason)
            case _Reply(ready=PolicyReport() as report) if not self.report.has_come:
                self._take_over_descriptors(report)
                self.report.resolve((report,))
            case reply if self._requests:
                self._take_answer(self._requests.popleft(), reply)
            case _:
                raise wire.WireError("it sent what nobody asked for")

    def _take_over_descriptors(self, report: PolicyReport) -> None:
        """Those that come with the report: perhaps a listening socket, then namespaces."""
        if len(self._descriptors) < report.listens + report.namespaces:
            raise wire.WireError("its report came without its descriptors")
        if report.listens:
            self._proxy_listener = socket.socket(fileno=self._descriptors.popleft())
        self.namespaces += [self._descriptors.popleft() for _ in range(report.namespaces)]

    def _take_answer(self, answer: PendingReply[Granted] | _Order, reply: _Reply) -> None:
        if reply.error is not None:
            answer.resolve(WorkspaceUnavailableError(f"The hands refused: {reply.error}."))
            return
        if isinstance(answer, _Order):
            if not reply.done:
                raise wire.WireError("it sent something else than that it did what it was asked to do")
            answer.resolve((None,))
            return
        if len(self._descriptors) < 1 + reply.reports or (reply.slot is None and not reply.socket):
            raise wire.WireError("an answer came without its socket")
        sock = socket.socket(fileno=self._descriptors.popleft())
        reports = io.FileIO(self._descriptors.popleft()) if reply.reports else None
        granted = Granted(sock, reply.slot or 0, reports)
        if self._closing or not answer.resolve((granted,)):
            granted.close()

    def _end(self, reason: Exception) -> None:
        """Let go of a process that is gone or has to go, and tell everybody who waits for it."""
        if self.is_over:
            return
        self._reason = reason
        self._stop_reading()
        self._control.close()
        self._process.kill()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        if self._proxy_listener is not None:
            self._proxy_listener.close()
            self._proxy_listener = None
        self.forget_namespaces()
        wire.close_all(tuple(self._descriptors))
        self._descriptors.clear()
        self.report.resolve(reason)
        for answer in self._requests:
            answer.resolve(reason)
        self._requests.clear()
        self._over.resolve((None,))

    def _ended(self) -> Exception:
        """Why a process hung up: a wrapper that ends before the report was not allowed what it needs (containers)."""
        reason = f"it ended {self._exit_reason()}"
        if self._closing or not self._wrap or self.report.has_come:
            return ForkServerGoneError(reason)
        words = self._last_words().removeprefix(f"{os.path.basename(self._wrap[0])}: ")
        return PolicyRefusedError(words or reason)

    def _last_words(self) -> str:
        if self._process.stderr is None:
            return ""
        os.set_blocking(self._process.stderr.fileno(), False)
        try:
            return os.read(self._process.stderr.fileno(), _WORDS_BYTES).decode("utf-8", "replace").strip()
        except BlockingIOError:
            return ""

    def _exit_reason(self) -> str:
        if self._closing:
            return "on request"
        try:
            code = self._process.wait(timeout=_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return "unexpectedly"
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"
