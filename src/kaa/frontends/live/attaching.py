"""The conversation of another process in this terminal: shows what happens there, and sends there what is typed."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import msgspec

from kaa.core.events import AgentStart, Event, MessageEnd
from kaa.core.messages import UserMessage
from kaa.ext.invocation import as_message, invocation_in
from kaa.ext.questions import Answer, AnyQuestion
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.interactive.activity import Activity
from kaa.frontends.interactive.appearance import Appearance
from kaa.frontends.interactive.attachments import Attachments
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.copying import Copying
from kaa.frontends.interactive.drafts import DraftKeeper
from kaa.frontends.interactive.early_text import EarlyText, left_text
from kaa.frontends.interactive.event_presenter import EventPresenter
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.plain import PlainMainView
from kaa.frontends.interactive.questions import QuestionDialogs
from kaa.frontends.interactive.shortcuts import Shortcuts, double_clear
from kaa.frontends.interactive.transcript.transcript_view import TranscriptView
from kaa.frontends.live.client import SessionConnection, decoded
from kaa.frontends.live.errors import LiveError
from kaa.frontends.live.wire import (
    AnswerQuestion,
    AnyRequest,
    AnyTold,
    Asked,
    Done,
    Follow,
    Happened,
    Noticed,
    Past,
    Refused,
    Say,
    Stands,
    Stop,
    TakeBack,
    Withdrawn,
)
from kaa.host.prints import prints_in_log
from kaa.session.export.source import SnapshotFile
from kaa.session.transcript import Transcript
from kaa.shell.home import Home
from kaa.shell.preferences import load_preferences
from kaa.tui.reactor import Reactor
from kaa.tui.terminal import Terminal

_READ_BYTES = 256 * 1024
_LONG_SECONDS = 10.0


def attach(connection: SessionConnection, home: Home, *, plain: bool) -> int:
    """Show the conversation until the user leaves it or it ends. Returns the exit code.

    Args:
        plain: line by line, without drawing.

    Raises:
        LiveError: it cannot be followed.
        SessionError: its file cannot be read.
    """
    try:
        terminal = Terminal()
    except OSError as error:
        raise LiveError("no terminal is available: kaa agents show prints what was said") from error
    with connection, ExitStack() as stack:
        past = connection.past(Follow)
        before: Transcript | None = None
        if past.size:
            snapshot = stack.enter_context(SnapshotFile.open(Path(past.path), past.size))
            before = Transcript(snapshot)
            with suppress(OSError):
                os.chdir(snapshot.header.cwd)  # paths are shown as seen from the project
        folder, reactor = str(home.path), Reactor()
        linear = plain or load_preferences(folder).preferences.screen == "linear" or terminal.capabilities.dumb
        view = (PlainMainView if linear else _AttachedView)(folder, terminal, reactor)
        attached = Attached(view, connection, past)
        with prints_in_log():
            attached.run(before, past)
        sys.stdout.write(attached.farewell)
        sys.stdout.flush()
    return ExitCode.DONE


class _AttachedView(MainView):
    """A main view that offers what can be done from here."""

    hints = (("app.tools.expand", "show more"), ("app.interrupt", "stop"), ("app.exit", "leave"))


class Attached:
    """The main view of a conversation that another process has.

    Args:
        connection: to that process, which tells already what happens.

    Attributes:
        farewell: the last words.
    """

    def __init__(self, main_view: MainView, connection: SessionConnection, past: Past) -> None:
        self._view = main_view
        self._sock, self._unread = connection.hand_over()
        self._number = past.number
        self._short = connection.hello.session_id[-8:]
        self.farewell = f"The conversation continues. To return:  kaa agents attach {self._short}\n"
        self._waiting: dict[int, Callable[[AnyTold], None]] = {}
        self._asked: dict[int, AnyQuestion] = {}
        self._said: list[str] = []  # by this terminal, which shows what is typed
        self._clear = double_clear()
        transcript = TranscriptView(main_view.document, main_view.view)
        attention = Attention(main_view, main_view.app.terminal)
        self._activity = Activity(main_view, attention)
        self._presenter = EventPresenter(main_view, transcript, self._activity, attention)
        self._questions = QuestionDialogs(main_view, attention, is_attached=True)
        self._appearance = Appearance(main_view)
        self._drafts = DraftKeeper(main_view, Attachments(), EarlyText(main_view.folder))
        copying = Copying(main_view, transcript)
        self._shortcuts = Shortcuts(
            main_view,
            {
                "app.interrupt": self._interrupt,
                "app.clear": self._clear_editor,
                "app.exit": self.leave,
                "app.suspend": main_view.app.suspend,
                "app.message.followUp": partial(self._submit, follow_up=True),
                "app.message.dequeue": lambda: self._send(TakeBack, self._taken_back),
                "app.message.copy": copying.copy_answer,
                "app.thinking.toggle": main_view.view.toggle_thinking,
                "app.tools.expand": main_view.view.toggle_tools,
                "app.fullscreen": main_view.app.toggle_fullscreen,
            },
            command_actions=dict,
            on_focus=lambda gained: attention.focus(gained=gained),
            on_told=self._appearance.terminal_told,
            on_image=lambda _: main_view.say("images cannot be sent to another process", "warning"),
            on_viewer_key=lambda _: None,
        )
        main_view.app.on_copy = main_view.editor.commands.on_copy = copying.copy

    def run(self, before: Transcript | None, past: Past) -> None:
        """Show everything until the user leaves or the conversation ends.

        Args:
            before: what the session's file has of the past; None if it has nothing.
        """
        app, reactor = self._view.app, self._view.app.reactor
        app.on_events = self._shortcuts.take
        app.on_gone = self.leave
        self._view.editor.on_submit = lambda _: self._submit()
        self._view.editor.on_change = self._drafts.changed
        reactor.on_signal(signal.SIGINT, self.leave)
        app.start()
        try:
            reactor.on_signal(signal.SIGTSTP, app.suspend)
            for signum in (signal.SIGTERM, signal.SIGHUP):
                reactor.on_signal(signum, self.leave)
            self._appearance.begin()
            if before is not None:
                self._presenter.show_session(before, Path(past.path))
            self._show_past(past)
            if (left := left_text(self._view.folder)) is not None:
                self._view.give_back([left.text], "\n\n")
                self._drafts.keep()
                left.let_go()
            reactor.watch(self._sock.fileno(), self._read)
            reactor.post(self._take_lines)
            reactor.run()
        finally:
            self._drafts.keep()
            app.stop()
        if not self._view.editor.is_empty:
            self.farewell += "What you typed comes back when you attach again, or with the next kaa in the project.\n"

    def leave(self) -> None:
        """Leave the conversation, which goes on."""
        self._view.app.reactor.stop()

    def _show_past(self, past: Past) -> None:
        key = self._view.key_of("app.exit")
        how = f"{key} leaves it" if key else "/exit leaves it"
        self._presenter.show_notice(f"Attached to {self._short}. It continues when you leave: {how}.")
        self._presenter.show_events([*([AgentStart()] if past.running else []), *past.events])

    # What comes from the process.

    def _read(self) -> None:
        try:
            data = self._sock.recv(_READ_BYTES)
        except (BlockingIOError, TimeoutError):
            return
        except OSError:
            data = b""
        self._unread += data
        self._take_lines()
        if not data:
            self.farewell = f"The conversation ended there. To resume:  kaa --session {self._short}\n"
            self.leave()

    def _take_lines(self) -> None:
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            try:
                self._take(decoded(line))
            except LiveError as error:
                self._view.say(str(error), "warning", _LONG_SECONDS)
        self._view.app.refresh()

    def _take(self, told: AnyTold) -> None:
        match told:
            case Happened(events=events):
                for event in events:
                    self._show_words(event)
                self._presenter.show_events(events)
            case Stands(status=status):
                self._presenter.show_status(status)
            case Noticed(text=text):
                self._presenter.show_notice(text)
            case Asked(id=number, question=question):
                self._asked[number] = question
                self._questions.ask(question, partial(self._answer, number))
            case Withdrawn(id=number) if number in self._asked:
                self._questions.withdraw(self._asked.pop(number))
            case Done(number=number) | Refused(number=int(number)) if number in self._waiting:
                self._waiting.pop(number)(told)
            case Refused(error=error):
                self._view.say(error, "warning", _LONG_SECONDS)
            case _:
                pass

    def _show_words(self, event: Event) -> None:
        """Show what the person said elsewhere, where the terminal shows only what is typed in it."""
        match event:
            case MessageEnd(message=UserMessage(origin="person") as message) if self._view.shows_typing:
                if (said := message.said.text) in self._said:
                    self._said.remove(said)
                else:
                    self._presenter.show_notice(f"> {said}")
            case _:
                pass

    # What goes there.

    def _submit(self, *, follow_up: bool = False) -> None:
        text = self._view.editor.text
        if not text.strip():
            return
        called = invocation_in(text)
        if called is not None and called.name in ("exit", "quit", "detach"):
            self._view.editor.take()
            self.leave()
        elif text.startswith("!"):
            self._view.say("commands of your own run in the terminal of that kaa, or in a shell", "warning")
        else:
            self._view.editor.take()  # before: the draft has what is held and what is in the editor
            release = self._drafts.hold(text)
            self._said.append(text)

            def received(told: AnyTold) -> None:
                if isinstance(told, Refused):
                    self._view.give_back([text], "\n\n")
                release()
                (self._replied if called else self._received)(told)

            self._send(lambda number: Say(number, text, follow_up), received)

    def _received(self, told: AnyTold) -> None:
        """The model gets a message, which an event tells, too."""
        if isinstance(told, Done):
            self._view.say(told.text)
        else:
            self._replied(told)

    def _replied(self, told: AnyTold) -> None:
        match told:
            case Done(text=text) if text:
                self._presenter.show_notice(text)
            case Refused(error=error):
                self._presenter.show_notice(error, "warning")
            case _:
                pass

    def _taken_back(self, told: AnyTold) -> None:
        if isinstance(told, Done) and told.text:
            self._view.give_back([as_message(told.text)], "\n\n")

    def _answer(self, number: int, answer: Answer) -> None:
        self._asked.pop(number, None)
        self._send(lambda request: AnswerQuestion(request, number, answer), self._replied)

    def _interrupt(self) -> None:
        if self._activity.is_busy:
            self._send(Stop, lambda _: None)

    def _clear_editor(self) -> None:
        if not self._view.editor.is_empty:
            self._view.editor.set_text("")
        elif self._activity.is_busy:
            self._interrupt()
        elif self._clear.now():
            self.leave()
        else:
            self._view.say(f"press {self._view.key_of('app.clear')} again to leave; the conversation continues")

    def _send(self, request: Callable[[int], AnyRequest], done: Callable[[AnyTold], None]) -> None:
        self._number += 1
        self._waiting[self._number] = done
        try:
            self._sock.sendall(msgspec.json.encode(request(self._number)) + b"\n")
        except OSError as error:  # a timeout, too
            self._view.say(f"the process does not take what is sent to it: {error}", "error", _LONG_SECONDS)
