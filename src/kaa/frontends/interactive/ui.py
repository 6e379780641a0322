"""The interactive terminal behind its first frame: puts together who shows, who asks and who does.

Whatever is shown comes from the core as events, and whatever is wanted goes to it as calls (`core_thread.py`).
"""

from collections.abc import Callable, Sequence

from kaa.core.events import Event, MessageEnd
from kaa.core.messages import UserMessage
from kaa.frontends import getting_started
from kaa.frontends.failures import told
from kaa.frontends.interactive.actions import Actions
from kaa.frontends.interactive.activity import Activity
from kaa.frontends.interactive.attachments import Attachments
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.commands import Commands
from kaa.frontends.interactive.copying import Copying
from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.desk import Desk
from kaa.frontends.interactive.editor_modes import EditorModes
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.image_input import ImageInput
from kaa.frontends.interactive.look import Look
from kaa.frontends.interactive.opened import Opened, describe_opened
from kaa.frontends.interactive.project_paths import ProjectPaths
from kaa.frontends.interactive.prompt_history import PromptHistory
from kaa.frontends.interactive.questions import Questions
from kaa.frontends.interactive.selectors.conversation import ConversationSelectors
from kaa.frontends.interactive.selectors.lists import Lists
from kaa.frontends.interactive.selectors.models import ModelSelectors
from kaa.frontends.interactive.selectors.settings import SettingsSelectors
from kaa.frontends.interactive.shortcuts import Shortcuts
from kaa.frontends.interactive.status_view import footer_state
from kaa.frontends.interactive.submission import Submission
from kaa.frontends.interactive.transcript.notices import NoticeKind
from kaa.frontends.interactive.transcript.transcript import Transcript
from kaa.frontends.interactive.transcript_viewer import TranscriptViewer
from kaa.llm.registry import NoModelError
from kaa.shell.approvals.requests import Answer, ApprovalRequest
from kaa.shell.options import NewSession, TrustChoice
from kaa.shell.status import Status
from kaa.shell.trust.configuration import ProjectConfiguration
from kaa.shell.trust.store import TrustState
from kaa.tui.completion_sources import Command, CommandCompletion, FileCompletion, PathCompletion
from kaa.workspace.git import Head


