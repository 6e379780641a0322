"""The core of the interactive terminal, in its own thread: opens conversations and passes on what happens in them.

Everything here runs on the core's event loop. The user interface is reached through `EngineListener` and
`QuestionPresenter`, whose methods are called in its own thread.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from kaa.core.events import Event, MessageEnd, QueueUpdate
from kaa.core.messages import UserMessage, user_message
from kaa.ext.asking import confirm
from kaa.ext.invocation import invocation_in
from kaa.frontends.command_line import CommandLineOptions, UsageError
from kaa.frontends.delivery import deliver
from kaa.frontends.interactive.attachments import with_mentioned
from kaa.frontends.interactive.core_thread import Post
from kaa.frontends.interactive.reporter import ConversationReporter, EngineListener, QuestionPresenter
from kaa.frontends.interactive.transcript.preload import preload
from kaa.host.log import LOG
from kaa.shell.attachments import compose
from kaa.shell.conversation import Conversation, SubmitOutcome
from kaa.shell.home import Home
from kaa.shell.host import Host, HostedConversation, HostNotice
from kaa.shell.options import ConversationOptions, SessionChoice
from kaa.shell.safety import UnopenedWorkspace
from kaa.shell.work_queue import WorkQueue, WorkResult
from kaa.tui.sanitize import sanitize
from kaa.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from kaa.ext.display import DisplayKind, DisplayUpdate
    from kaa.ext.questions import Answer, AnyQuestion, Dismissed, Question
    from kaa.frontends.live.questions import SharedQuestions
    from kaa.frontends.live.serving import LiveServer
    from kaa.frontends.live.starting import Started
    from kaa.shell.sessions import Sessions

AnswerT = TypeVar("AnswerT")
ResultT = TypeVar("ResultT")


class OpeningError(UsageError):
    """The project cannot be opened; the message says why."""


class Engine:
    """The conversation on the screen, and the workspace it is about.

    Args:
        opened: the project, or why it could not be opened.
        reopen: tries it again.
        post: runs a function in the user interface's thread.
    """

    def __init__(
        self,
        command_line: CommandLineOptions,
        opened: LocalWorkspace | UnopenedWorkspace,
        reopen: Callable[[], LocalWorkspace | UnopenedWorkspace],
        post: Post,
    ) -> None:
        self._command_line = command_line
        self._words = command_line.messages
        self._first: list[UserMessage] = []
        self._order = asyncio.Lock()  # held while the files of a message are read
        self._reopen = reopen
        self._served: tuple[EngineListener, QuestionPresenter] | None = None
        self._post = post
        self._is_closing = False
        options = msgspec.structs.replace(command_line.host_options(), stop_key="Esc")
        self._host = Host(options, Home.of(os.environ), os.environ, self._notify, self, self)
        self._workspace = self._adopted(opened)
        self._hosted: HostedConversation | None = None
        self._reporter: ConversationReporter | None = None
        self._server: LiveServer | None = None

    async def serve(self, audience: EngineListener, respondent: QuestionPresenter) -> None:
        """Tell the one and ask the other; called before anything else."""
        self._served = audience, respondent

    @property
    def _audience(self) -> EngineListener:
        assert self._served is not None
        return self._served[0]

    @property
    def _respondent(self) -> QuestionPresenter:
        assert self._served is not None
        return self._served[1]

    @property
    def conversation(self) -> Conversation:
        """The conversation.

        Raises:
            OpeningError: there is none yet.
        """
        return self._open.conversation

    @property
    def work(self) -> WorkQueue:
        """What the conversation is asked to do.

        Raises:
            OpeningError: there is none yet.
        """
        return self._open.work

    @property
    def home(self) -> Home:
        """The user's folder."""
        return self._host.home

    @property
    def workspace(self) -> LocalWorkspace:
        """The project.

        Raises:
            OpeningError: it cannot be opened.
        """
        if isinstance(self._workspace, UnopenedWorkspace):
            self._workspace = self._adopted(self._reopen())  # what kept it closed may have been mended
        if isinstance(self._workspace, UnopenedWorkspace):
            raise OpeningError(self._workspace.reason)
        return self._workspace

    async def open(self, session: SessionChoice | None = None) -> Conversation:
        """Open the conversation that the command line asks for, or another session; the one before is closed then.

        Raises:
            OpeningError: the project cannot be opened.
            SessionNotKeptError: sessions are not kept.
            NavigationBlockedError: an extension objects to leaving the conversation before; it goes on.
            Exception: as `open_conversation` says. The conversation before goes on.
        """
        options = self._options(session)
        is_first_start = self._hosted is None and not self._host.home.sessions.exists()
        await self.in_turn()
        before, reporter = self._hosted, self._reporter
        if before is None:
            self._hosted = await self._host.open(options, self.workspace)
        else:
            self._hosted = await self._host.switch(before, options, self.workspace)
        if reporter is not None:
            await reporter.close()
        self._reporter = ConversationReporter(self._hosted.conversation, self._audience, self._post)
        self._hosted.work.subscribe(self._reporter.refresh_status)
        await self._hosted.begin()
        if is_first_start and (explained := self._hosted.conversation.approvals.explained):
            self._notify(HostNotice(explained))
        return self._hosted.conversation

    @property
    def session_path(self) -> Path | None:
        """The file of the session that is open; None if it has none, or none is open."""
        hosted = self._hosted
        if hosted is None or not hosted.is_open or hosted.conversation.session_path is None:
            return None
        return Path(hosted.conversation.session_path)

    def sessions(self) -> "Sessions":
        """All sessions there are, whether one is open or not.

        Raises:
            OpeningError: the project cannot be opened.
            SettingsError: the user's settings have a mistake.
        """
        return self._host.sessions(self.workspace.root, self._command_line.conversation_options().session_dir)

    def refresh_status(self) -> None:
        """Tell soon how the conversation stands."""
        if self._reporter is not None:
            self._reporter.refresh_status()

    async def abort(self) -> list[UserMessage]:
        """Stop what is under way, also while the conversation begins or ends. Returns the messages that waited."""
        if self._host.stop_loading():
            return []
        return [] if self._hosted is None else self._held(await self._hosted.work.abort())

    async def dequeue(self) -> list[UserMessage]:
        """Take the last message back that waits, if one does."""
        message = self.conversation.dequeue()
        return [] if message is None else self._held([message])

    async def take_unsaid(self) -> list[UserMessage]:
        """Take back what waits for nothing, as `WorkQueue.take_unsaid` says."""
        return self._held(await self.work.take_unsaid())

    async def let_go(self, messages: list[UserMessage]) -> None:
        """Messages that were taken back are in a draft on the disk: nothing else needs to keep them."""
        if self._hosted is not None:
            self._hosted.conversation.let_go(messages)

    def _held(self, messages: list[UserMessage]) -> list[UserMessage]:
        """Messages that are taken back, which stay beside the session until a draft has them."""
        self.conversation.hold(messages)
        return messages

    async def prepare(self) -> None:
        """Have ready what the first reply needs, while nobody waits, and follow changes of extensions from now on."""
        await asyncio.to_thread(preload)
        self._host.watch_extensions()
        await self._listen()

    async def hand_over(self) -> "Started":
        """End the conversation here, and have a process without a terminal go on with it.

        Raises:
            LiveError: nothing is under way, or the process cannot be started.
        """
        from kaa.frontends.live.handing_over import hand_over  # lazy: few conversations outlive their terminal

        await self.in_turn()
        return await hand_over(self._host, self._open, self._server, sys.argv[1:], self.workspace.root)

    async def close(self) -> None:
        """Stop what is under way and let go of everything. The terminal is given back: what is told now is printed."""
        self._is_closing = True
        if self._server is not None:
            self._server.close()
        try:
            if self._hosted is not None:
                await self._host.end(self._hosted)
            if self._reporter is not None:
                await self._reporter.close()
        finally:
            await self._host.close()

    async def in_turn(self) -> None:
        """Wait until all has begun that was entered before: nothing overtakes a message whose files are read."""
        async with self._order:
            pass

    async def say(self, message: UserMessage, *, follow_up: bool, kept: Callable[[], None]) -> None:
        """Have the conversation work on a message, with the files that it names by `@`.

        Args:
            follow_up: give it to the model when it would stop, not as soon as possible.
            kept: called, in the user interface's thread, when the session has the message, or it waits in a file.
        """
        async with self._order:
            try:
                complete = await with_mentioned(self.workspace, message, self.permits_secret, self._notify_of)
            except Exception:
                self.work.keep([message])
                raise
        await self._say(complete, lambda: self._post(kept), follow_up=follow_up)

    async def say_held(self, message: UserMessage) -> None:
        """Have the conversation work on a message that `aside` returned."""
        conversation = self.conversation
        await self._say(message, lambda: conversation.let_go([message]))

    async def _say(self, message: UserMessage, kept: Callable[[], None], *, follow_up: bool = False) -> None:
        conversation, path = self.conversation, self.session_path
        with conversation.recording(message, kept):
            await self.work.say(message, follow_up=follow_up)
        if path is None or path.exists():
            asyncio.get_running_loop().call_soon(kept)  # the file with what waits is written just before
            return

        def note(event: Event) -> None:
            if isinstance(event, MessageEnd) or (isinstance(event, QueueUpdate) and not conversation.has_queued):
                unsubscribe()
                kept()

        unsubscribe = conversation.subscribe(note)  # what waits beside a session without a file is not found again

    async def aside(self, work: Callable[[], Awaitable[ResultT]]) -> WorkResult[ResultT]:
        """Have work done that occupies the conversation. What was said meanwhile is for `say_held`."""
        await self.in_turn()
        done = await self.work.aside(work)
        self._held(done.said)
        return done

    async def command(self, text: str, kept: Callable[[], None] = lambda: None) -> SubmitOutcome:
        """Run a slash command of the conversation. What it changes is shown before its reply.

        Then kaa asks before it is left while an agent works that the command has begun.

        Args:
            kept: called, in the user interface's thread, when the session has a message that the command sends.
        """
        await self.in_turn()
        with self.conversation.recording(user_message("", origin="command"), lambda: self._post(kept)):
            outcome = await self.work.command(text)
        if self._reporter is not None:
            await self._reporter.status_told()
        return outcome

    async def run_command(self, command: str, *, in_context: bool) -> None:
        """Run a command of the user's own. See `Conversation.run_command`."""
        await self.in_turn()
        await self.conversation.run_command(command, in_context=in_context)

    async def permits_secret(self, path: str) -> bool:
        """Ask whether a file that the user named is sent to the model although it may hold secrets."""
        return await confirm(self, f"Send {path} to the model?", "The file may hold secrets.")

    async def submit_first(self) -> str | None:
        """Work on the messages of the command line, one after another, up to a slash command.

        Returns:
            The command, for the user interface to run before it calls this again; None if nothing is left.
        """
        if words := self._words:
            self._words = ()
            async with self._order:
                first, rest = await compose(words, "", self.workspace, self.permits_secret)
            self._first += [first, *rest]
        while self._first:
            message = self._first.pop(0)
            if invocation_in(message) is not None:
                return message.text
            await self.work.say(message)
        return None

    @property
    def can_ask(self) -> bool:
        return True

    async def ask(self, question: "Question[AnswerT]") -> "AnswerT | Dismissed":
        """Ask the user (`kaa.ext.asking.Asker`), here and in attached terminals; the first answer counts."""
        here, there = self._ask_here(question), self._shared.share(question)
        asking = [asyncio.ensure_future(here), asyncio.ensure_future(there)]
        try:
            answered, _ = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            return answered.pop().result()
        finally:
            for one in asking:
                one.cancel()
            await asyncio.wait(asking)

    @cached_property
    def _shared(self) -> "SharedQuestions":
        from kaa.frontends.live.questions import SharedQuestions  # lazy: not before something is asked

        return SharedQuestions()

    async def _ask_here(self, question: "Question[AnswerT]") -> "AnswerT | Dismissed":
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()

        def take(answer: "Answer") -> None:
            if not answered.done():
                answered.set_result(answer)

        def answer(given: "Answer") -> None:
            with suppress(RuntimeError):  # the core has ended, and needs no answer any more
                loop.call_soon_threadsafe(take, given)

        asked = cast("AnyQuestion", question)  # there are no other subclasses
        self._post(lambda: self._respondent.ask(asked, answer))
        try:
            return question.fit(await answered)
        except asyncio.CancelledError:
            self._post(lambda: self._respondent.withdraw(asked))
            raise

    async def _listen(self) -> None:
        """Let other terminals of the user attach."""
        if not self._open.conversation.is_kept:
            return
        # Lazily: the user sees kaa already.
        from kaa.frontends.live.serving import LiveServer
        from kaa.host.private_sockets import PrivateSocketError

        if self._server is None:
            self._server = LiveServer(self._host.home, self._shared, has_terminal=True)
        try:
            await self._server.open(self._open)
        except PrivateSocketError as error:
            LOG.warning("nobody can attach: %s", error)

    @property
    def shows(self) -> "Collection[DisplayKind]":
        return self._audience.shows

    def show(self, update: "DisplayUpdate") -> None:
        """Show what an extension wants to be seen (`kaa.ext.showing.DisplayOutput`)."""
        self._post(lambda: self._audience.show_display(update))

    @property
    def _open(self) -> HostedConversation:
        if self._hosted is None or not self._hosted.is_open:
            raise OpeningError(
                "no conversation is open: it is still being opened, or opening failed for the reason above"
            )
        return self._hosted

    def _options(self, session: SessionChoice | None) -> ConversationOptions:
        options = self._command_line.conversation_options()
        return options if session is None else options.going_to(session)

    def _adopted(self, opened: LocalWorkspace | UnopenedWorkspace) -> LocalWorkspace | UnopenedWorkspace:
        if isinstance(opened, LocalWorkspace):
            self._host.workspaces.adopt(opened, self._command_line.sandbox)
        return opened

    def _notify_of(self, text: str) -> None:
        self._notify(HostNotice(text))

    def _notify(self, notice: HostNotice) -> None:
        if self._is_closing:
            deliver(sys.stderr, f"kaa: {sanitize(notice.text)}\n")
            return
        self._post(lambda: self._audience.show_notice(notice.text))
        self.refresh_status()  # what is told may change it: a job has ended
