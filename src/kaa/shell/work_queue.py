"""What a conversation is asked to do. Messages wait for the run; commands and other work do not wait for each other."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from kaa.core.events import AgentEnd
from kaa.core.messages import UserMessage
from kaa.ext.errors import CommandError
from kaa.session.entries import MessageEntry
from kaa.session.errors import SessionError
from kaa.shell.conversation import CommandNotRun, CommandReply, Conversation, SubmitOutcome

ResultT = TypeVar("ResultT")


class WorkResult(NamedTuple, Generic[ResultT]):
    """What came of work that was no run, and what was said meanwhile."""

    result: ResultT
    said: list[UserMessage]


class WorkQueue:
    """The work in one conversation. All calls must come from its event loop.

    Args:
        conversation: does it.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._observers: list[Callable[[], None]] = []
        self._work: set[asyncio.Task[object]] = set()  # what goes on in the conversation
        self._unsaid: list[UserMessage] = []  # what waited in the conversation before, and what failed to be said
        self._is_saying = False

    def subscribe(self, observer: Callable[[], None]) -> None:
        """Call `observer` after each command and other work that is no run: no event tells what it changed."""
        self._observers.append(observer)

    @property
    def is_busy(self) -> bool:
        """Whether a message given now would wait, or steer."""
        return self._is_saying or self._conversation.is_running

    async def say(self, message: UserMessage, *, follow_up: bool = False) -> None:
        """Give a message to the model: now, or, while it works, as soon as possible.

        Args:
            message: of the user's.
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

    async def command(self, text: str) -> SubmitOutcome:
        """Run a slash command of the conversation's."""
        try:
            return await self._submit(text)
        finally:
            self._changed()

    async def aside(self, work: Callable[[], Awaitable[ResultT]]) -> WorkResult[ResultT]:
        """Have work done that occupies the conversation. What had waited before goes on waiting."""
        conversation = self._conversation
        waited = conversation.has_queued
        try:
            result = await self._working(work())
        finally:
            self._changed()
        return WorkResult(result, [] if waited or conversation.is_running else conversation.clear_queues())

    async def take_unsaid(self) -> list[UserMessage]:
        """Take back what waits if there is no run it could wait for, what waited before, and what could not be said."""
        unsaid, self._unsaid = self._unsaid, []
        return unsaid if self._conversation.is_running else unsaid + self._conversation.clear_queues()

    async def abort(self) -> list[UserMessage]:
        """Stop what is under way. Returns the messages that waited."""
        waiting = self._conversation.clear_queues()
        self._conversation.abort()
        return waiting

    async def end(self) -> list[UserMessage]:
        """Stop what is under way, because the conversation is to be closed. Returns all that was not said."""
        self._unsaid += self._conversation.clear_queues()
        self._conversation.abort()
        if others := self._work - {asyncio.current_task()}:
            await asyncio.wait(others)
        unsaid, self._unsaid = self._unsaid, []
        return unsaid

    def keep(self, unsaid: list[UserMessage]) -> None:
        """Keep what was not said in the conversation before this one, until it is taken."""
        self._unsaid += unsaid

    async def _submit(self, message: UserMessage | str) -> SubmitOutcome:
        conversation = self._conversation
        waited = conversation.has_queued
        outcome = last = await self._working(conversation.submit(message))
        # What was said in the moment in which it stopped, or while /compact went on, would wait for ever.
        while not conversation.is_running and (late := _left_waiting(conversation, last, waited=waited)):
            for one in late:
                last = await self._working(conversation.submit(one))
        return outcome

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


def _left_waiting(conversation: Conversation, outcome: SubmitOutcome, *, waited: bool) -> list[UserMessage]:
    """What was said while something came to its end. `waited`: something had waited before already."""
    match outcome:
        case AgentEnd(reason="done"):
            return conversation.clear_queues()
        case CommandReply() if not waited:
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
