"""Opening conversations, with a core that opens them when the test says so."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from kaa.core.messages import UserMessage
from kaa.frontends.interactive.activity import Activity
from kaa.frontends.interactive.attachments import Attachments
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.commands import Commands, UiCommand
from kaa.frontends.interactive.conversations import Conversations, OpenedConversation
from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.drafts import Draft, DraftKeeper
from kaa.frontends.interactive.early_text import EarlyText
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.event_presenter import EventPresenter
from kaa.frontends.interactive.prompt_history import PromptHistory
from kaa.frontends.interactive.submission import Submission
from kaa.frontends.interactive.transcript.transcript_view import TranscriptView
from kaa.frontends.interactive.ui_context import UIContext
from kaa.session.store import MemoryStore
from kaa.session.transcript import Transcript
from kaa.shell.options import NewSession
from tests.frontends.interactive.offscreen import Seated, seated
from tests.support.agents import run


class HeldCore:
    """As `CoreThread`, but does what it is asked to when the test says so.

    Attributes:
        sessions: which one each conversation was to be opened with.
        said: what reached the model.
    """

    def __init__(self) -> None:
        self.conversation = self.work = self
        self.sessions: list[object] = []
        self.said: list[str] = []
        self._opening: list[tuple[Callable[[OpenedConversation], None], Callable[[BaseException], None]]] = []

    def call(
        self,
        work: Callable[[Any], Awaitable[Any]],
        done: Callable[[Any], None] | None = None,
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Open later, do the rest now."""
        before = len(self.sessions)

        async def worked() -> Any:
            return await work(self)

        try:
            result = run(worked())
        except _OpensLaterError:
            assert len(self.sessions) > before
            assert done is not None
            assert failed is not None
            self._opening.append((done, failed))
            return
        if done is not None:
            done(result)

    def opens(self) -> None:
        """The conversation that was asked for first is open."""
        self._opening.pop(0)[0](OpenedConversation(None, None, Draft(), Transcript(MemoryStore("/project")), []))

    def fails(self) -> None:
        """It cannot be opened."""
        self._opening.pop(0)[1](OSError("the disk is full"))

    # As `Engine`.

    async def open(self, session: object) -> None:
        self.sessions.append(session)
        raise _OpensLaterError

    async def submit_first(self) -> None:
        pass

    async def in_turn(self) -> None:
        pass

    async def prepare(self) -> None:
        pass

    async def take_unsaid(self) -> list[UserMessage]:
        return []

    async def say(self, message: Any, *, follow_up: bool, kept: Callable[[], None]) -> None:
        self.said.append(message.text)
        kept()


class _OpensLaterError(Exception):
    """Not yet."""


class World:
    """Conversations and all around them."""

    def __init__(self, seat: Seated, folder: Path) -> None:
        self.editor = seat.main_view.editor
        self.held = HeldCore()
        transcript = TranscriptView(seat.main_view.document, seat.main_view.view)
        attention = Attention(seat.main_view, seat.terminal)
        presenter = EventPresenter(seat.main_view, transcript, Activity(seat.main_view, attention), attention)
        ui = UIContext(seat.main_view, cast("CoreThread[Engine]", self.held), presenter.show_failure)
        commands, drafts = Commands(), DraftKeeper(seat.main_view, Attachments(), EarlyText(folder))
        submission = Submission(
            ui,
            commands,
            Attachments(),
            PromptHistory(folder),
            drafts.hold,
            presenter.show_notice,
            presenter.show_failure,
            lambda _: None,
        )
        self.conversations = Conversations(
            ui,
            presenter,
            submission,
            drafts,
            on_opened=lambda: None,
            give_back=lambda _: None,
        )
        commands.add([UiCommand("new", "", lambda _: self.conversations.open_new(clear=False))])

    def enter(self, text: str) -> None:
        """Type it and enter it."""
        self.editor.set_text(text)
        self.conversations.submit()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with seated(tmp_path) as seat:
        yield World(seat, tmp_path)


def test_what_was_entered_behind_a_new_session_is_said_in_that(world: World) -> None:
    world.conversations.open(["first", "/new", "second"])

    world.held.opens()
    said_before = list(world.held.said)
    world.held.opens()

    assert said_before == ["first"]
    assert world.held.said == ["first", "second"]
    assert world.held.sessions == [None, NewSession()]


def test_two_are_not_opened_at_once(world: World) -> None:
    world.conversations.open()

    world.conversations.open_new(clear=False)

    assert world.held.sessions == [None]


def test_a_new_session_that_could_not_be_opened_is_tried_again_and_not_the_one_before(world: World) -> None:
    world.conversations.open()
    world.held.opens()

    world.enter("/new")
    world.held.fails()
    world.enter("hello")
    world.held.opens()

    assert world.held.sessions == [None, NewSession(), NewSession()]
    assert world.held.said == ["hello"]


def test_what_could_not_be_said_stands_before_what_was_typed_since(world: World) -> None:
    world.conversations.open(["hello", "again"])
    world.editor.set_text("and th")

    world.held.fails()

    assert world.editor.text == "hello\nagain\nand th"


def test_enter_on_blanks_says_nothing_whatever_is_under_way(world: World) -> None:
    world.enter("  ")
    world.conversations.open(["hello"])
    world.enter("  ")
    world.held.opens()
    world.enter("\n")

    assert world.held.sessions == [None]
    assert world.held.said == ["hello"]
