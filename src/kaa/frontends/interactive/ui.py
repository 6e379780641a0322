"""The interactive terminal behind its first frame: puts together who shows, who asks and who does.

Whatever is shown comes from the core as events, and whatever is wanted goes to it as calls (`core_thread.py`).
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from kaa.ext.invocation import as_message
from kaa.frontends.interactive.actions import Actions
from kaa.frontends.interactive.activity import Activity
from kaa.frontends.interactive.appearance import Appearance
from kaa.frontends.interactive.attachments import Attachments
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.command_keys import CommandKeys
from kaa.frontends.interactive.commands import Commands, Found
from kaa.frontends.interactive.conversation_tasks import ConversationTasks
from kaa.frontends.interactive.conversations import Conversations
from kaa.frontends.interactive.copying import Copying
from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.drafts import DraftKeeper
from kaa.frontends.interactive.early_text import EarlyText
from kaa.frontends.interactive.editor_modes import EditorModes
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.event_presenter import EventPresenter
from kaa.frontends.interactive.image_input import ImageInput
from kaa.frontends.interactive.leaving import Leaving
from kaa.frontends.interactive.login.logging_in import LoggingIn
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.navigation.navigator import Navigator
from kaa.frontends.interactive.navigation.result import NavigationResult
from kaa.frontends.interactive.navigation.steps import NavigationSteps
from kaa.frontends.interactive.project_paths import ProjectPaths
from kaa.frontends.interactive.prompt_history import PromptHistory
from kaa.frontends.interactive.questions import QuestionDialogs
from kaa.frontends.interactive.rewind_draft import RewindDraft
from kaa.frontends.interactive.selectors.models import ModelSelectors
from kaa.frontends.interactive.selectors.sessions import SessionSelectors
from kaa.frontends.interactive.selectors.settings import SettingsSelectors
from kaa.frontends.interactive.shortcuts import Shortcuts
from kaa.frontends.interactive.submission import Submission
from kaa.frontends.interactive.transcript.transcript_view import TranscriptView
from kaa.frontends.interactive.transcript_viewer import TranscriptViewer
from kaa.frontends.interactive.ui_context import UIContext
from kaa.shell.conversation import SessionToOpen
from kaa.tui.completion_sources import CommandCompletion, FileCompletion, NameCompletion, PathCompletion

if TYPE_CHECKING:
    from kaa.ext.commands import Suggestion
    from kaa.ext.display import DisplayUpdate
    from kaa.frontends.interactive.extension_display import ExtensionDisplay
    from kaa.frontends.interactive.reporter import Additions

_SKILL = "skill:"  # how the commands of skills begin


class InteractiveUI:
    """All parts of the user interface, and what ties them together.

    Args:
        core: does everything else.
        leave: ends the program, with an exit code and last words.
        early: keeps what is entered for a session that is not open yet; None if nothing is kept.

    Attributes:
        presenter: is told what happens (`Engine.serve`).
        context: what parts share that work with the core and show something.
    """

    def __init__(
        self,
        main_view: MainView,
        core: CoreThread[Engine],
        leave: Callable[[int, str], None],
        early: EarlyText | None = None,
    ) -> None:
        self._main_view = main_view
        self._core = core
        transcript = TranscriptView(main_view.document, main_view.view)
        self.attachments = Attachments()
        self._rewind_draft = RewindDraft(main_view.editor)
        self._attention = Attention(main_view, main_view.app.terminal)
        self._appearance = Appearance(main_view)
        self._paths = ProjectPaths(core, self._paths_changed)
        self.activity = Activity(main_view, self._attention)
        self.presenter = EventPresenter(main_view, transcript, self.activity, self._attention)
        self._completes_mentions = False
        self._display: ExtensionDisplay | None = None
        self.presenter.on_display = self._show_display
        self.questions = QuestionDialogs(main_view, self._attention)
        ui = self.context = UIContext(main_view, core, self.presenter.show_failure)
        self._drafts = DraftKeeper(main_view, self.attachments, early)
        self.tasks = ConversationTasks(ui, self.attachments, self._drafts)
        self.commands, history = Commands(self._complete_command), PromptHistory(main_view.folder)
        self.presenter.on_additions = self._take_additions
        self.submission = Submission(
            ui,
            self.commands,
            self.attachments,
            history,
            self._drafts.hold,
            self.presenter.show_notice,
            self.tasks.failed,
            self._go_to,
        )
        self._modes = EditorModes(
            main_view, self.commands.offered, self.submission.command_line, self.presenter.show_mode
        )
        self.conversations = Conversations(
            ui, self.presenter, self.submission, self._drafts, self._paths.list_anew, self.tasks.give_back_left
        )
        self.images = ImageInput(ui, self.attachments)
        self.copying = Copying(main_view, transcript)
        self.logging_in = LoggingIn(ui, self.presenter, self.copying.copy, self.conversations.open)
        self.model_selectors = ModelSelectors(ui)
        self.navigator = Navigator(ui, NavigationSteps(ui, self.tasks, self.activity, self._arrived))
        self.session_selectors = SessionSelectors(ui, self.conversations, self.navigator, self.attachments)
        self.settings_selectors = SettingsSelectors(ui, self._appearance, self.preferences_changed, self.submission.run)
        self.viewer = TranscriptViewer(ui)
        self.command_keys = CommandKeys(
            main_view, self.submission.run, lambda problem: self.presenter.show_notice(problem, "warning")
        )
        self.leaving = Leaving(ui, self.activity, self.presenter, leave)
        actions = Actions(self, main_view, core)
        self.commands.add(actions.commands(), actions.views())
        self._shortcuts = Shortcuts(
            main_view,
            actions.keys(),
            command_actions=lambda: self.command_keys.runners,
            on_focus=lambda gained: self._attention.focus(gained=gained),
            on_told=self._appearance.terminal_told,
            on_image=self.images.drop,
            on_viewer_key=self.viewer.key,
        )

    def take_over(self, submitted: Sequence[str], *, choose: bool = False) -> None:
        """Take what is typed from now on, and open the conversation.

        Args:
            choose: let the user choose the session first.
        """
        main_view = self._main_view
        main_view.app.on_events = self._shortcuts.take
        main_view.editor.on_submit = lambda _: self.conversations.submit()
        main_view.editor.on_change = self._edited
        main_view.editor.commands.on_copy = main_view.app.on_copy = self.copying.copy
        main_view.editor.completer.session.sources += [
            CommandCompletion(self.commands.offered),
            FileCompletion(self._paths.index, self._paths.ask, self._complete_mention),
            NameCompletion(self._skills),
            PathCompletion(self._paths.ask),
        ]
        self.preferences_changed()
        self._appearance.begin()
        self._attention.rest()
        for problem in main_view.problems:
            self.presenter.show_notice(problem, "warning")
        if choose:
            self.conversations.keep(submitted)
            self.session_selectors.resume(on_cancel=self.conversations.open)
        else:
            self.conversations.open(submitted)

    def preferences_changed(self) -> None:
        """Follow the user's choices about what is shown."""
        self._main_view.apply_preferences()
        self._modes.choose(self._main_view.preferences.editor_mode)
        if self._main_view.preferences.theme != self._appearance.setting:
            self._appearance.choose(self._main_view.preferences.theme)
        self._main_view.app.refresh()

    def _arrived(self, there: NavigationResult) -> None:
        """The conversation continues from elsewhere; what was said there can be changed now."""
        message = there.message
        self._rewind_draft.put(None if message is None else self.attachments.take_back(message))
        self._drafts.keep()
        self.presenter.show_arrival(there)

    def _go_to(self, session: SessionToOpen) -> None:
        """A slash command led to another session."""

        def opened() -> None:
            if session.draft:
                self._main_view.give_back([as_message(session.draft)], "\n\n")

        self.conversations.open_other(session.choice, session.text, opened, self.presenter.show_failure)

    def _take_additions(self, additions: "Additions") -> None:
        """Extensions came or went, or another conversation is open."""
        self.commands.of_conversation = tuple(additions.commands)
        self.command_keys.follow(additions.commands)
        self._completes_mentions = additions.completes_mentions
        for problem in self._appearance.take_folders(additions.theme_folders):
            self.presenter.show_notice(problem, "warning")

    def _show_display(self, update: "DisplayUpdate") -> None:
        if self._display is None:
            # Lazily: few extensions show something.
            from kaa.frontends.interactive.extension_display import ExtensionDisplay

            self._display = ExtensionDisplay(self._main_view, self._attention, self.presenter.show_notice)
        self._display.show(update)

    def _skills(self) -> list[tuple[str, str]]:
        """What can stand behind a `$`."""
        offered = self.commands.offered()
        return [(one.name[len(_SKILL) :], one.description) for one in offered if one.name.startswith(_SKILL)]

    def _complete_command(self, name: str, typed: str, found: Found) -> None:
        """Have the core say what can stand behind the name of a command."""
        self._suggest(lambda engine: engine.conversation.complete_command(name, typed), found)

    def _complete_mention(self, typed: str, found: Found) -> None:
        """Have the core say what of extensions can stand behind an `@`."""
        if self._completes_mentions:
            self._suggest(lambda engine: engine.conversation.complete_mention(typed), found)

    def _suggest(self, ask: Callable[[Engine], Awaitable["Sequence[Suggestion]"]], found: Found) -> None:
        async def complete(engine: Engine) -> list[tuple[str, str]]:
            return [(suggestion.text, suggestion.description) for suggestion in await ask(engine)]

        def take(suggestions: list[tuple[str, str]]) -> None:
            found(suggestions)
            self._main_view.app.refresh()

        self._core.call(complete, take, lambda _: found(()))

    def _paths_changed(self) -> None:
        """What is being completed may have more to offer."""
        self._main_view.editor.completer.follow()
        self._main_view.app.refresh()

    def _edited(self) -> None:
        """The text is another one, which is kept; the editor shows whether it is for the shell."""
        self._rewind_draft.edited()
        self._drafts.changed()
        self._main_view.mark_editor()
