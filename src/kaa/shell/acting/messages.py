"""Messages that extensions give the model: who wrote them, when the model gets them, and how many are too many."""

from collections.abc import Coroutine
from typing import Protocol

from kaa.core.agent import Agent
from kaa.core.events import AgentEnd, CompactionEnd, Event, MessageEnd, MessageStart, TurnEnd
from kaa.core.messages import ExtensionNote, UserMessage, user_message
from kaa.ext.acting import IdleWork
from kaa.ext.errors import CommandError

# A message of an extension starts a run, whose events may lead to the next message: without a limit, for ever.
_MOST_MESSAGES = 25


class Unasked(Protocol):
    """Has the conversation do what no user asked for. `kaa.shell.work_queue.WorkQueue` does it."""

    @property
    def beside(self) -> int:
        """How many works go on beside runs."""
        ...

    def say_unasked(self, message: UserMessage, *, steer: bool) -> None:
        """Give the model a message of an extension: now, or when the run would end, or (`steer`) within the run."""
        ...

    def when_idle(self, extension: str, work: IdleWork) -> None:
        """Call a function of an extension as soon as nothing is under way."""
        ...

    def run_beside(self, work: Coroutine[None, None, None]) -> None:
        """Do work beside runs and messages. The end of the conversation cancels it."""
        ...


class ExtensionMessages:
    """The messages of all extensions of one conversation."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._sent = 0  # since the last message of the user
        self._waiting: list[UserMessage] = []
        agent.subscribe(self._observe)

    def send(self, unasked: Unasked, extension: str, text: str, *, steer: bool) -> None:
        """Send a message of an extension; `unasked` gives it to the model.

        Raises:
            CommandError: the text is empty, or too many were sent since the last message of the user.
        """
        message = written_by(ExtensionNote(extension), text)
        if self._sent >= _MOST_MESSAGES:
            raise CommandError(
                f"the message was not sent: extensions sent {_MOST_MESSAGES} messages since the last one of the user,"
                " which is the limit"
            )
        self._sent += 1
        unasked.say_unasked(message, steer=steer)

    def add(self, message: UserMessage) -> None:
        """Have the model know a message with its next request; nothing may come between a call and its result."""
        if self._agent.is_running:
            self._waiting.append(message)
        else:
            self._say(message)

    def _observe(self, event: Event) -> None:
        match event:
            case MessageEnd(message=UserMessage(origin="person" | "command")):
                self._sent = 0
            case TurnEnd() | AgentEnd() | CompactionEnd() if self._waiting:
                waiting, self._waiting = self._waiting, []
                for message in waiting:
                    self._say(message)
            case _:
                pass

    def _say(self, message: UserMessage) -> None:
        self._agent.emit(MessageStart(message))
        self._agent.emit(MessageEnd(message))


def written_by(note: ExtensionNote, text: object) -> UserMessage:
    """A message of an extension.

    Raises:
        CommandError: there is nothing in it.
    """
    if not isinstance(text, str) or not text.strip():
        raise CommandError(f"the message {text!r} of extension {note.extension} is empty: use a text")
    return user_message(text, note=note)
