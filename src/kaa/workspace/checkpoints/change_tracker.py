"""Sees the project through a slot: looks at everything once, then tells what changed. A slot that died is replaced."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from kaa.hands.wire import Frame
from kaa.workspace.channel import parse
from kaa.workspace.checkpoints.attribution import ChangeRow, state_of
from kaa.workspace.checkpoints.contract import CheckpointsDeclinedError, FileState, Permit, StateRow
from kaa.workspace.checkpoints.link import Link, checked, to_end
from kaa.workspace.checkpoints.reports import Begun, Extent, LookReport, Report, read_report
from kaa.workspace.checkpoints.store import CheckpointStore
from kaa.workspace.protocol import WorkspaceUnavailableError
from kaa.workspace.slots import Slots

MAX_FILES = 100_000
_MEGABYTE = 1024 * 1024
# Before the first command, and of new files at the end of one, besides `CheckpointLimits.first_files`.
_FIRST_BYTES = 64 * _MEGABYTE
# Of what is left then, during each gap between calls: takes a tenth of a second.
_MORE_FILES, _MORE_BYTES = 2_000, 16 * _MEGABYTE
_READ_AT_ONCE_BYTES = 64 * 1024  # takes less than a millisecond
_LOOK_AT_ONCE = 1_000  # paths in a request
T = TypeVar("T")


class ChangeTracker:
    """A slot of kind `checkpoints`, from `begin` on. All calls must come from one event loop.

    Args:
        first_files: so many new files are read before a call can go on; 0: all.
        announce_bytes: from how many on `permit` is asked before they are copied; 0: never.
        permit: asked; after a no, nothing more is looked at.
        start: called for each slot: gives the store that keeps contents, the manifest to begin from, and whether all
            that differs from it matters, as a turn was under way.
        seen: gets that manifest, what differs from it, and the tokens of killed restores whose temporary files were
            removed, before anybody who waits for that goes on.
        learned: gets how files are that were not read before.
        completed: gets the states of files that changes told before as `unread`.

    Attributes:
        uncovered: how much each rule left out.
    """

    def __init__(
        self,
        slots: Slots,
        max_bytes: int,
        announce_bytes: int,
        first_files: int,
        permit: Permit,
        start: Callable[[], Awaitable[tuple[CheckpointStore, bytes, bool]]],
        seen: Callable[[bytes, list[ChangeRow], Sequence[str]], Awaitable[None]],
        learned: Callable[[Sequence[ChangeRow]], Awaitable[None]],
        completed: Callable[[Sequence[tuple[str, StateRow]]], None],
    ) -> None:
        self._slots = slots
        self._max_bytes = max_bytes
        self._first_files = first_files
        self._learned = learned
        self._completed = completed
        self._reading: asyncio.Task[None] | None = None
        self._announce_bytes = announce_bytes
        self._permit = permit
        self._declined: CheckpointsDeclinedError | None = None
        self._start = start
        self._seen = seen
        self._linking: asyncio.Task[tuple[Link, asyncio.Future[Frame]]] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._known = b""
        self._leftovers: dict[str, list[str]] = {}
        self.uncovered: dict[str, int] = {}

    @property
    def has_begun(self) -> bool:
        """Whether `begin` was called."""
        return self._linking is not None

    @property
    def is_declined(self) -> bool:
        """Whether somebody did not permit to look at everything."""
        return self._declined is not None

    @property
    def has_looked(self) -> bool:
        """Whether everything has been looked at."""
        return self._looking is not None and self._looking.done() and not failed(self._looking)

    def begin(self) -> None:
        """Begin to look at everything, unless that has been done and the slot lives."""
        if self._declined is not None:
            return
        if self._looking is None or failed(self._looking) or failed(self._linking) or self._is_dead():
            self._slots.expect("checkpoints")  # it starts while the store is opened, and while the call is judged
            self._linking = asyncio.create_task(self._link(self._linking))
            self._looking = asyncio.create_task(self._look(self._linking))
            for task in (self._linking, self._looking):
                task.add_done_callback(_look_at)

    async def link(self) -> Link:
        """The slot, which may still look at things."""
        self.begin()
        if self._declined is not None:
            raise self._declined
        assert self._linking is not None
        return (await asyncio.shield(self._linking))[0]

    async def looked(self) -> Link:
        """The slot, once it has looked at everything.

        Raises:
            OSError: it cannot.
        """
        self.begin()
        if self._declined is not None:
            raise self._declined
        assert self._looking is not None
        await asyncio.shield(self._looking)
        return await self.link()

    async def changes(self, *, in_portions: bool = False) -> list[ChangeRow]:
        """What changed since the last time. Raises as `looked` does.

        Args:
            in_portions: of many new files, only the first are read; `read_more` reads others, and so does a call
                without this.
        """
        link = await self.looked()
        files = self._first_files if in_portions else 0
        request = {"op": "collect", "files": files, "bytes": _FIRST_BYTES}
        try:
            answer = await link.ask(request)
        except WorkspaceUnavailableError:
            if link.is_alive:
                raise
            answer = await (await self.looked()).ask(request)  # it had died, and nobody had noticed yet
        return await self._read(answer)

    def read_more(self) -> None:
        """Read some of the files that were left when everything was looked at, without keeping anybody waiting."""
        if self.uncovered.get("unread") and self.has_looked and (self._reading is None or self._reading.done()):
            self._reading = asyncio.create_task(self._read_more())
            self._reading.add_done_callback(_look_at)

    async def states(self, paths: Sequence[str]) -> dict[str, FileState | None]:
        """What is at some paths now, but for those that cannot be looked at. Raises as `looked` does."""
        link = await self.looked()
        found: dict[str, FileState | None] = {}
        for start in range(0, len(paths), _LOOK_AT_ONCE):
            part = paths[start : start + _LOOK_AT_ONCE]
            seen = parse((await link.ask({"op": "look", "paths": part})).header, LookReport)
            if len(seen.states) != len(part):
                raise WorkspaceUnavailableError("The process for checkpoints sent what cannot be understood.")
            found |= {
                path: state_of(row) for path, row in zip(part, seen.states, strict=True) if path not in seen.outside
            }
        return found

    async def close(self) -> None:
        for task in (self._reading, self._looking, self._linking):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        if self._linking is not None and not failed(self._linking):
            await self._linking.result()[0].close()

    async def _link(
        self, former: "asyncio.Task[tuple[Link, asyncio.Future[Frame]]] | None"
    ) -> "tuple[Link, asyncio.Future[Frame]]":
        """Take a slot, in place of one that died, and have it begin to look at everything."""
        if former is not None:
            await asyncio.wait({former})
            if not failed(former):
                await former.result()[0].close()
        store, self._known, thorough = await self._start()
        link = Link(await self._slots.take("checkpoints"), store.packs.add)
        try:
            self._leftovers = await asyncio.to_thread(store.killed_restores)
            limits = {"max_files": MAX_FILES, "max_bytes": self._max_bytes, "announce_bytes": self._announce_bytes}
            first = {"first_files": 0 if thorough else self._first_files, "first_bytes": _FIRST_BYTES}
            begin = {"op": "begin", **limits, **first, "leftovers": self._leftovers}
            return link, await link.request(begin, self._known)
        except BaseException:
            await link.close()
            raise

    async def _look(self, linking: "asyncio.Task[tuple[Link, asyncio.Future[Frame]]]") -> None:
        """Wait until everything has been looked at."""
        link, answer = await asyncio.shield(linking)
        frame = checked(await answer)
        if (extent := parse(frame.header, Begun).announce) is not None:
            frame = await self._permitted(link, extent)
        report = await self._report(frame)
        known, self._known = self._known, b""
        await to_end(self._seen(known, list(report.changes), tuple(self._leftovers)))
        await self._take_learned(report)

    async def _read_more(self) -> None:
        link = await self.link()
        # Above this, somebody would have been asked; so much may be left unread.
        portion = {"files": _MORE_FILES, "bytes": _MORE_BYTES, "max_bytes": self._announce_bytes}
        await self._read(await link.ask({"op": "read", **portion}))

    async def _permitted(self, link: Link, extent: Extent) -> Frame:
        """The answer of the slot, which goes on if somebody permits it.

        Raises:
            CheckpointsDeclinedError: nobody does.
        """
        if not await self._permit(extent.files, extent.bytes):
            await link.close()
            megabytes = extent.bytes / _MEGABYTE
            self._declined = CheckpointsDeclinedError(
                f"declined for this session, as the first one would copy {megabytes:,.0f} MB"
            )
            raise self._declined
        self._announce_bytes = 0
        return await link.ask({"op": "proceed"})

    async def _read(self, answer: Frame) -> list[ChangeRow]:
        report = await self._report(answer)
        await self._take_learned(report)
        return list(report.changes)

    async def _report(self, answer: Frame) -> Report:
        report: Report = await in_thread_if(len(answer.body) > _READ_AT_ONCE_BYTES, read_report, answer.body)
        self.uncovered = report.uncovered
        if report.completed:
            self._completed(report.completed)
        return report

    async def _take_learned(self, report: Report) -> None:
        if report.learned:
            await to_end(self._learned([(path, state, state) for path, state in report.learned]))

    def _is_dead(self) -> bool:
        return self._linking is not None and self._linking.done() and not self._serves(self._linking.result()[0])

    def _serves(self, link: Link) -> bool:
        """Whether a slot lives, and can write if the project may be written by now."""
        slot = link.slot
        return link.is_alive and (slot.hands.policy.mode != "read-only" or self._slots.gives(slot))


async def in_thread_if(large: bool, work: Callable[..., T], *arguments: object) -> T:
    """Do what may take longer than the event loop can be blocked in a thread, and the rest at once."""
    return await asyncio.to_thread(work, *arguments) if large else work(*arguments)


def failed(task: "asyncio.Task[T] | None") -> bool:
    """Whether there is no use in waiting for a task."""
    return task is not None and task.done() and (task.cancelled() or task.exception() is not None)


def _look_at(task: "asyncio.Task[T]") -> None:
    """Tell asyncio that somebody knows of a failure; whoever needs the checkpoints is told."""
    if not task.cancelled():
        task.exception()
