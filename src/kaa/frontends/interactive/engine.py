"""The core of the interactive terminal, in its own thread: opens the conversation, and passes on what happens in it.

Everything here runs on the core's event loop. The user interface is reached through `Audience` and `Respondent`, whose
methods are called in its own thread.
"""

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol, TypeVar

from kaa.core.events import AgentEnd
from kaa.core.messages import UserMessage
from kaa.frontends.command_line import UsageError, conversation_options
from kaa.frontends.interactive.core_thread import Post
from kaa.frontends.interactive.reporter import Listener, Reporter
from kaa.frontends.interactive.transcript.preload import preload
from kaa.shell.approvals.requests import Answer, ApprovalRequest
from kaa.shell.attachments import compose
from kaa.shell.conversation import Conversation, Outcome
from kaa.shell.home import Home
from kaa.shell.opening import open_conversation
from kaa.shell.options import SessionChoice, TrustChoice
from kaa.shell.safety import Unopened
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.store import Changed, TrustState, TrustStore, Undecided
from kaa.workspace.local import LocalWorkspace

AnswerT = TypeVar("AnswerT")
ResultT = TypeVar("ResultT")


class OpeningError(UsageError):
    """The project cannot be opened; the message says why."""


class Audience(Listener, Protocol):
    """Who is told what happens; every method runs in the user interface's thread."""

    def show_notice(self, text: str) -> None:
        """Something worth knowing that does not stop us."""
        ...


class Respondent(Protocol):
    """Who is asked; every method runs in the user interface's thread."""

    def ask_approval(self, request: ApprovalRequest, answer: Callable[[Answer], None]) -> None:
        """Ask the user; `answer` may be called once, from any thread."""
        ...

    def withdraw_approval(self, request: ApprovalRequest) -> None:
        """The question has no meaning any more."""
        ...

    def ask_trust(
        self, configuration: ProjectConfiguration, state: TrustState, answer: Callable[[TrustChoice | None], None]
    ) -> None:
        """Ask whether the project may configure anything.

        The answer: `stored` and `no` are kept for good, `yes` holds for this run; None declines for this run.
        """
        ...


