"""What a conversation is asked to do. Messages wait for the run; commands and other work do not wait for each other.

Extensions have the conversation do things, too, which nobody waits for: they have tasks of their own here.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from kaa.core.events import AgentEnd
from kaa.core.messages import UserMessage
from kaa.ext.acting import IdleWork
from kaa.ext.errors import CommandError
from kaa.host.log import LOG
from kaa.session.entries import MessageEntry
from kaa.session.errors import SessionError
from kaa.shell.conversation import CommandNotRun, CommandReply, Conversation, SubmitOutcome

ResultT = TypeVar("ResultT")

# Functions, mostly of extensions, that wait until the agent is idle.
_MOST_IDLE_WORK = 100


class WorkResult(NamedTuple, Generic[ResultT]):
    """What came of work that was no run, and what was said meanwhile."""

    result: ResultT
    said: list[UserMessage]


class WorkQueue:
    """The work in one conversation. All calls must come from its event loop."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._observers: list[Callable[[], None]] = []
        self._work: set[asyncio.Task[object]] = set()  # what goes on in the conversation
        self._unsaid: list[UserMessage] = []  # what waited in the conversation before, and what failed to be said
        self._is_saying = False
        self._has_begun = False
        self._has_ended = False
        self._held: list[tuple[UserMessage, bool]] = []  # what extensions sent before the conversation began
        self._idle: deque[Callable[[], Awaitable[None]]] = deque()
        self._idle_work: asyncio.Task[None] | None = None
        self._begun: set[asyncio.Task[None]] = set()  # what nobody waits for
        self._works_beside: set[asyncio.Task[None]] = set()  # what no run and no message waits for
        self._begun_observers: list[Callable[[asyncio.Task[None]], None]] = []
        self._unasked_end: AgentEnd | None = None
        conversation.unasked = self

    def begin(self) -> None:
        """Do what extensions sent while the conversation began."""
        self._has_begun = True
        held, self._held = self._held, []
        for message, steer in held:
            self.say_unasked(message, steer=steer)
        self._proceed()

    def observe_begun(self, observer: Callable[[asyncio.Task[None]], None]) -> None:
        """Call `observer` with each task that does what extensions want done."""
        self._begun_observers.append(observer)

    def subscribe(self, observer: Callable[[], None]) -> None:
        """Call `observer` after each command and other work that is no run: no event tells what it changed."""
        self._observers.append(observer)

    @property
    def is_busy(self) -> bool:
        """Whether a message given now would wait, or steer."""
        return self._is_saying or self._conversation.is_running

    @property
    def beside(self) -> int:
        return len(self._works_beside)

    @property
    def unsaid(self) -> Sequence[UserMessage]:
        """What could not be said, and nobody has taken back yet."""
        return self._unsaid

    async def say(self, message: UserMessage, *, follow_up: bool = False) -> None:
        """Give a message to the model: now, or, while it works, as soon as possible.

        Args:
            follow_up: while it works, give it the message when it would stop.
        """
        conversation = self._conversation
        if self.is_busy:  # a command of an extension's may have begun the run
            try:
                await (conversation.follow_up(message) if follow_up else conversation.steer(message))
            except Exception:
                self._unsaid.append(message)
                raise
            return
        self._is_saying = True  # also while hooks still look at the message
        try:
            outcome = await self._submit(message)
            if isinstance(outcome, CommandNotRun):
                raise CommandError(outcome.text)
        except Exception:
            if not _is_kept(conversation, message):
                self._unsaid.append(message)
            raise
        finally:
            self._is_saying = False
            self._proceed()

    def say_unasked(self, message: UserMessage, *, steer: bool) -> None:
        if not self._has_begun:
            self._held.append((message, steer))
        elif self.is_busy:
            self._conversation.queue(message, steer=steer)
        else:
            _ = self._begin(self._say_unasked(message))

    def when_idle(self, extension: str, work: IdleWork) -> None:
        """Call a function of an extension as soon as nothing is under way.

        Raises:
            CommandError: too many wait already.
        """
        if len(self._idle) >= _MOST_IDLE_WORK:
            raise CommandError(f"{_MOST_IDLE_WORK} functions wait already until the agent is idle, which is the limit")
        self._idle.append(partial(self._conversation.run_idle_work, extension, work))
        self._proceed()

    def run_beside(self, work: Coroutine[None, None, None]) -> None:
        if self._has_ended:
            work.close()
            return
        task = asyncio.create_task(work)
        self._works_beside.add(task)
        task.add_done_callback(self._end_beside)

    def _end_beside(self, task: "asyncio.Task[None]") -> None:
        self._works_beside.discard(task)
        for observer in self._observers:
            observer()

    def refresh_extensions(self) -> None:
        """Load changed and new extensions as soon as nothing is under way."""
        if (refresh := self._conversation.refresh_extensions) not in self._idle:
            self._idle.append(refresh)
            self._proceed()

    async def settled(self) -> AgentEnd | None:
        """Wait until all is done that extensions want done, also beside the conversation.

        Returns how the last run ended that they started.
        """
        while waited := self._begun | self._works_beside:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        end, self._unasked_end = self._unasked_end, None
        return end

    async def idle_work_done(self) -> None:
        """Wait until functions have ended that waited until the agent was idle."""
        if self._idle_work is not None:
            await asyncio.wait((self._idle_work,))

    async def submit(self, message: UserMessage) -> SubmitOutcome:
        """Do what the user asks, when extensions have nothing done. See `Conversation.submit`."""
        while self._begun:
            await asyncio.wait(self._begun)
        self._is_saying = True
        try:
            return await self._submit(message)
        finally:
            self._is_saying = False
            self._proceed()

    async def command(self, text: str) -> SubmitOutcome:
        """Run a slash command of the conversation's."""
        try:
            return await self._submit(text)
        finally:
            self._changed()
            self._proceed()

    async def aside(self, work: Callable[[], Awaitable[ResultT]]) -> WorkResult[ResultT]:
        """Have work done that occupies the conversation. What had waited before goes on waiting."""
        conversation = self._conversation
        waited = _person_waits(conversation)
        try:
            result = await self._working(work())
        finally:
            self._changed()
            self._proceed()
        return WorkResult(result, [] if waited or conversation.is_running else self._taken_back())

    async def take_unsaid(self) -> list[UserMessage]:
        """Take back what waits if there is no run it could wait for, what waited before, and what could not be said.

        What waited before includes what did when the session's kaa was killed.

        What extensions sent waits for the next run.
        """
        unsaid, self._unsaid = [*self._conversation.take_left(), *self._unsaid], []
        return unsaid if self._conversation.is_running else unsaid + self._taken_back()

    async def abort(self) -> list[UserMessage]:
        """Stop what is under way. Returns the messages that waited; what extensions sent waits for the next run."""
        waiting = self._taken_back()
        self._conversation.abort()
        return waiting

    async def end(self) -> list[UserMessage]:
        """Stop what is under way, because the conversation is to be closed. Returns all that was not said."""
        self._has_ended = True
        self._idle.clear()
        self._unsaid += _of_person(self._conversation.clear_queues())
        self._conversation.abort()
        for task in self._works_beside:
            task.cancel()
        while self._works_beside:
            await asyncio.wait(self._works_beside)
        if others := (self._work | self._begun) - {asyncio.current_task()}:
            await asyncio.wait(others)
        unsaid, self._unsaid = self._unsaid, []
        return unsaid

    def keep(self, unsaid: list[UserMessage]) -> None:
        """Keep what was not said in the conversation before this one, until it is taken."""
        self._unsaid += unsaid

    async def _submit(self, message: UserMessage | str) -> SubmitOutcome:
        conversation = self._conversation
        waited = _person_waits(conversation)
        outcome = last = await self._working(conversation.submit(message))
        # What was said in the moment in which it stopped, or while /compact went on, would wait for ever.
        while not conversation.is_running and (late := _left_waiting(conversation, last, waited=waited)):
            conversation.hold(late)  # the last one waits for the runs about those before
            while late and not self._has_ended:
                with conversation.recording(late[0], partial(conversation.let_go, late[:1])):
                    try:
                        last = await self._working(conversation.submit(late[0]))
                    except Exception:
                        late = late[1:] if _is_kept(conversation, late[0]) else late
                        self._unsaid += self._persons(late)
                        conversation.let_go([one for one in late if one.note is not None])  # the queue keeps them
                        raise
                del late[0]
            if self._has_ended:  # nobody says what is left, which is kept beside the session
                self._unsaid += _of_person(late)
                break
        return last if isinstance(outcome, AgentEnd) and isinstance(last, AgentEnd) else outcome

    def _taken_back(self) -> list[UserMessage]:
        """Take back the messages of the person that wait. Those of extensions, such as reports of agents, stay."""
        return self._persons(self._conversation.clear_queues())

    def _persons(self, messages: Sequence[UserMessage]) -> list[UserMessage]:
        """The messages of the person among these; the others wait again."""
        for message in messages:
            if message.note is not None:
                self._conversation.queue(message, steer=False)
        return _of_person(messages)

    def _begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        # Not in the context of whoever asks for it: what holds for an agent there does not hold for the conversation.
        task = asyncio.create_task(work, context=Context())
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        for observer in self._begun_observers:
            observer(task)
        return task

    def _proceed(self) -> None:
        """Call what waits until the agent is idle, if it is."""
        if self._idle and self._has_begun and not (self._has_ended or self.is_busy or self._work):
            self._idle_work = self._begin(self._do_idle_work())

    async def _do_idle_work(self) -> None:
        while self._idle and not (self._has_ended or self.is_busy or self._work):
            waited = self._conversation.has_queued  # for the user's next message, as an abort leaves it
            await self._working(self._idle.popleft()())
            self._changed()
            said = [] if waited or self._conversation.is_running else self._conversation.clear_queues()
            for message in said:
                await self._say_unasked(message)

    async def _say_unasked(self, message: UserMessage) -> None:
        """Say something that nobody waits for; a failure is told."""
        if self._has_ended:
            return
        if self.is_busy:
            self._conversation.queue(message, steer=False)
            return
        self._is_saying = True
        try:
            if isinstance(end := await self._submit(message), AgentEnd):
                self._unasked_end = end
        except Exception as error:  # noqa: BLE001 isolation boundary: it has no caller, and must not end the conversation
            LOG.exception("a message of an extension failed")
            author = f"of extension {message.note.extension}" if message.note is not None else "that waited"
            self._conversation.acting().notify(f"the message {author} was not sent: {error}")
        finally:
            self._is_saying = False
            self._proceed()

    async def _working(self, work: Awaitable[ResultT]) -> ResultT:
        """Do some work in the conversation, which is not closed before it is done."""
        task = asyncio.current_task()
        assert task is not None
        self._work.add(task)
        try:
            return await work
        finally:
            self._work.discard(task)

    def _changed(self) -> None:
        for observer in self._observers:
            observer()


def _person_waits(conversation: Conversation) -> bool:
    """Whether a message of the person's waits. Reports of agents that waited already say nothing of that."""
    return any(message.note is None for message in conversation.waiting)


def _of_person(messages: Sequence[UserMessage]) -> list[UserMessage]:
    return [message for message in messages if message.note is None]


def _left_waiting(conversation: Conversation, outcome: SubmitOutcome, *, waited: bool) -> list[UserMessage]:
    """What was said while something came to its end. `waited`: a message of the person's had waited before already."""
    match outcome:
        case AgentEnd(reason="done"):
            return conversation.clear_queues()
        case CommandReply() if not waited and _person_waits(conversation):
            return conversation.clear_queues()
        case _:
            return []


def _is_kept(conversation: Conversation, message: UserMessage) -> bool:
    """Whether the session has the message, or something that was said after it."""
    try:
        for entry in reversed(conversation.transcript()):
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
                return entry.message.timestamp >= message.timestamp
    except SessionError:
        pass  # what cannot be read has not got it
    return False
