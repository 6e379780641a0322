"""A client of a conversation: what it wants, and what it is told.

Nothing here waits for the client: one that reads too slowly is cut off, and one that asks for too much has to wait.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence

import msgspec

from kaa.core.events import AgentEnd, AgentStart, Event, MessageStart, ToolExecutionUpdate
from kaa.core.messages import AssistantMessage, user_message
from kaa.ext.agents import AgentError
from kaa.ext.invocation import invocation_in
from kaa.ext.questions import UnfitAnswerError
from kaa.frontends.failures import FORESEEN, error_text
from kaa.frontends.interactive.reporter import Additions, ConversationReporter
from kaa.frontends.json_text import encoded
from kaa.frontends.live.questions import SharedQuestions
from kaa.frontends.live.wire import (
    MOST_LINE_BYTES,
    AnswerQuestion,
    AnyRequest,
    AnyTold,
    Done,
    End,
    Follow,
    Happened,
    Noticed,
    Past,
    Refused,
    Say,
    Stands,
    Stop,
    StopAgent,
    TakeBack,
    TellAgent,
)
from kaa.frontends.terminal_commands import why_not_here
from kaa.host.log import LOG
from kaa.host.private_sockets import PrivateListener
from kaa.shell.conversation import CommandNotRun, CommandReply, Conversation, SessionToOpen
from kaa.shell.host import HostedConversation
from kaa.shell.status import Status
from kaa.workspace.git import Head

# What a client has not read. Beyond this it is cut off: the conversation does not wait for it.
_MOST_UNREAD_BYTES = 32 * 1024 * 1024
# Requests of one client that are being carried out. Beyond this it has to wait.
_MOST_AT_ONCE = 16
# Messages that wait for the model.
_MOST_QUEUED = 100
_UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError)


class ClientRequestError(Exception):
    """A request cannot be carried out; the message is for the client."""


class Served:
    """The conversation for which this process listens.

    Attributes:
        recent: what a client that comes late has to know.
        tasks: what goes on that clients have asked for.
    """

    def __init__(self, hosted: HostedConversation, listener: PrivateListener, accepting: asyncio.Server) -> None:
        self.hosted = hosted
        self.listener = listener
        self.recent = _Recent(hosted.conversation)
        self._accepting = accepting
        self.tasks: set[asyncio.Task[None]] = set()

    def begin_to_say(self, text: str, failed: Callable[[str], None]) -> None:
        """Give the model a message with which a run begins. `failed` is told why it could not be given."""
        message, conversation = user_message(text), self.hosted.conversation
        conversation.hold([message])  # hooks may take long

        async def say() -> None:
            try:
                with conversation.recording(message, lambda: conversation.let_go([message])):
                    await self.hosted.work.say(message)
                if message in conversation.waiting:  # another message was faster: the queue keeps this one
                    conversation.let_go([message])
            except FORESEEN as error:
                failed(str(error))
            except Exception as error:  # noqa: BLE001 isolation boundary: its client has its response already
                failed(error_text(error))

        _ = self.begin(say())

    def begin(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        """Do something that a client wants. It goes on when the client leaves."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def close(self) -> None:
        self._accepting.close()
        self.recent.close()