class Engine:
    """The conversation on the screen, and the workspace it is about.

    Args:
        arguments: as `kaa.cli` parses them.
        opened: the project, or why it could not be opened.
        reopen: tries it again.
        post: runs a function in the user interface's thread.
    """

    def __init__(
        self,
        arguments: argparse.Namespace,
        opened: LocalWorkspace | Unopened,
        reopen: Callable[[], LocalWorkspace | Unopened],
        post: Post,
    ) -> None:
        self._arguments = arguments
        self._workspace = opened
        self._reopen = reopen
        self._served: tuple[Audience, Respondent] | None = None
        self._post = post
        self._home = Home.of(os.environ)
        self._conversation: Conversation | None = None
        self._trust: TrustChoice | None = None
        self._configuration: ProjectConfiguration | None = None  # what the user was asked about
        self._work: set[asyncio.Task[object]] = set()  # what goes on in the conversation
        self._is_saying = False
        self._reporter: Reporter | None = None

    async def serve(self, audience: Audience, respondent: Respondent) -> None:
        """Tell the one and ask the other; called before anything else."""
        self._served = audience, respondent

    @property
    def _audience(self) -> Audience:
        assert self._served is not None
        return self._served[0]

    @property
    def _respondent(self) -> Respondent:
        assert self._served is not None
        return self._served[1]

    @property
    def conversation(self) -> Conversation:
        """The conversation.

        Raises:
            OpeningError: there is none yet.
        """
        if self._conversation is None:
            raise OpeningError(
                "there is no conversation yet: it is still being opened, or it could not be, for the reason told above"
            )
        return self._conversation

    @property
    def home(self) -> Home:
        """The user's folder."""
        return self._home

    @property
    def workspace(self) -> LocalWorkspace:
        """The project.

        Raises:
            OpeningError: it cannot be opened.
        """
        if isinstance(self._workspace, Unopened):
            self._workspace = self._reopen()  # what kept it closed may have been mended
        if isinstance(self._workspace, Unopened):
            raise OpeningError(self._workspace.reason)
        return self._workspace

    async def open(self, session: SessionChoice | None = None) -> Conversation:
        """Open the conversation that the command line asks for, or another session; the one before is closed.

        Raises:
            OpeningError: the project cannot be opened.
            Exception: as `open_conversation` says.
        """
        workspace = self.workspace
        if self._trust is None:
            self._trust, self._configuration = await self._decide_trust(workspace)
        options = conversation_options(self._arguments, self._trust, session)
        await self._close_conversation()
        self._conversation = await open_conversation(
            options,
            workspace=workspace,
            home=self._home,
            environ=os.environ,
            notify=self._notice,
            approver=self,
            configuration=self._configuration,
        )
        self._reporter = Reporter(self._conversation, self._audience, self._post)
        return self._conversation

    def refresh_status(self) -> None:
        """Tell soon how the conversation stands."""
        if self._reporter is not None:
            self._reporter.refresh_status()

    async def prepare(self) -> None:
        """Have ready what the first reply needs, while nobody waits."""
        await asyncio.to_thread(preload)

    async def close(self) -> None:
        """Stop what is under way and let go of everything."""
        try:
            await self._close_conversation()
        finally:
            if isinstance(self._workspace, LocalWorkspace):
                await self._workspace.close()

    async def submit_first(self) -> None:
        """Work on the messages of the command line, one after another; nothing if that was done."""
        words, self._arguments.messages = self._arguments.messages, []
        if not words:
            return
        first, rest = await compose(words, "", self.workspace)
        for message in (first, *rest):
            await self.say(message)

    async def say(self, message: UserMessage, *, follow_up: bool = False) -> None:
        """Give a message to the model: now, or, while it works, as soon as possible.

        Args:
            message: of the user's.
            follow_up: while it works, give it the message when it would stop.
        """
        conversation = self.conversation
        if self._is_saying or conversation.is_running:  # a command of an extension's may have begun the run
            await (conversation.follow_up(message) if follow_up else conversation.steer(message))
            return
        self._is_saying = True  # also while hooks still look at the message
        try:
            await self._submit(message)
        finally:
            self._is_saying = False

    async def command(self, text: str) -> Outcome:
        """Run a slash command of the conversation's."""
        try:
            return await self._submit(text)
        finally:
            self.refresh_status()

    async def _submit(self, message: UserMessage | str) -> Outcome:
        conversation = self.conversation
        outcome = last = await self._working(conversation.submit(message))
        # What was said in the moment in which it stopped would wait for ever.
        while isinstance(last, AgentEnd) and last.reason == "done" and (late := conversation.clear_queues()):
            for one in late:
                last = await self._working(conversation.submit(one))
        return outcome

    async def abort(self) -> list[UserMessage]:
        """Stop what is under way. Returns the messages that waited."""
        waiting = self.conversation.clear_queues()
        self.conversation.abort()
        return waiting

    async def _working(self, work: Awaitable[ResultT]) -> ResultT:
        """Do some work in the conversation, which is not closed before it is done."""
        task = asyncio.current_task()
        assert task is not None
        self._work.add(task)
        try:
            return await work
        finally:
            self._work.discard(task)

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Ask the user about a call (`kaa.shell.approvals.requests.Approver`)."""
        try:
            return await self._asked(lambda answer: self._respondent.ask_approval(request, answer))
        except asyncio.CancelledError:
            self._post(lambda: self._respondent.withdraw_approval(request))
            raise

    async def survey(self) -> tuple[ProjectConfiguration, TrustState]:
        """What the project would configure, and what the user decided about it."""
        configuration = await survey(self.workspace, self._home)
        return configuration, TrustStore(self._home).state(configuration)

    async def decide_trust(self, configuration: ProjectConfiguration, choice: TrustChoice | None) -> None:
        """Keep what the user decided about the project; it holds from the next session on."""
        store = TrustStore(self._home)
        match choice:
            case "stored":
                store.trust(configuration)
            case "no":
                store.decline(configuration)
        self._trust, self._configuration = choice or "no", configuration

    async def _decide_trust(self, workspace: LocalWorkspace) -> tuple[TrustChoice, ProjectConfiguration | None]:
        """What the flags, an earlier decision or the user says, and about what, if it was looked at."""
        if self._arguments.trust or self._arguments.no_trust:
            return ("yes" if self._arguments.trust else "no"), None
        configuration = await survey(workspace, self._home)
        state = TrustStore(self._home).state(configuration)
        if not isinstance(state, Undecided | Changed):
            return "stored", configuration
        choice: TrustChoice | None = await self._asked(
            lambda answer: self._respondent.ask_trust(configuration, state, answer)
        )
        await self.decide_trust(configuration, choice)
        return choice or "no", configuration

    async def _asked(self, ask: Callable[[Callable[[AnswerT], None]], None]) -> AnswerT:
        """Ask in the user interface's thread and wait for the answer here."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[AnswerT] = loop.create_future()

        def take(answer: AnswerT) -> None:
            if not answered.done():
                answered.set_result(answer)

        def answer(given: AnswerT) -> None:
            with suppress(RuntimeError):  # the core has ended, and needs no answer any more
                loop.call_soon_threadsafe(take, given)

        self._post(lambda: ask(answer))
        return await answered

    async def _close_conversation(self) -> None:
        conversation, self._conversation = self._conversation, None
        reporter, self._reporter = self._reporter, None
        if conversation is not None:
            conversation.abort()
            if others := self._work - {asyncio.current_task()}:
                await asyncio.wait(others)
            await conversation.close()
        if reporter is not None:
            await reporter.close()

    def _notice(self, text: str) -> None:
        self._post(lambda: self._audience.show_notice(text))
