"""The brain's end of the slot for checkpoints: answers are told apart by number, contents are kept as they come."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from kaa.hands.wire import Frame
from kaa.workspace.channel import parse
from kaa.workspace.protocol import WorkspaceUnavailableError
from kaa.workspace.slots import Slot

T = TypeVar("T")


class _Answer(msgspec.Struct, frozen=True):
    id: int
    contents: tuple[int, ...] | None = None
    error: str | None = None
    errno: int = 0


class Link:
    """A slot of kind `checkpoints`. All calls must come from one event loop.

    Args:
        keep: gets contents, in a thread.
    """

    def __init__(self, slot: Slot, keep: Callable[[Sequence[bytes]], None]) -> None:
        self.slot = slot
        self._keep = keep
        self._sending = asyncio.Lock()
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self._problem: OSError | None = None
        self._receiving = asyncio.create_task(self._receive())

    @property
    def is_alive(self) -> bool:
        """Whether there is any use in asking."""
        return self._problem is None

    async def ask(self, header: Mapping[str, object], body: bytes = b"", descriptors: Sequence[int] = ()) -> Frame:
        """Send a request and wait for its answer; all contents that come with it have been kept.

        Raises:
            WorkspaceUnavailableError: the slot died, or does not keep to the protocol.
            OSError: the system refused, there or when contents were to be kept.
        """
        return checked(await (await self.request(header, body, descriptors)))

    async def request(
        self, header: Mapping[str, object], body: bytes = b"", descriptors: Sequence[int] = ()
    ) -> "asyncio.Future[Frame]":
        """Send a request; its answer comes later, not yet `checked`. Requests are dealt with in their order.

        Raises:
            WorkspaceUnavailableError: the slot died.
        """
        if self._problem is not None:
            raise self._problem
        self._asked += 1
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting[self._asked] = answer
        # To its end, whoever waits for it: half a frame would be the last.
        await asyncio.shield(asyncio.ensure_future(self._send({"id": self._asked, **header}, body, descriptors)))
        return answer

    async def _send(self, header: Mapping[str, object], body: bytes, descriptors: Sequence[int]) -> None:
        async with self._sending:
            try:
                await self.slot.channel.send(header, body, descriptors)
            except OSError as error:
                self._fail(error)

    async def close(self) -> None:
        self._receiving.cancel()
        await asyncio.wait({self._receiving})
        self.slot.channel.close()

    async def _receive(self) -> None:
        try:
            while True:
                frame = await self.slot.channel.receive()
                answer = parse(frame.header, _Answer)
                if answer.contents is not None:
                    await to_end(asyncio.to_thread(self._keep, _split(frame.body, answer.contents)))
                elif (waiting := self._waiting.pop(answer.id, None)) is not None and not waiting.done():
                    waiting.set_result(frame)
        except OSError as error:
            self._fail(error)
        except asyncio.CancelledError:
            self._fail(WorkspaceUnavailableError("The checkpoints are closed."))
            raise

    def _fail(self, error: OSError) -> None:
        self._problem = error
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error)
                waiting.exception()  # nobody may be waiting any more
        self._waiting.clear()


def checked(frame: Frame) -> Frame:
    """The answer, if it is not a failure.

    Raises:
        OSError: the system refused.
        WorkspaceUnavailableError: it is no answer.
    """
    failure = parse(frame.header, _Answer)
    if failure.error is not None:
        raise OSError(failure.errno, failure.error)
    return frame


async def to_end(work: Awaitable[T]) -> T:
    """Wait for what must not go on when its things are gone: to its end, even if nobody wants it any more."""
    going = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(going)
    except asyncio.CancelledError:
        await asyncio.wait({going})
        raise


def _split(body: bytes, lengths: Sequence[int]) -> list[bytes]:
    """Contents that came one after another.

    Raises:
        WorkspaceUnavailableError: they are something else.
    """
    if any(length < 0 for length in lengths) or sum(lengths) != len(body):
        raise WorkspaceUnavailableError("The process for checkpoints sent what cannot be understood.")
    contents, offset = [], 0
    for length in lengths:
        contents.append(body[offset : offset + length])
        offset += length
    return contents