class ConnectedClient:
    """One that is connected.

    Args:
        end: ends the process; None where it has a terminal.
    """

    def __init__(
        self,
        served: Served,
        questions: SharedQuestions,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        end: Callable[[], None] | None,
    ) -> None:
        self.follows = False
        self._served = served
        self._end = end
        self._questions = questions
        self._reader = reader
        self._writer = writer
        self._reporter: ConversationReporter | None = None
        self._at_work: set[asyncio.Task[None]] = set()

    def tell(self, told: AnyTold) -> None:
        """Send something; never waits."""
        transport = self._writer.transport
        if transport.is_closing():
            return
        self._writer.write(encoded(told) + b"\n")
        if transport.get_write_buffer_size() > _MOST_UNREAD_BYTES:
            LOG.warning("a client of the conversation reads too slowly, and is cut off")
            transport.abort()

    async def serve(self) -> None:
        """Carry out requests until the client leaves."""
        while not self._writer.transport.is_closing():
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError:
                self.tell(Refused(f"a line of over {MOST_LINE_BYTES} bytes"))
                return
            except (asyncio.IncompleteReadError, OSError):
                return
            self._take(line)
            while len(self._at_work) >= _MOST_AT_ONCE:
                await asyncio.wait(self._at_work, return_when=asyncio.FIRST_COMPLETED)
            try:
                await self._writer.drain()  # one that does not read its responses is not heard
            except OSError:
                return
            await asyncio.sleep(0)  # the conversation goes on, however much comes

    def leave(self) -> None:
        """Send the client away; it gets what was sent."""
        self._writer.close()

    async def close(self) -> None:
        """Forget the client. What it has begun goes on."""
        if self._reporter is not None:
            await self._reporter.close()
        self._writer.close()

    def _take(self, line: bytes) -> None:
        try:
            request: AnyRequest = msgspec.json.decode(line, type=AnyRequest)
        except _UNREADABLE as error:
            self.tell(Refused(f"invalid request: {error}"))
            return
        task = self._served.begin(self._answer(request))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    async def _answer(self, request: AnyRequest) -> None:
        try:
            if isinstance(request, Follow):
                self._follow(request)
            else:
                self.tell(Done(request.number, await self._carry_out(request)))
        except (ClientRequestError, AgentError, UnfitAnswerError, *FORESEEN) as error:
            self.tell(Refused(str(error), request.number))
        except Exception as error:  # noqa: BLE001 isolation boundary: a bug in one request must not end the others
            self.tell(Refused(error_text(error), request.number))

    def _follow(self, request: Follow) -> None:
        """From now on the client is told everything. Nothing happens between its past and that."""
        if self.follows:
            raise ClientRequestError("this client follows already")
        self.follows = True
        self.tell(self._served.recent.past(request.number))
        for asked in self._questions.waiting:
            self.tell(asked)
        self._reporter = ConversationReporter(
            self._served.hosted.conversation, _Listener(self.tell), lambda told: told()
        )

    async def _carry_out(self, request: Say | Stop | TakeBack | End | TellAgent | StopAgent | AnswerQuestion) -> str:
        hosted = self._served.hosted
        if not hosted.is_open:
            raise ClientRequestError("the conversation has ended")
        match request:
            case Say(text=text, follow_up=follow_up):
                return await self._say(text, follow_up=follow_up)
            case Stop():
                was_busy = hosted.work.is_busy
                await hosted.work.abort()
                return "stopped" if was_busy else "nothing was running"
            case TakeBack():
                message = hosted.conversation.dequeue()
                return "" if message is None else message.said.text
            case End():
                if self._end is None:
                    raise ClientRequestError("it has a terminal: leave it there")
                self._end()
                return "the process ends"
            case TellAgent(agent=agent, text=text):
                hosted.conversation.agents.steer(agent, text)
                return f"{agent} gets it when its present calls are done"
            case StopAgent(agent=agent):
                hosted.conversation.agents.stop(agent)
                return f"{agent} was stopped"
            case AnswerQuestion(question=number, answer=answer):
                self._questions.answer(number, answer)
                return ""

    async def _say(self, text: str, *, follow_up: bool) -> str:
        work, conversation = self._served.hosted.work, self._served.hosted.conversation
        if not text.strip():
            raise ClientRequestError("the message is empty")
        if invocation_in(text) is not None:
            return await self._run_command(text)
        if sum(map(len, conversation.queued)) >= _MOST_QUEUED:
            raise ClientRequestError(f"{_MOST_QUEUED} messages wait already")
        if work.is_busy:
            await work.say(user_message(text), follow_up=follow_up)
            return "the model gets it when it would stop" if follow_up else "the model gets it after its present calls"
        self._served.begin_to_say(text, lambda problem: self.tell(Noticed(problem)))
        return "a run begins with the message"

    async def _run_command(self, text: str) -> str:
        match await self._served.hosted.work.command(text):
            case CommandNotRun(text=said):
                raise ClientRequestError(why_not_here(text) or said)
            case CommandReply(text=said, refused=True):
                raise ClientRequestError(said)
            case CommandReply(text=said):
                return said
            case SessionToOpen():
                raise ClientRequestError(
                    "an attached terminal stays with its session: open another one with kaa --session"
                )
            case _:
                return ""


class _Listener:
    """Sends what happens to a client (`kaa.frontends.interactive.reporter.CoreListener`)."""

    def __init__(self, tell: Callable[[AnyTold], None]) -> None:
        self._tell = tell

    def show_events(self, events: Sequence[Event]) -> None:
        self._tell(Happened(tuple(events)))

    def show_status(self, status: Status) -> None:
        """Send how the conversation stands."""
        self._tell(Stands(status))

    def show_additions(self, additions: Additions) -> None:
        """Clients have no use for this."""

    def show_notice(self, text: str) -> None:
        self._tell(Noticed(text))

    def show_head(self, head: Head | None) -> None:
        """Clients have no use for this."""


# Output of tools beyond this is left out; the result has it.
_MOST_UPDATES = 500


class _Recent:
    """The events since the last reply began, while the agent works: the file does not have them all.

    Args:
        conversation: is followed until `close`.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._events: list[Event] = []
        self._updates = 0
        self._size: int | None = None  # of the file when the reply began
        self.close = conversation.subscribe(self._note)

    def past(self, number: int) -> Past:
        """What to tell a client that follows from now on. `number`: of its request."""
        path = self._conversation.session_path
        assert path is not None  # others are not served
        size = self._size if self._size is not None else _size(path)
        return Past(number, path, size, tuple(self._events), self._conversation.is_running)

    def _note(self, event: Event) -> None:
        match event:
            case MessageStart(message=AssistantMessage()):
                path = self._conversation.session_path
                self._size = _size(path) if path is not None else None
                self._begin()
            case AgentStart() | AgentEnd():
                self._size = None
                self._begin()
                return
            case ToolExecutionUpdate():
                self._updates += 1
                if self._updates > _MOST_UPDATES:
                    return
            case _:
                pass
        if self._size is not None:
            self._events.append(event)

    def _begin(self) -> None:
        self._events, self._updates = [], 0


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:  # nothing was said yet
        return 0
