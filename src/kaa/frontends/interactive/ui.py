"""The interactive terminal behind its first frame: puts together who shows, who asks and who does.

Whatever is shown comes from the core as events, and whatever is wanted goes to it as calls (`core_thread.py`).
"""

from collections.abc import Callable, Sequence

from kaa.core.messages import UserMessage
from kaa.frontends.interactive.actions import Actions
from kaa.frontends.interactive.activity import Activity
from kaa.frontends.interactive.attachments import Attachments
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.board import Board
from kaa.frontends.interactive.commands import Commands
from kaa.frontends.interactive.conversations import Conversations
from kaa.frontends.interactive.copying import Copying
from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.desk import Desk
from kaa.frontends.interactive.editor_modes import EditorModes
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.image_input import ImageInput
from kaa.frontends.interactive.look import Look
from kaa.frontends.interactive.project_paths import ProjectPaths
from kaa.frontends.interactive.prompt_history import PromptHistory
from kaa.frontends.interactive.questions import Questions
from kaa.frontends.interactive.selectors.conversation import ConversationSelectors
from kaa.frontends.interactive.selectors.lists import Lists
from kaa.frontends.interactive.selectors.models import ModelSelectors
from kaa.frontends.interactive.selectors.settings import SettingsSelectors
from kaa.frontends.interactive.shortcuts import Shortcuts
from kaa.frontends.interactive.submission import Submission
from kaa.frontends.interactive.transcript.transcript import Transcript
from kaa.frontends.interactive.transcript_viewer import TranscriptViewer
from kaa.tui.completion_sources import CommandCompletion, FileCompletion, PathCompletion


class InteractiveUI:
    """All parts of the user interface, and what ties them together.

    Args:
        desk: what is on the screen.
        core: does everything else.
        leave: ends the program, with an exit code and last words.

    Attributes:
        board: is told what happens (`Engine.serve`).
        questions: is asked.
    """

    def __init__(self, desk: Desk, core: CoreThread[Engine], leave: Callable[[int, str], None]) -> None:
        self._desk = desk
        self._leave = leave
        transcript = Transcript(desk.document, desk.view)
        lists = Lists(desk)
        self.attachments = Attachments()
        self._attention = Attention(desk, desk.app.terminal)
        self._look = Look(desk)
        self._paths = ProjectPaths(core, self._paths_changed)
        self.activity = Activity(desk, self._attention)
        self.board = Board(desk, transcript, self.activity)
        self.questions = Questions(desk, self._attention)
        notice, fail = self.board.show_notice, self.board.show_failure
        self.commands, history = Commands(), PromptHistory(desk.folder)
        self._submission = Submission(desk, core, self.commands, self.attachments, history, notice, fail)
        self._modes = EditorModes(desk, self._submission.command_line, self.board.show_mode)
        self.conversations = Conversations(
            desk, core, self.board, self.commands, self._submission, self._paths.list_anew
        )
        self.images = ImageInput(desk, core, self.attachments)
        self.copying = Copying(desk, transcript)
        self.model_selectors = ModelSelectors(desk, core, lists, fail)
        self.conversation_selectors = ConversationSelectors(desk, core, lists, fail, self._rewound)
        self.settings_selectors = SettingsSelectors(desk, core, lists, self._look, fail, self.preferences_changed)
        self.viewer = TranscriptViewer(desk, core, fail)
        actions = Actions(self, desk, core)
        self.commands.add(actions.commands())
        self._shortcuts = Shortcuts(
            desk,
            actions.keys(),
            on_focus=lambda gained: self._attention.focus(gained=gained),
            on_told=self._look.terminal_told,
            on_image=self.images.drop,
            on_viewer_key=self.viewer.key,
        )

    def take_over(self, submitted: Sequence[str]) -> None:
        """Take what is typed from now on, and open the conversation.

        Args:
            submitted: what was entered so far.
        """
        desk = self._desk
        desk.app.on_events = self._shortcuts.take
        desk.editor.on_submit = lambda _: self.conversations.submit()
        desk.editor.on_change = self._mark_editor
        desk.editor.commands.on_copy = desk.app.on_copy = self.copying.copy
        desk.editor.completer.session.sources += [
            CommandCompletion(self.commands.offered),
            FileCompletion(self._paths.index),
            PathCompletion(self._paths.ask),
        ]
        self.preferences_changed()
        self._look.begin()
        self._attention.rest()
        for problem in desk.problems:
            self.board.show_notice(problem, "warning")
        self.conversations.open(submitted)

    def preferences_changed(self) -> None:
        """Follow the user's choices about what is shown."""
        self._desk.apply_preferences()
        self._modes.choose(self._desk.preferences.editor_mode)
        if self._desk.preferences.theme != self._look.setting:
            self._look.choose(self._desk.preferences.theme)
        self._desk.app.refresh()

    def say_goodbye(self, exit_code: int = 0) -> None:
        """End the program; say how to go on with the session, if there is anything in it."""
        self._leave(exit_code, "kaa -c goes on with this session\n" if self.board.is_worth_resuming else "")

    def _rewound(self, message: UserMessage) -> None:
        """The conversation goes on from before this message, which can be changed now."""
        self._desk.editor.set_text(self.attachments.take_back(message))
        self.board.show_notice("The conversation goes on from before that message.")

    def _paths_changed(self) -> None:
        """What is being completed may have more to offer."""
        self._desk.editor.completer.follow()
        self._desk.app.refresh()

    def _mark_editor(self) -> None:
        """The editor shows that its text is for the shell."""
        self._desk.editor.border_token = "bashMode" if self._desk.editor.buffer.text.startswith("!") else "border"
