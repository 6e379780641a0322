"""The brain's end of the guard: says when something of kaa's may run, and asks what was planted meanwhile.

Any of its calls may be cancelled at any time: what the guard was told last is then not known, and it is told again.
"""

import asyncio
import contextlib
import os
import select
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from kaa.hands import wire
from kaa.workspace.blocked import Blocked, BlockedKind
from kaa.workspace.channel import parse
from kaa.workspace.protocol import WorkspaceUnavailableError
from kaa.workspace.slots import GuardLostError, Slot

if TYPE_CHECKING:
    from kaa.workspace.hands import Hands
    from kaa.workspace.sandbox.saved_content import Copies

_PATIENCE_SECONDS = 20.0  # commands can keep it busy; what it found meanwhile is not to be missed
# As long a command of the user's waits for background processes that write.
_CALM_SECONDS, _CALM_PAUSE_SECONDS = 1.0, 0.01
_ALARMS = 65536  # bytes; as many as a pipe holds


class GuardFinding(msgspec.Struct, frozen=True):
    """Something that appeared or changed and was defused: `path` became `kept_as`. Empty: it is still there."""

    path: str
    kept_as: str
    why: str
    kind: BlockedKind = "protected"
    content: bytes = b""
    mode: int = 0o600
    below: str = ""

    def blocked(self, copies: "Copies | None") -> Blocked:
        """The same as something that was blocked. `copies`: keeps its content, where commands cannot write."""
        if not self.kept_as:
            return Blocked("unmoved", self.path)
        return Blocked(self.kind, self.path, self.kept_as) if copies is None else copies.save(self)


class _Answer(msgspec.Struct, frozen=True):
    findings: tuple[GuardFinding, ...] = ()
    more: int = 0
    saved: tuple[GuardFinding, ...] = ()
    later: tuple[GuardFinding, ...] = ()
    flooded: bool = False
    stuck: bool = False
    unheld: bool = False
    unchecked: tuple[str, ...] = ()
    discerns: bool = False
    calm: bool = False
    scans: bool = False


# Of kaa's: a `command`, or something that counts as one; in the `background`, where the guard knows when it may have
# written; a command of the model's `outside` the sandbox, where no mount holds it; or one that is only `reading`: the
# sandbox lets it write nothing that is guarded.
Activity: TypeAlias = Literal["command", "background", "outside", "reading"]

# What the guard is told: nothing of kaa's runs (`rests`), something does (`watches`), or only commands in the
# background do, and what comes while they write nothing is the user's (`discerns`).
_State: TypeAlias = Literal["rests", "watches", "discerns"]


class GuardedActivity:
    """Something of kaa's that runs; equal to nothing but itself."""

    def __init__(self, kind: Activity) -> None:
        self.is_outside = kind == "outside"
        self.is_background = kind == "background"
        self.is_reading = kind == "reading"


_FLOOD = Blocked("flood")


