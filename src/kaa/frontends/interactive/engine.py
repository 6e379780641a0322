"""The core of the interactive terminal, in its own thread: opens the conversation, and passes on what happens in it.

Everything here runs on the core's event loop. The user interface is reached through `Audience` and `Respondent`, whose
methods are called in its own thread.
"""

import argparse
import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from kaa.ext.api import TrustChoice
from kaa.ext.occasions import EndReason
from kaa.frontends.command_line import UsageError, conversation_options
from kaa.frontends.interactive.audience import Audience, Respondent
from kaa.frontends.interactive.core_thread import Post
from kaa.frontends.interactive.reporter import Reporter
from kaa.frontends.interactive.talk import Talk
from kaa.frontends.interactive.transcript.preload import preload
from kaa.shell.attachments import compose
from kaa.shell.conversation import Conversation
from kaa.shell.home import Home, session_folder
from kaa.shell.opening import open_conversation
from kaa.shell.options import NewSession, SessionChoice, switch_kind, switch_target
from kaa.shell.safety import Unopened
from kaa.shell.settings import load_settings
from kaa.shell.trust.decisions import TrustDecisions
from kaa.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from kaa.ext.questions import Answer, AnyQuestion, Dismissed, Question
    from kaa.shell.sessions import Sessions

AnswerT = TypeVar("AnswerT")


class OpeningError(UsageError):
    """The project cannot be opened; the message says why."""


class Engine:
    """The conversation on the screen, and the workspace it is about.

    Args:
        arguments: as `kaa.cli` parses them.
        opened: the project, or why it could not be opened.
        reopen: tries it again.
        post: runs a function in the user interface's thread.

    Attributes:
        talk: what is said in the conversation.
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
        self._trust = TrustDecisions(_trust(arguments), self._home, self)
        self.talk = Talk(lambda: self.conversation, self.refresh_status)
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
        """Open the conversation that the command line asks for, or another session; the one before is closed then.

        Raises:
            OpeningError: the project cannot be opened, or sessions are not kept.
            NavigationBlockedError: an extension objects to leaving the conversation before; it goes on.
            Exception: as `open_conversation` says. The conversation before goes on.
        """
        if self._arguments.no_session and not isinstance(session, NewSession | None):
            raise OpeningError("kaa was started with --no-session: start it without to go on with a session")
        switch = None
        if session is not None and self._conversation is not None:
            switch = switch_kind(session)
            await self._conversation.allow_switch(switch, switch_target(session))
        workspace = self.workspace
        trust = await self._trust.decided(workspace)
        options = conversation_options(self._arguments, trust, session)
        conversation = await open_conversation(
            options,
            workspace=workspace,
            home=self._home,
            environ=os.environ,
            notify=self._notice,
            asker=self,
            trust=self._trust,
        )
        # What is under way in the one before ends only now: another session may not open.
        await self._close_conversation(switch or "quit")
        self._conversation = conversation
        self._reporter = Reporter(self._conversation, self._audience, self._post)
        await conversation.begin(switch or "startup")
        return self._conversation

    @property
    def session_path(self) -> Path | None:
        """The file of the session that is open; None if it has none, or none is open."""
        if self._conversation is None or self._conversation.session_path is None:
            return None
        return Path(self._conversation.session_path)

    def sessions(self) -> "Sessions":
        """All sessions there are, whether one is open or not.

        Raises:
            OpeningError: the project cannot be opened.
            SettingsError: the user's settings have a mistake.
        """
        from kaa.shell.sessions import Sessions  # lazy: only who looks for a session needs it

        configured = load_settings(self._home.settings, "", None, self._notice).session_dir
        return Sessions(self._home, self.workspace.root, session_folder(self._arguments.session_dir, configured))

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
            await self._close_conversation("quit")
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
            await self.talk.say(message)

    @property
    def can_ask(self) -> bool:
        """See `kaa.ext.asking.Asker`."""
        return True

    async def ask(self, question: "Question[AnswerT]") -> "AnswerT | Dismissed":
        """Ask the user (`kaa.ext.asking.Asker`)."""
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

    async def _close_conversation(self, reason: EndReason) -> None:
        conversation, self._conversation = self._conversation, None
        reporter, self._reporter = self._reporter, None
        if conversation is not None:
            await self.talk.end(conversation)
            await conversation.close(reason)
        if reporter is not None:
            await reporter.close()

    def _notice(self, text: str) -> None:
        self._post(lambda: self._audience.show_notice(text))


def _trust(arguments: argparse.Namespace) -> TrustChoice | None:
    """What the command line says."""
    if arguments.trust:
        return "yes"
    return "no" if arguments.no_trust else None
