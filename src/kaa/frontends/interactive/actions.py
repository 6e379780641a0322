"""What keys and slash commands of the user interface do."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import kaa
from kaa.frontends.interactive.commands import CommandView, Complete, UiCommand
from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.external_editor import edit_externally
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.shortcuts import double_clear, double_escape

if TYPE_CHECKING:
    from kaa.frontends.interactive.selectors.agents import AgentsDialog
    from kaa.frontends.interactive.ui import InteractiveUI


_Action = Callable[[], None]


class Actions:
    """All of them.

    Args:
        core: does what is not about showing.
    """

    def __init__(self, ui: "InteractiveUI", main_view: MainView, core: CoreThread[Engine]) -> None:
        self._ui = ui
        self._main_view = main_view
        self._core = core
        self._escape = double_escape()
        self._clear = double_clear()
        self._network_before = "on"
        self._agents_dialog: AgentsDialog | None = None

    def keys(self) -> Mapping[str, _Action]:
        """Actions by id (`kaa.frontends.interactive.keybindings`)."""
        return {
            "app.interrupt": self._interrupt,
            "app.clear": self._clear_editor,
            "app.exit": self._ui.leaving.leave,
            "app.suspend": self._main_view.app.suspend,
            "app.message.followUp": lambda: self._ui.conversations.submit(follow_up=True),
            "app.message.dequeue": self._dequeue,
            "app.message.copy": self._ui.copying.copy_answer,
            "app.mode.cycle": self._cycle_mode,
            "app.thinking.cycle": self._cycle_thinking,
            "app.thinking.toggle": self._toggle_thinking,
            "app.tools.expand": self._expand,
            "app.model.select": self._ui.conversations.choose_model,
            "app.model.cycleForward": lambda: self._cycle_model(1),
            "app.model.cycleBackward": lambda: self._cycle_model(-1),
            "app.network.toggle": self._toggle_network,
            "app.editor.external": lambda: edit_externally(self._main_view, os.environ),
            "app.clipboard.pasteImage": self._ui.images.paste,
            "app.rewind": self._ui.navigator.rewind,
            "app.undo": self._ui.navigator.undo,
            "app.redo": self._ui.navigator.redo,
            "app.session.new": lambda: self._ui.conversations.open_new(clear=False),
            "app.session.resume": self._ui.session_selectors.resume,
            "app.session.tree": self._ui.navigator.tree,
            "app.session.fork": self._ui.session_selectors.fork,
            "app.agents": self._agents,
            "app.help": self._help,
            "app.settings": self._ui.settings_selectors.settings,
            "app.fullscreen": self._main_view.app.toggle_fullscreen,
            "app.transcript": self._ui.viewer.toggle,
        }

    def commands(self) -> Sequence[UiCommand]:
        """Slash commands that only the terminal has."""
        begin, copy, login = self._ui.conversations.open_new, self._ui.copying.copy_answer, self._ui.logging_in
        leave, view = (lambda _: self._ui.leaving.leave()), self._main_view
        return [
            UiCommand("branch", "Show the tree of the session, like /tree", lambda _: self._ui.navigator.tree()),
            UiCommand(
                "changelog",
                "Show what is new in kaa",
                lambda _: self._ui.presenter.show_document(_changelog()),
                is_independent=True,
            ),
            UiCommand(
                "clear", "Start a new session and clear the screen", lambda _: begin(clear=True), is_independent=True
            ),
            UiCommand("copy", "Copy the last answer, or one of its code blocks by number", copy, takes_arguments=True),
            UiCommand(
                "detach",
                "Leave kaa and continue the work in the background",
                lambda _: self._ui.leaving.detach(),
            ),
            UiCommand("exit", "Leave kaa", leave, is_independent=True),
            UiCommand("fullscreen", "Switch the full screen on or off", lambda _: view.app.toggle_fullscreen()),
            UiCommand(
                "hotkeys",
                "Show keys and commands, like /help",
                self._help,
                takes_arguments=True,
                is_independent=True,
            ),
            UiCommand(
                "login",
                "Save an API key, or log in to a provider",
                login.login,
                takes_arguments=True,
                is_independent=True,
            ),
            UiCommand(
                "logout",
                "Remove the API key or login of a provider",
                login.logout,
                takes_arguments=True,
                is_independent=True,
            ),
            UiCommand("quit", "Leave kaa, like /exit", leave, is_independent=True),
            UiCommand("redraw", "Paint the screen and the history above it again", lambda _: self._redraw()),
            UiCommand(
                "theme",
                "Choose the colours",
                self._ui.settings_selectors.theme,
                self._theme_names,
                takes_arguments=True,
            ),
            UiCommand("transcript", "Read and search the whole conversation", lambda _: self._ui.viewer.toggle()),
        ]

    def views(self) -> Sequence[CommandView]:
        """Views for slash commands of the conversation."""
        navigator, sessions = self._ui.navigator, self._ui.session_selectors
        return [
            CommandView("agents", lambda _: self._agents(lambda: self._ui.submission.run("/agents"))),
            CommandView("compact", self._ui.tasks.compact, takes_arguments=True),
            CommandView("diff", self._diff),
            CommandView("fork", lambda _: sessions.fork()),
            CommandView("help", self._help, takes_arguments=True, is_independent=True),
            CommandView("new", lambda _: self._ui.conversations.open_new(clear=False), is_independent=True),
            CommandView("redo", navigator.redo, takes_arguments=True),
            CommandView("reload", lambda _: self._ui.submission.run("/reload", self._reread)),
            CommandView("resume", sessions.resume, takes_arguments=True, is_independent=True),
            CommandView("rewind", lambda _: navigator.rewind()),
            CommandView("scoped-models", lambda _: self._ui.model_selectors.scoped_models()),
            CommandView("search", sessions.search, takes_arguments=True, is_independent=True),
            CommandView("settings", self._settings, takes_arguments=True),
            CommandView("tree", lambda _: navigator.tree()),
            CommandView("undo", navigator.undo, takes_arguments=True),
        ]

    # Stopping and leaving.

    def _interrupt(self) -> None:
        """Stop what goes on; with nothing going on and nothing typed, the second time does what the user chose."""
        activity = self._ui.activity
        if activity.is_busy or activity.runs_command or self._ui.conversations.is_opening:
            self._core.call(lambda engine: engine.abort(), self._ui.tasks.give_back, self._ui.presenter.show_failure)
        elif self._main_view.editor.is_empty and self._escape.now():
            match self._main_view.preferences.double_escape_action:
                case "rewind":
                    self._ui.navigator.rewind()
                case "tree":
                    self._ui.navigator.tree()
                case "fork":
                    self._ui.session_selectors.fork()
                case "none":
                    pass

    def _clear_editor(self) -> None:
        if not self._main_view.editor.is_empty:
            self._main_view.editor.set_text("")
        elif self._ui.activity.is_busy or self._ui.activity.runs_command:
            self._interrupt()
        elif self._clear.now():
            self._ui.leaving.leave()
        else:
            self._main_view.say(f"press {self._main_view.key_of('app.clear')} again to leave")

    def _dequeue(self) -> None:
        if self._ui.conversations.take_back():
            return
        self._core.call(lambda engine: engine.dequeue(), self._ui.tasks.give_back, self._ui.presenter.show_failure)

    # Models and the network.

    def _cycle_model(self, step: Literal[1, -1]) -> None:
        self._core.call(
            lambda engine: engine.conversation.models.cycle(step),
            lambda state: self._main_view.say(f"{state.name} is now the model", "success"),
            self._say_why_not,
        )

    def _cycle_thinking(self) -> None:
        async def cycle(engine: Engine) -> str:
            return engine.conversation.models.cycle_thinking()

        self._core.call(cycle, lambda level: self._main_view.say(f"thinking: {level}", "success"), self._say_why_not)

    def _cycle_mode(self) -> None:
        async def cycle(engine: Engine) -> str:
            told = await engine.conversation.approvals.cycle()
            engine.refresh_status()
            return told

        self._core.call(
            cycle,
            lambda told: self._main_view.say(f"approvals: {told}".replace("\n", "; "), "success"),
            self._say_why_not,
        )

    def _toggle_network(self) -> None:
        async def toggle(engine: Engine) -> str:
            status = await engine.conversation.status()
            now = "off" if status.sandbox is None else status.sandbox.network
            if now != "off":
                self._network_before = now
            state = engine.conversation.set_network("off" if now != "off" else self._network_before)
            engine.refresh_status()
            return state

        self._core.call(toggle, lambda now: self._main_view.say(f"network: {now}", "success"), self._say_why_not)

    def _say_why_not(self, error: BaseException) -> None:
        self._main_view.say(str(error), "warning")

    # What is shown.

    def _toggle_thinking(self) -> None:
        self._main_view.view.toggle_thinking()
        self._main_view.say("thinking is shown" if self._main_view.view.thinking else "thinking is hidden")

    def _expand(self) -> None:
        self._main_view.view.toggle_tools()
        if not self._main_view.view.expanded:
            self._main_view.say("tool output is collapsed")
            return
        key = self._main_view.key_of("app.transcript") or "/transcript"
        self._main_view.say(f"tool output is expanded; {key} shows what left the screen")

    def _redraw(self) -> None:
        self._main_view.app.repaint(clear_scrollback=True)

    def _help(self, query: str = "") -> None:
        from kaa.frontends.interactive.selectors.help import HelpSelector  # lazy: only for who asks

        def commands() -> Iterable[tuple[str, str]]:
            return [(command.name, command.description) for command in self._ui.commands.offered()]

        HelpSelector(self._main_view, commands, self._ui.command_keys.actions, self._ui.presenter.show_document).show(
            query
        )

    def _agents(self, otherwise: _Action | None = None) -> None:
        from kaa.frontends.interactive.selectors.agents import AgentsDialog  # lazy: only for who asks

        if self._agents_dialog is None:
            self._agents_dialog = AgentsDialog(self._ui.context, self._ui.viewer)
        self._agents_dialog.show(otherwise)

    def _diff(self, _arguments: str = "") -> None:
        if self._main_view.view.linear:  # it reads as text
            self._ui.submission.run("/diff")
            return
        from kaa.frontends.interactive.changes import ChangesView  # lazy: only for who asks

        ChangesView(self._ui.context, self._ui.viewer.read).show()

    def _theme_names(self, typed: str) -> Iterable[tuple[str, str]]:
        return _among(self._main_view.themes.names())(typed)

    def _settings(self, arguments: str) -> None:
        if arguments:
            self._ui.submission.run(f"/settings {arguments}", self._reread)
        else:
            self._ui.settings_selectors.settings()

    def _reread(self) -> None:
        """Follow the files of the user that only the terminal reads."""
        self._ui.command_keys.reread(self._ui.commands.of_conversation)
        for problem in self._main_view.reread_preferences():
            self._ui.presenter.show_notice(problem, "warning")
        self._ui.preferences_changed()


def _among(words: Iterable[str]) -> Complete:
    return lambda typed: [(word, "") for word in words if word.startswith(typed)]


_CHANGELOG = "CHANGELOG.md"


def _changelog() -> str:
    package = Path(kaa.__file__).parent
    # In an installed kaa it lies in the package, in a checkout at its root.
    for folder in (package, package.parent.parent):
        try:
            return (folder / _CHANGELOG).read_text("utf-8")
        except OSError:
            continue
    return "This installation of kaa does not include the changelog."