class InteractiveUI:
    """Shows a conversation (`kaa.frontends.interactive.engine.UserInterface`) and hands over what is typed.

    Args:
        desk: what is on the screen.
        core: does everything else.
        leave: ends the program, with an exit code and last words.
    """

    def __init__(self, desk: Desk, core: CoreThread[Engine], leave: Callable[[int, str], None]) -> None:
        self._desk = desk
        self._core = core
        self._leave = leave
        self._status: Status | None = None
        self._head: Head | None = None
        self._waiting: list[str] = []  # entered before there was a conversation
        self._is_open = self._is_opening = False
        self._has_content = False  # something was said in the session
        self._commands_of_core: tuple[Command, ...] = ()
        self.transcript = Transcript(desk.document, desk.view)
        self.attention = Attention(desk, desk.app.terminal)
        self.questions = Questions(desk, self.attention)
        self.activity = Activity(desk, self.attention)
        self.look = Look(desk)
        self.modes = EditorModes(desk, self.run_command_line, self.refresh_footer)
        self.commands = Commands()
        attachments = Attachments()
        self.images = ImageInput(desk, core, attachments)
        self.copying = Copying(desk, self.transcript)
        self.paths = ProjectPaths(core, self._paths_changed)
        lists = Lists(desk)
        self.model_selectors = ModelSelectors(desk, core, lists, self.show_failure)
        self.conversation_selectors = ConversationSelectors(desk, core, lists, self.show_failure, self.show_rewound)
        self.settings_selectors = SettingsSelectors(
            desk, core, lists, self.look, self.show_failure, self.preferences_changed
        )
        self.submission = Submission(
            desk,
            core,
            self.commands,
            attachments,
            PromptHistory(desk.folder),
            self.show_reply,
            self.show_failure,
        )
        self.viewer = TranscriptViewer(desk, core, self.show_failure)
        self.actions = Actions(self, desk, core)
        self.commands.add(self.actions.commands())
        self.shortcuts = Shortcuts(
            desk,
            self.actions.keys(),
            on_focus=lambda gained: self.attention.focus(gained=gained),
            on_told=self.look.terminal_told,
            on_image=self.images.drop,
            on_viewer_key=self.viewer.key,
        )

    # Taking over from the first frame.

    def take_over(self, submitted: Sequence[str]) -> None:
        """Take what is typed from now on, and open the conversation.

        Args:
            submitted: what was entered so far.
        """
        self._waiting = list(submitted)
        desk = self._desk
        desk.app.on_events = self.shortcuts.take
        desk.editor.on_submit = lambda _: self.submit()
        desk.editor.on_change = self._mark_editor
        desk.editor.commands.on_copy = desk.app.on_copy = self.copying.copy
        desk.editor.completer.session.sources += [
            CommandCompletion(self.completable_commands),
            FileCompletion(self.paths.index),
            PathCompletion(self.paths.ask),
        ]
        self.preferences_changed()
        self.look.begin()
        self.attention.rest()
        for problem in desk.problems:
            self.show_notice(problem, "warning")
        self.open()

    def open(self) -> None:
        """Open the conversation of the command line; or try again: what was missing may be there now."""
        if self._is_opening:
            return
        self._is_opening = True
        self._core.call(lambda engine: describe_opened(engine, None, self._desk.folder), self._opened, self._not_opened)

    def open_new(self, *, clear: bool) -> None:
        """Begin a new session.

        Args:
            clear: erase what was shown.
        """

        def opened(now: Opened) -> None:
            if clear:
                self.transcript.clear()
                self._desk.app.repaint(clear_scrollback=True)
            self._opened(now)
            self.show_notice("A new session has begun. The one before is kept.")

        self._is_open, self._is_opening = False, True
        self._core.call(
            lambda engine: describe_opened(engine, NewSession(), self._desk.folder), opened, self._not_opened
        )

    def submit(self, *, follow_up: bool = False) -> None:
        """Do what stands in the editor, or keep it until there is a conversation."""
        if self._is_open:
            self.submission.submit(follow_up=follow_up)
        elif not self._desk.editor.is_empty:
            self._waiting.append(self._desk.editor.take())
            self._desk.say("starting…")
            self.open()

    def _opened(self, opened: Opened) -> None:
        self._is_open, self._is_opening = True, False
        self._has_content = len(opened.entries) > 0
        self._desk.status.show("")  # it has started
        self._commands_of_core = opened.commands
        self.submission.core_commands = frozenset(command.name for command in opened.commands)
        self._desk.editor.history.prepend(opened.history)
        self.transcript.load(opened.entries)
        self.paths.forget()
        self.paths.index()  # begins to list them
        self._core.call(lambda engine: engine.submit_first(), None, self.show_failure)
        self._core.call(lambda engine: engine.prepare())
        waiting, self._waiting = self._waiting, []
        for text in waiting:
            self.submission.enter(text)
        self._desk.app.refresh()

    def _not_opened(self, error: BaseException) -> None:
        """The desk stays usable, and what was entered stays too: it is tried again with the next message."""
        self._is_opening = False
        if isinstance(error, NoModelError):
            self.show_notice(getting_started.screen(error), "warning")
        else:
            self.show_failure(error)
        if self._waiting:
            self._desk.editor.set_text("\n".join(self._waiting))
            self._waiting = []
        self._desk.app.refresh()

    # What the core tells and asks.

    def show_events(self, events: Sequence[Event]) -> None:
        """These things happened."""
        for event in events:
            if isinstance(event, MessageEnd):
                self._has_content = True
            self.transcript.show(event)
        self.activity.observe(events)
        self._desk.app.refresh()

    def show_notice(self, text: str, kind: NoticeKind = "info") -> None:
        """Something worth knowing."""
        self.transcript.notice(text, kind)
        self._desk.app.refresh()

    def show_status(self, status: Status) -> None:
        """The conversation stands like this now."""
        self._status = status
        self._desk.header.show_model(status.model.name)
        self.refresh_footer()

    def show_head(self, head: Head | None) -> None:
        """This is checked out."""
        self._head = head
        self.refresh_footer()

    def ask_approval(self, request: ApprovalRequest, answer: Callable[[Answer], None]) -> None:
        """Ask the user about a call."""
        self.questions.ask_approval(request, answer)

    def withdraw_approval(self, request: ApprovalRequest) -> None:
        """The question has no meaning any more."""
        self.questions.withdraw_approval(request)

    def ask_trust(
        self, configuration: ProjectConfiguration, state: TrustState, answer: Callable[[TrustChoice | None], None]
    ) -> None:
        """Ask whether the project may configure anything."""
        self.questions.ask_trust(configuration, state, answer)

    # What others here show.

    def show_reply(self, text: str) -> None:
        """What a slash command answered."""
        self.show_notice(text)

    def show_failure(self, error: BaseException) -> None:
        """Something went wrong."""
        self.show_notice(told(error), "error")

    def show_document(self, markdown: str) -> None:
        """Something to read, such as the help."""
        from kaa.tui.components.markdown import MarkdownStream  # lazy: it parses Markdown with a library

        document = MarkdownStream(self._desk.context)
        document.append(markdown)
        document.finish()
        self.transcript.add(document)
        self._desk.app.refresh()

    def run_command_line(self, text: str) -> None:
        """Run a slash command that was typed without its slash."""
        self.submission.command_line(text)

    def show_rewound(self, message: UserMessage) -> None:
        """The conversation goes on from before this message, which can be changed now."""
        self._desk.editor.set_text(message.text)
        self.show_notice("The conversation goes on from before that message.")

    def refresh_footer(self) -> None:
        """Show where the conversation stands."""
        if self._status is not None:
            self._desk.footer.state = footer_state(self._status, self._head, self.modes.name)
            self._desk.app.refresh()

    def preferences_changed(self) -> None:
        """Follow the user's choices about what is shown."""
        self._desk.apply_preferences()
        self.modes.choose(self._desk.preferences.editor_mode)
        if self._desk.preferences.theme != self.look.setting:
            self.look.choose(self._desk.preferences.theme)
        self._desk.app.refresh()

    def completable_commands(self) -> Sequence[Command]:
        """All slash commands, for completion and help."""
        own = [Command(command.name, command.description, command.complete) for command in self.commands.all()]
        return sorted([*own, *(command for command in self._commands_of_core if not self.commands.has(command.name))])

    def say_goodbye(self, exit_code: int = 0) -> None:
        """End the program; say how to go on with the session, if there is anything in it."""
        kept = self._status is not None and self._status.session_path is not None
        self._leave(exit_code, "kaa -c goes on with this session\n" if kept and self._has_content else "")

    def _paths_changed(self) -> None:
        """What is being completed may have more to offer."""
        self._desk.editor.completer.follow()
        self._desk.app.refresh()

    def _mark_editor(self) -> None:
        """The editor shows that its text is for the shell."""
        self._desk.editor.border_token = "bashMode" if self._desk.editor.buffer.text.startswith("!") else "border"
