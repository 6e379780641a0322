"""Exchanges messages with a process: ids, cancellation, and limits, whose violation ends the connection.

What the process prints besides goes to kaa's log, a line each, and only so much.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import count
from typing import Protocol, TypeAlias

from kaa.core.messages import Json
from kaa.ext.process import wire
from kaa.ext.process.wire import Answer, MalformedLineError, MessageId, ProcessNotification, ProcessRequest, RpcError
from kaa.host.allowance import RateLimiter
from kaa.host.log import LOG

_CHUNK_BYTES = 64 * 1024
_LINE_CHARACTERS = 2_000
_LAST_LINES, _LAST_CHARACTERS = 5, 300
_LINES_A_SECOND, _BURST_LINES = 100.0, 2_000.0
# Tokens of a reply arrive at a few hundred a second; a burst is what a process may have collected.
_MESSAGES_A_SECOND, _BURST_MESSAGES = 500.0, 5_000.0
_BYTES_A_SECOND, _BURST_BYTES = 4.0 * 1024 * 1024, 64.0 * 1024 * 1024
# What kaa keeps for a process that does not read.
_MAX_UNREAD_BYTES = 16 * 1024 * 1024
_MAX_REQUESTS = 64
# What a process sent before it closed its end arrives at once.
_LAST_MESSAGES_SECONDS = 1
# Of the requests that kaa has not answered.
_MAX_REQUEST_BYTES = 16 * 1024 * 1024
Notify: TypeAlias = Callable[[str, Json], None]


class OutputLog:
    """The lines of one stream.

    Args:
        name: of the extension.
        stream: `stdout` or `stderr`.
    """

    def __init__(self, name: str, stream: str) -> None:
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._name = name
        self._stream = stream
        self._lines = RateLimiter(_LINES_A_SECOND, _BURST_LINES)
        self._left_out = 0

    @property
    def last(self) -> str:
        """The last lines that are not empty, shortened, for messages about the end of the process."""
        return "\n".join(line[:_LAST_CHARACTERS] for line in self._last)

    def write(self, line: bytes) -> None:
        """Log one line."""
        text = "".join(one if one.isprintable() else " " for one in line.decode(errors="replace")).rstrip()
        if not text:
            return
        text = text[:_LINE_CHARACTERS]
        self._last.append(text)
        if not self._lines.take(1):
            self._left_out += 1
            return
        if self._left_out:
            LOG.warning("extension %s: %d lines of %s are not logged", self._name, self._left_out, self._stream)
            self._left_out = 0
        LOG.info("extension %s: %s: %s", self._name, self._stream, text)

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Log a stream until its end."""
        rest = b""
        while chunk := await reader.read(_CHUNK_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.write(line)
            if len(rest) > _CHUNK_BYTES:
                self.write(rest)
                rest = b""
        self.write(rest)


"""Sends a notification to a process: a method and its parameters. Nothing happens once it has ended."""


class ConnectionEndedError(Exception):
    """The process is gone, or kaa ended the connection; the message says why."""


class Receiver(Protocol):
    """Gets what a process sends."""

    def notified(self, method: str, params: Mapping[str, Json]) -> None:
        """A notification. It must return at once."""

    async def requested(self, method: str, params: Mapping[str, Json], notify: "Notify") -> Json:
        """The answer to a request. `notify` sends notifications to the process that asks.

        Raises:
            RpcError: it cannot be answered.
        """

    def disconnected(self) -> None:
        """The connection is over; what waits for answers learns it next."""


class MessageChannel:
    """One way to exchange messages with a process.

    Args:
        reader: from the process; its limit is that of a message.
        writer: to the process.
        unread: set when the process does not read what is written.
        stray: where lines go that are no messages, while it is not certain that the process uses this way; None if
            nothing else can arrive here.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.WriteTransport,
        unread: asyncio.Event,
        stray: OutputLog | None = None,
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.unread = unread
        self.stray = stray


class Connection:
    """The messages of one process, from its start to its end.

    Args:
        name: of the extension.
        channels: the ways that the process may use; the first on which a message arrives is the one.
        receiver: gets requests and notifications.
    """

    def __init__(self, name: str, channels: tuple[MessageChannel, ...], receiver: Receiver) -> None:
        self._name = name
        self._channels = channels
        self._receiver = receiver
        self._ids = count(1)
        self._waiting: dict[MessageId, asyncio.Future[Json]] = {}
        self._answering: dict[MessageId, asyncio.Task[None]] = {}
        self._answering_bytes = 0
        self._messages = RateLimiter(_MESSAGES_A_SECOND, _BURST_MESSAGES)
        self._bytes = RateLimiter(_BYTES_A_SECOND, _BURST_BYTES)
        self._ended = ""
        self._is_lost = False
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def request(self, method: str, params: Json, *, may_cancel: bool = True) -> Json:
        """Ask the process and wait for its answer, however long that takes.

        Args:
            method: what is asked.
            params: its parameters.
            may_cancel: tell the process when nobody waits any more.

        Raises:
            RpcError: it answered with an error.
            ConnectionEndedError: it is gone, does not read, or the request is too large.
        """
        id_ = next(self._ids)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = answer
        try:
            self._write(wire.encode_request(id_, method, params))
            return await answer
        except asyncio.CancelledError:
            if may_cancel:
                self.notify("$/cancelRequest", {"id": id_})
            raise
        finally:
            del self._waiting[id_]

    def notify(self, method: str, params: Json = None) -> None:
        """Tell the process something; nothing if it is gone or does not read."""
        try:
            self._write(wire.encode_notification(method, params))
        except ConnectionEndedError as error:
            LOG.debug("extension %s: %s was not sent: %s", self._name, method, error)

    async def receive(self) -> str:
        """Receive messages until the process closes its side. Returns what it did wrong; empty for nothing."""
        tasks = [asyncio.create_task(self._receive(channel)) for channel in self._channels]
        tasks += [asyncio.create_task(self._watch(*one)) for one in zip(self._channels, tuple(tasks), strict=True)]
        try:
            return await self._over
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def lost(self) -> None:
        """The process ends: the receiver sends nothing new. What waits for an answer learns the reason by `close`."""
        if not self._is_lost:
            self._is_lost = True
            self._receiver.disconnected()

    async def close(self, reason: str) -> None:
        """End it: what waits for an answer fails with `reason`, what the process waits for is given up."""
        self.lost()
        if self._ended:
            return
        self._ended = reason
        for channel in self._channels:
            channel.writer.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionEndedError(reason))
        answering = tuple(self._answering.values())
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)

    async def _receive(self, channel: MessageChannel) -> None:
        """Receive what arrives on one way until its end."""
        try:
            async for line in _lines(channel.reader):
                if channel in self._channels:
                    self._take(channel, line)
                elif channel.stray is not None:  # the process uses another way
                    channel.stray.write(line)
                    await channel.stray.read(channel.reader)
        except asyncio.LimitOverrunError:
            if channel in self._channels:
                self._end(f"it sent a message of more than {wire.MAX_MESSAGE_BYTES // 1024**2} MiB")
            elif channel.stray is not None:
                await channel.stray.read(channel.reader)
        self._channels = tuple(one for one in self._channels if one is not channel)
        if not self._channels:
            self._end("")

    async def _watch(self, channel: MessageChannel, receiving: "asyncio.Task[None]") -> None:
        """End the connection when the process stops to read: nothing can be asked or cancelled any more."""
        await channel.unread.wait()
        await asyncio.wait((receiving,), timeout=_LAST_MESSAGES_SECONDS)
        if self._channels == (channel,):
            self._end("")

    def _end(self, problem: str) -> None:
        if not self._over.done():
            self._over.set_result(problem)

    def _exceeded(self, line: bytes) -> str:
        if not self._messages.take(1):
            return f"it sent more than {_BURST_MESSAGES:.0f} messages, faster than {_MESSAGES_A_SECOND:.0f} a second"
        if not self._bytes.take(len(line)):
            most, rate = (f"{number / 1024**2:.0f} MiB" for number in (_BURST_BYTES, _BYTES_A_SECOND))
            return f"it sent more than {most}, faster than {rate} a second"
        return ""

    def _take(self, channel: MessageChannel, line: bytes) -> None:
        if problem := self._exceeded(line):
            self._end(problem)
            return
        try:
            message = wire.decode(line)
        except MalformedLineError as error:
            if len(self._channels) > 1 and channel.stray is not None:
                channel.stray.write(line)
                return
            LOG.warning("extension %s sent %s: %s", self._name, wire.shown(line), error)
            self._answer(wire.encode_error(error.id, error), channel)
            return
        self._choose(channel)
        match message:
            case Answer():
                self._answered(message)
            case ProcessNotification(method="$/cancelRequest", params=params):
                identity = params.get("id")
                if isinstance(identity, int | str) and (task := self._answering.get(identity)) is not None:
                    task.cancel()
            case ProcessNotification(method=method, params=params):
                self._receiver.notified(method, params)
            case ProcessRequest():
                self._respond(message, len(line))

    def _choose(self, channel: MessageChannel) -> None:
        """Use this way from now on. The process finds the input of the others at its end."""
        for other in self._channels:
            if other is not channel:
                other.writer.close()
        self._channels = (channel,)

    def _answered(self, answer: Answer) -> None:
        waiting = self._waiting.get(answer.id)
        if waiting is None or waiting.done():
            LOG.debug("extension %s answered request %r, for which nobody waits", self._name, answer.id)
        elif answer.error is None:
            waiting.set_result(answer.result)
        else:
            waiting.set_exception(answer.error)

    def _respond(self, request: ProcessRequest, size: int) -> None:
        if request.id in self._answering:
            error = RpcError(wire.INVALID_REQUEST, f"request {request.id!r} is not answered yet: use another id")
            self._answer(wire.encode_error(request.id, error))
        elif len(self._answering) >= _MAX_REQUESTS:
            error = RpcError(wire.TOO_MANY_REQUESTS, f"{_MAX_REQUESTS} requests wait already: wait for an answer")
            self._answer(wire.encode_error(request.id, error))
        elif self._answering_bytes + size > _MAX_REQUEST_BYTES:
            limit = f"{_MAX_REQUEST_BYTES // 1024**2} MiB"
            error = RpcError(wire.TOO_MANY_REQUESTS, f"the requests that wait have over {limit}: wait for an answer")
            self._answer(wire.encode_error(request.id, error))
        else:
            task = asyncio.create_task(self._work(request))
            self._answering[request.id] = task
            self._answering_bytes += size
            task.add_done_callback(lambda _: self._answered_to(request, size))

    def _answered_to(self, request: ProcessRequest, size: int) -> None:
        del self._answering[request.id]
        self._answering_bytes -= size

    async def _work(self, request: ProcessRequest) -> None:
        try:
            result = await self._receiver.requested(request.method, request.params, self.notify)
            self._answer(wire.encode_result(request.id, result))
        except asyncio.CancelledError:
            if self._ended:
                raise
            self._answer(wire.encode_error(request.id, RpcError(wire.REQUEST_CANCELLED, "cancelled")))
        except RpcError as error:
            self._answer(wire.encode_error(request.id, error))
        except Exception as error:  # noqa: BLE001 isolation boundary: a bug in one service must not end the extension
            LOG.exception("extension %s: %s failed", self._name, request.method)
            text = f"{request.method} failed: {type(error).__name__}: {error}"
            self._answer(wire.encode_error(request.id, RpcError(wire.INTERNAL_ERROR, text)))

    def _answer(self, line: bytes, channel: MessageChannel | None = None) -> None:
        try:
            self._write(line, channel)
        except ConnectionEndedError as error:
            LOG.debug("extension %s: an answer was not sent: %s", self._name, error)

    def _write(self, line: bytes, channel: MessageChannel | None = None) -> None:
        if self._ended:
            raise ConnectionEndedError(self._ended)
        if len(line) > wire.MAX_MESSAGE_BYTES:
            raise ConnectionEndedError(f"the message has {len(line):,} bytes, the limit is {wire.MAX_MESSAGE_BYTES:,}")
        for one in self._channels if channel is None else (channel,):
            if one.writer.is_closing():
                continue
            if one.writer.get_write_buffer_size() + len(line) > _MAX_UNREAD_BYTES:
                raise ConnectionEndedError("it does not read what kaa sends")
            one.writer.write(line)


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Lines that are not empty.

    Raises:
        LimitOverrunError: one is too long.
    """
    while True:
        try:
            line = (await reader.readuntil(b"\n")).strip()
        except asyncio.IncompleteReadError:  # the end; a line without its end is torn
            return
        if line:
            yield line
