"""The core of the interactive terminal, in its own thread: opens the conversation, and passes on what happens in it.

Everything here runs on the core's event loop. The user interface is reached through `UserInterface`, whose methods are
called in its own thread.
"""

import argparse
import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from kaa.core.events import Event, MessageUpdate, ToolExecutionUpdate
from kaa.core.messages import UserMessage
from kaa.frontends.command_line import conversation_options
from kaa.frontends.interactive.core_thread import Post
from kaa.shell.approvals.requests import Answer, ApprovalRequest
from kaa.shell.attachments import compose
from kaa.shell.conversation import Conversation, Outcome
from kaa.shell.home import Home
from kaa.shell.opening import open_conversation
from kaa.shell.options import NewSession, SessionChoice, TrustChoice
from kaa.shell.safety import Unopened, open_workspace
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.store import Changed, TrustState, TrustStore, Undecided
from kaa.workspace.launch import launch
from kaa.workspace.local import LocalWorkspace

AnswerT = TypeVar("AnswerT")

# Deltas are passed on this often: the user interface need not wake for every token.
_DELTA_SECONDS = 1 / 60


class OpeningError(Exception):
    """The project cannot be opened; the message says why."""


class UserInterface(Protocol):
    """What the core tells and asks the user interface; every method runs in the user interface's thread."""

    def show_events(self, events: Sequence[Event]) -> None:
        """These things happened."""
        ...

    def show_notice(self, text: str) -> None:
        """Something worth knowing that does not stop us."""
        ...

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
        ui: who is told and asked.
        post: runs a function in the user interface's thread.
    """

    def __init__(self, arguments: argparse.Namespace, ui: UserInterface, post: Post) -> None:
        self._arguments = arguments
        self._ui = ui
        self._post = post
        self._home = Home.of(os.environ)
        self._workspace: LocalWorkspace | None = None
        self._conversation: Conversation | None = None
        self._trust: TrustChoice | None = None
        self._work: set[asyncio.Task[object]] = set()  # what goes on in the conversation
        self._events: list[Event] = []
        self._delivery: asyncio.TimerHandle | None = None

    @property
    def conversation(self) -> Conversation:
        """The conversation.

        Raises:
            OpeningError: there is none yet.
        """
        if self._conversation is None:
            raise OpeningError("there is no conversation yet")
        return self._conversation

    @property
    def home(self) -> Home:
        """The user's folder."""
        return self._home

    async def open(self, session: SessionChoice | None = None) -> Conversation:
        """Open the conversation that the command line asks for, or another session; the one before is closed.

        Raises:
            OpeningError: the project cannot be opened.
            Exception: as `open_conversation` says.
        """
        workspace = self._open_workspace()
        if self._trust is None:
            self._trust = await self._decide_trust(workspace)
        options = conversation_options(self._arguments, self._trust, session)
        await self._close_conversation()
        self._conversation = await open_conversation(
            options,
            workspace=workspace,
            home=self._home,
            environ=os.environ,
            notify=self._notice,
            approver=self,
        )
        self._conversation.subscribe(self._note)
        return self._conversation

    async def new_session(self) -> Conversation:
        """Begin another session in the same project."""
        return await self.open(NewSession())

    async def close(self) -> None:
        """Stop what is under way and let go of everything."""
        try:
            await self._close_conversation()
        finally:
            if self._workspace is not None:
                await self._workspace.close()

    async def submit_first(self) -> None:
        """Work on the messages of the command line, one after another."""
        words = self._arguments.messages
        if not words:
            return
        first, rest = await compose(words, "", self._open_workspace())
        for message in (first, *rest):
            await self.submit(message)

    async def submit(self, message: UserMessage | str) -> Outcome:
        """Have the conversation do what the user asks, to the end."""
        task = asyncio.current_task()
        assert task is not None
        self._work.add(task)
        try:
            return await self.conversation.submit(message)
        finally:
            self._work.discard(task)

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Ask the user about a call (`kaa.shell.approvals.requests.Approver`)."""
        try:
            return await self._asked(lambda answer: self._ui.ask_approval(request, answer))
        except asyncio.CancelledError:
            self._post(lambda: self._ui.withdraw_approval(request))
            raise

    async def survey(self) -> tuple[ProjectConfiguration, TrustState]:
        """What the project would configure, and what the user decided about it."""
        configuration = await survey(self._open_workspace(), self._home)
        return configuration, TrustStore(self._home).state(configuration)

    async def decide_trust(self, configuration: ProjectConfiguration, choice: TrustChoice | None) -> None:
        """Keep what the user decided about the project; it holds from the next session on."""
        store = TrustStore(self._home)
        match choice:
            case "stored":
                store.trust(configuration)
            case "no":
                store.decline(configuration)
        self._trust = choice or "no"

    def _open_workspace(self) -> LocalWorkspace:
        if self._workspace is None:
            chosen = self._arguments
            opened = open_workspace(launch(), chosen.sandbox, chosen.net, chosen.add_dir, allow_git=chosen.allow_git)
            if isinstance(opened, Unopened):
                raise OpeningError(opened.reason)
            self._workspace = opened
        return self._workspace

    async def _decide_trust(self, workspace: LocalWorkspace) -> TrustChoice:
        """What the flags, an earlier decision or the user says."""
        if self._arguments.trust or self._arguments.no_trust:
            return "yes" if self._arguments.trust else "no"
        configuration = await survey(workspace, self._home)
        state = TrustStore(self._home).state(configuration)
        if not isinstance(state, Undecided | Changed):
            return "stored"
        choice: TrustChoice | None = await self._asked(lambda answer: self._ui.ask_trust(configuration, state, answer))
        await self.decide_trust(configuration, choice)
        assert self._trust is not None
        return self._trust

    async def _asked(self, ask: Callable[[Callable[[AnswerT], None]], None]) -> AnswerT:
        """Ask in the user interface's thread and wait for the answer here."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[AnswerT] = loop.create_future()

        def take(answer: AnswerT) -> None:
            if not answered.done():
                answered.set_result(answer)

        def answer(given: AnswerT) -> None:
            loop.call_soon_threadsafe(take, given)

        self._post(lambda: ask(answer))
        return await answered

    async def _close_conversation(self) -> None:
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            conversation.abort()
            if others := self._work - {asyncio.current_task()}:
                await asyncio.wait(others)
            await conversation.close()
        self._deliver()

    def _notice(self, text: str) -> None:
        self._post(lambda: self._ui.show_notice(text))

    def _note(self, event: Event) -> None:
        """Pass an event on: what a person reads as it grows a little later, everything else at once."""
        self._events.append(event)
        if not isinstance(event, MessageUpdate | ToolExecutionUpdate):
            self._deliver()
        elif self._delivery is None:
            self._delivery = asyncio.get_running_loop().call_later(_DELTA_SECONDS, self._deliver)

    def _deliver(self) -> None:
        if self._delivery is not None:
            self._delivery.cancel()
            self._delivery = None
        if self._events:
            events, self._events = self._events, []
            self._post(lambda: self._ui.show_events(events))