class GuardWatch:
    """The guard's slot.

    Args:
        slot: of kind `guard`.
        root: the project, in which the user may do anything while nothing of kaa's runs.
        held: the hands in which something may run.
        stop: stops the commands, when one of them plants names in a loop, or the guard dies.
        deliver: gets what was found, as soon as the guard says so.
        deliver_later: gets what was kept of a moved file that was written afterwards.
        saved: the folder for copies of what was moved away; empty for none.

    Attributes:
        running: how many activities are under way.
        outside: how many of them no mount holds.
        scans: the project has too many directories to watch them all.
        busy_at: the path at which it was when it was late; empty if it is not, or nobody knows.
    """

    def __init__(
        self,
        slot: Slot,
        root: str,
        held: "Callable[[], Iterable[Hands]]",
        stop: Callable[[], None],
        deliver: Callable[[Iterable[Blocked]], None],
        deliver_later: Callable[[Blocked], None],
        saved: str = "",
    ) -> None:
        self._slot = slot
        self._saved = saved
        self._made_copies: Copies | None = None
        self._deliver_later = deliver_later
        self._root = root
        self._held = held
        self._stop = stop
        self._deliver = deliver
        self.scans = False
        self.busy_at = ""
        self.running = self.outside = 0
        self._turn = asyncio.Lock()
        self._answers_due = 0
        self._background: set[GuardedActivity] = set()  # what runs of which it knows when that may have written
        self._reading: set[GuardedActivity] = set()  # what runs and can write nothing
        self._adopts = True  # no command has run between its start and what it is told first
        self._told: _State | None = None  # last; None: not known
        self._answers_for_commands = False  # something of kaa's may have run since it was told that nothing does
        self._known = b""  # what it takes for harmless, for its successor
        self._discerns = False  # whether it knows when commands in the background may have written
        self._is_calm = False  # no command in the background writes, as far as it is known
        self._stuck = False  # a mount keeps what the guard has to move away
        self._unheld = False  # the user has made something that is to be mounted
        self._stale = True  # something may have been replaced that was held
        self._signs: list[int] | None = None  # descriptors; none where the guard cannot give signs
        self._poll = select.poll()
        self._relaxing: asyncio.Task[None] | None = None
        self._fetching: asyncio.Task[None] | None = None
        self._has_news = False  # it has found something that it was not asked for yet
        self._closed = False

    @property
    def is_alive(self) -> bool:
        return not self._closed and self._slot.channel.is_alive()

    @property
    def minds(self) -> bool:
        """Whether it acts on what appears, as far as it is known."""
        return self._told != "rests"

    @property
    def failed(self) -> bool:
        """Whether it died while something of kaa's might run: nobody has looked at what that did."""
        return self._answers_for_commands and not self._closed and not self._slot.channel.is_alive()

    async def begin(self, kind: Activity, hands: "Hands") -> GuardedActivity:
        """From now on whatever appears may come from a command that does not only read. Returns when the guard knows.

        What it found before is asked for first, so that it does not seem to come from what begins.

        Args:
            hands: in which it runs; the guard knows what is noted in its own.

        Returns:
            What has to be given to `end`.

        Raises:
            GuardLostError: it does not answer.
        """
        if kind == "reading":  # whatever appears meanwhile comes from others
            await self._hold()
            reading = GuardedActivity(kind)
            self._reading.add(reading)
            return reading
        is_noted = kind != "background" or hands is self._slot.hands
        activity = GuardedActivity(kind if is_noted else "command")
        self._enter(activity)
        try:
            if not self.is_alive:
                raise GuardLostError("The guard of the project is gone.")
            if self._told not in (None, "rests") and self._may_have_found():
                async with self._turn:
                    await self._ask("check")
            await asyncio.gather(self._hold(), self._tell())  # two processes
            if activity.is_outside:
                async with self._turn:
                    await self._ask("outside")
        except BaseException:
            self._leave(activity)
            raise
        return activity

    async def end(self, activity: GuardedActivity) -> None:
        """Something is over. Returns when everything that happened while it ran was looked at and passed on.

        Args:
            activity: what `begin` returned.

        Raises:
            GuardLostError: it does not answer.
        """
        if activity.is_reading:
            self._reading.discard(activity)
            return
        try:
            # What still runs may have mapped a file: of a change in memory there is no sign before it ends.
            if self.running > 1 or self._may_have_found():
                async with self._turn:
                    await self._ask("check")
            if self.outside == activity.is_outside == 1:
                async with self._turn:
                    await self._ask("inside")
        finally:
            self._leave(activity)

    async def doubt(self) -> None:
        """What runs in the background or only reads counts as a command that writes from now on: it may be one.

        Raises:
            GuardLostError: the guard does not answer.
        """
        self._background.clear()
        while self._reading:  # it may not have its process yet, which is under the next policy
            activity = self._reading.pop()
            activity.is_reading = False
            self._enter(activity)
        if self.is_alive and (self._told is not None or self.running):
            await self._tell()

    def expect_replacements(self) -> None:
        """Commands run under another policy from now on: before the next one, what was replaced is held there too."""
        self._stale = True

    async def take_over(self, former: "GuardWatch") -> None:
        """Watch over what another guard watches over until now, without a gap: it is asked after this has begun.

        If that died, this one trusts nothing that it did not know.

        Raises:
            GuardLostError: this one does not answer.
        """
        self.running, self.outside, self._reading = former.running, former.outside, former._reading
        self._adopts = not self.running and not former.failed
        if former.failed and former._known:
            await self._tell(former._known)
        elif self.running:
            await self._tell()
        if self.outside:
            async with self._turn:
                await self._ask("outside")
        if former.is_alive:
            with contextlib.suppress(GuardLostError):
                async with former._turn:
                    await former._ask("check")
        self.running, self.outside = former.running, former.outside
        if self.running == 0:
            self._relax()

    async def settle(self) -> None:
        """Nothing runs any more, and nobody will ask again: have defused what is there."""
        if self.is_alive and self._told is not None:
            with contextlib.suppress(GuardLostError):
                async with self._turn:
                    await self._ask("check")

    async def inspect(self) -> None:
        """Have defused what was planted so far, whoever still runs.

        Raises:
            GuardLostError: it does not answer.
        """
        if self._signs is not None and not self._closed:  # otherwise nothing was ever run
            async with self._turn:
                await self._ask("check")

    async def retire(self) -> None:
        """Let the guard go when everybody has the answer that they wait for."""
        async with self._turn:
            self.close()

    @contextlib.asynccontextmanager
    async def permitting(self, path: str, content: bytes) -> AsyncIterator[None]:
        """The user permitted that a file is written meanwhile: what has another content then is none of theirs.

        Args:
            path: of the file, absolute.
        """
        with contextlib.suppress(GuardLostError):
            if self._signs is None:  # it watches since it was made
                await self._tell()
            async with self._turn:
                await self._ask("expect", path)
        try:
            yield
        finally:
            from kaa.hands.digest import new_digest  # lazy, both: few files are written outside
            from kaa.hands.guard.items import MAX_CONTENT_BYTES

            written = {"digest": new_digest(content[: MAX_CONTENT_BYTES + 1]).hexdigest(), "size": len(content)}
            with contextlib.suppress(GuardLostError):
                async with self._turn:
                    await self._ask("written", path, facts=written)

    @contextlib.asynccontextmanager
    async def recognizing(self) -> AsyncIterator[None]:
        """The user does something: it begins when the guard can tell it from what runs in the background.

        If that goes on writing, it begins all the same.
        """
        with contextlib.suppress(GuardLostError, TimeoutError):
            async with asyncio.timeout(_CALM_SECONDS):
                while self.is_alive and self._wanted == "discerns":
                    await self._tell()
                    async with self._turn:
                        await self._ask("news")
                    if self._is_calm:
                        break
                    await asyncio.sleep(_CALM_PAUSE_SECONDS)
        yield

    def close(self) -> None:
        self._closed = True
        for task in (self._relaxing, self._fetching):
            if task is not None:
                task.cancel()
        if self._signs:
            asyncio.get_running_loop().remove_reader(self._signs[-1])
        wire.close_all(self._signs or ())
        self._signs = []
        self._poll = select.poll()
        self._slot.channel.close()

    def _may_have_found(self) -> bool:
        """Whether it has something to tell. An answer that is on its way has taken the signs of it away already."""
        return self._turn.locked() or self._answers_due > 0 or self._gives_signs()

    def _gives_signs(self) -> bool:
        return not self._signs or bool(self._poll.poll(0))

    async def _hold(self) -> None:
        """Have held what other programs replaced, before a command runs."""
        if not self._stale and not self._gives_signs():
            return
        self._stale = False
        try:
            for hands in self._held():
                await hands.hold()
        except BaseException as error:
            self._stale = True
            if isinstance(error, WorkspaceUnavailableError):
                raise GuardLostError(str(error)) from error
            raise

    def _enter(self, activity: GuardedActivity) -> None:
        self.running += 1
        self.outside += activity.is_outside
        if activity.is_background:
            self._background.add(activity)

    def _leave(self, activity: GuardedActivity) -> None:
        self.running -= 1
        self.outside -= activity.is_outside
        self._background.discard(activity)
        if self._wanted != "watches" and not self._closed:
            self._relax()

    def _relax(self) -> None:
        """Have the user's programs let alone from now on; nobody waits for the answer."""
        if self._relaxing is None or self._relaxing.done():
            self._relaxing = asyncio.ensure_future(self._tell_quietly())

    async def _tell_quietly(self) -> None:
        with contextlib.suppress(GuardLostError):  # whoever begins next finds out
            await self._tell()

    async def _tell(self, known: bytes = b"") -> None:
        """Have the guard mind what it should mind now, if it does not."""
        if self._told == self._wanted and not self._turn.locked():
            return
        async with self._turn:
            if self._signs is None:  # its first answer says too that it has noted what was there before
                await self._ask("signs", facts={"adopts": self._adopts})
                if known:
                    await self._ask("succeed", body=known)
                self._told, self._answers_for_commands = "watches", True
            while (former := self._told) != (wanted := self._wanted):
                self._told = None
                if wanted == "rests":
                    await self._ask("expect")
                else:
                    if former in (None, "rests"):
                        await self._ask("accept")
                    if wanted == "discerns" or former != "rests":
                        await self._ask("discern" if wanted == "discerns" else "watch")
                self._told, self._answers_for_commands = wanted, wanted != "rests"

    @property
    def _wanted(self) -> _State:
        if self.running == 0:
            return "rests"
        return "discerns" if self._discerns and self.running == len(self._background) else "watches"

    async def _ask(
        self, operation: str, path: str | None = None, body: bytes = b"", facts: Mapping[str, object] | None = None
    ) -> None:
        """Ask, in one's turn, and take in the answers to this and to all questions before it."""
        self._stale = self._stale or self._gives_signs()
        try:
            await self._exchange(operation, path, body, facts)
            if self._stuck:
                for hands in self._held():
                    await hands.release()
                self._stuck, self._stale = False, True
                await self._exchange("retry")
                self._unheld = True  # until somebody says so, nothing is held that was not at the start
            if self._unheld:
                for hands in self._held():
                    await hands.hold()
                self._unheld = False
        except TimeoutError as error:
            where = f" at {self.busy_at}" if self.busy_at else ""
            raise GuardLostError(
                f"The guard of the project has too much to do{where}; stop background processes."
            ) from error
        except WorkspaceUnavailableError as error:
            raise GuardLostError(str(error)) from error

    async def _exchange(
        self, operation: str, path: str | None = None, body: bytes = b"", facts: Mapping[str, object] | None = None
    ) -> None:
        self._answers_due += 1
        await self._slot.channel.send({"op": operation, "path": path or self._root, **(facts or {})}, body)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while self._answers_due:
                    await self._take_answer()
        except asyncio.CancelledError:
            self._fetch_soon()  # the answer may tell something, and the guard gives no second sign of it
            raise
        if operation == "check" and self._made_copies is not None:
            self._made_copies.close_directories()

    async def _take_answer(self) -> None:
        frame, descriptors = await self._slot.channel.receive_with_descriptors()
        if isinstance(busy := frame.header.get("busy"), str):  # the answer is yet to come
            self.busy_at = busy
            return
        self.busy_at = ""
        self._answers_due -= 1
        self._known = frame.body or self._known
        answer = parse(frame.header, _Answer)
        self._stuck = self._stuck or answer.stuck
        self._unheld = self._unheld or answer.unheld
        self.scans, self._discerns, self._is_calm = answer.scans, answer.discerns, answer.calm
        self._keep(answer)
        self._deliver(Blocked("unread", path) for path in answer.unchecked)
        if answer.more:
            self._deliver([Blocked("more")])
        if answer.flooded:
            self._deliver([_FLOOD])
            self._stop()
        if self._signs is None:
            self._take_signs(descriptors)
        else:
            wire.close_all(descriptors)

    def _keep(self, answer: _Answer) -> None:
        """Keep copies of what was moved away, and pass on what was."""
        copies = self._copies if answer.findings or answer.saved or answer.later else None
        found: list[Blocked] = []
        for finding in answer.findings:
            moved = finding.blocked(copies)
            found = [*(one for one in found if not moved.includes(one)), moved]
        for finding in answer.saved:
            finding.blocked(copies)
        others: list[Blocked] = []
        for finding in answer.later:
            if copies is not None and (later := copies.save_later(finding)) is not None:
                told, found = found, [one.with_later(later) for one in found]
                others += [later] if found == told else []
        if copies is not None:
            copies.end_telling()
        self._deliver(found)
        for later in others:
            self._deliver_later(later)

    @property
    def _copies(self) -> "Copies | None":
        if self._made_copies is None and self._saved:
            from kaa.workspace.sandbox.saved_content import Copies  # lazy: the guard rarely moves anything

            self._made_copies = Copies(self._saved)
        return self._made_copies

    def _take_signs(self, descriptors: list[int]) -> None:
        """Keep what tells that a check would find something; the last one, that it is to be asked at once."""
        self._signs = descriptors
        for descriptor in descriptors:
            self._poll.register(descriptor, select.POLLIN)
        for alarm in descriptors[-1:]:
            asyncio.get_running_loop().add_reader(alarm, self._alarmed, alarm)

    def _alarmed(self, alarm: int) -> None:
        try:
            alarms = os.read(alarm, _ALARMS)
        except BlockingIOError:  # it has been asked meanwhile
            return
        if not alarms:  # it is dead
            asyncio.get_running_loop().remove_reader(alarm)
        if not alarms or wire.FLOOD_ALARM in alarms:
            self._stop()
        if alarms:
            self._fetch_soon()

    def _fetch_soon(self) -> None:
        self._has_news = not self._closed
        if self._has_news and (self._fetching is None or self._fetching.done()):
            self._fetching = asyncio.ensure_future(self._fetch())

    async def _fetch(self) -> None:
        """Ask what was found, so that somebody is told at once."""
        with contextlib.suppress(GuardLostError):  # whoever ends or begins next finds out
            while self._has_news:
                async with self._turn:
                    self._has_news = False
                    await self._ask("news")
