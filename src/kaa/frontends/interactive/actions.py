"""What keys and slash commands of the user interface do."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kaa.core.messages import ImageContent, UserMessage
from kaa.frontends.interactive.attachments import as_content, read_image
from kaa.frontends.interactive.changelog import changelog
from kaa.frontends.interactive.clipboard_image import read_clipboard_image
from kaa.frontends.interactive.commands import UiCommand
from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.desk import Desk
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.help_text import help_markdown, help_sections
from kaa.frontends.interactive.keybindings import GROUPS, load_keybindings
from kaa.frontends.interactive.shortcuts import double_clear, double_escape
from kaa.shell.options import TrustChoice
from kaa.shell.trust.configuration import ProjectConfiguration
from kaa.shell.trust.store import TrustState, Untrustable
from kaa.tui.clipboard import Clipboard
from kaa.tui.keymap import Keymap

if TYPE_CHECKING:
    from kaa.frontends.interactive.ui import InteractiveUI

_Action = Callable[[], None]


class Actions:
    """All of them.

    Args:
        ui: shows and asks.
        desk: has the editor.
        core: does what is not about showing.
    """

    def __init__(self, ui: "InteractiveUI", desk: Desk, core: CoreThread[Engine]) -> None:
        self._ui = ui
        self._desk = desk
        self._core = core
        self._clipboard = Clipboard(desk.app.terminal, desk.app.reactor.post)
        self._escape = double_escape()
        self._clear = double_clear()
        self._network_before = "on"

    def keys(self) -> Mapping[str, _Action]:
        """Actions by id (`kaa.frontends.interactive.keybindings`)."""
        models = self._ui.model_selectors
        return {
            "app.interrupt": self._interrupt,
            "app.clear": self._clear_editor,
            "app.exit": self._ui.say_goodbye,
            "app.suspend": self._desk.app.suspend,
            "app.message.followUp": lambda: self._ui.submit(follow_up=True),
            "app.message.dequeue": self._dequeue,
            "app.message.copy": lambda: self._copy_answer(""),
            "app.thinking.cycle": self._cycle_thinking,
            "app.thinking.toggle": self._toggle_thinking,
            "app.tools.expand": self._expand,
            "app.model.select": models.model,
            "app.model.cycleForward": lambda: self._cycle_model(1),
            "app.model.cycleBackward": lambda: self._cycle_model(-1),
            "app.network.toggle": self._toggle_network,
            "app.editor.external": self._edit_externally,
            "app.clipboard.pasteImage": self._paste_image,
            "app.rewind": self._ui.conversation_selectors.rewind,
            "app.help": self._help,
            "app.settings": self._ui.settings_selectors.settings,
            "app.fullscreen": self._desk.app.toggle_fullscreen,
            "app.transcript": self._ui.viewer.toggle,
        }

    def commands(self) -> Sequence[UiCommand]:
        """Slash commands."""
        models, settings = self._ui.model_selectors, self._ui.settings_selectors
        conversation = self._ui.conversation_selectors
        return [
            UiCommand(
                "approvals", "Choose who is asked before what", conversation.approvals, _among("ask auto never step")
            ),
            UiCommand("changelog", "Show what is new in kaa", lambda _: self._ui.show_document(changelog())),
            UiCommand("clear", "Begin a new session and clear the screen", lambda _: self._ui.open_new(clear=True)),
            UiCommand("copy", "Copy the last answer, or with a number one of its code blocks", self._copy_answer),
            UiCommand("exit", "Leave", lambda _: self._ui.say_goodbye()),
            UiCommand("fullscreen", "Use the full screen, or no longer", lambda _: self._desk.app.toggle_fullscreen()),
            UiCommand("help", "Show keys and commands", lambda _: self._help()),
            UiCommand("hotkeys", "Show keys and commands", lambda _: self._help()),
            UiCommand("model", "Choose the model", models.model),
            UiCommand("new", "Begin a new session", lambda _: self._ui.open_new(clear=False)),
            UiCommand("quit", "Leave", lambda _: self._ui.say_goodbye()),
            UiCommand("redraw", "Paint the screen anew, with what is above it", lambda _: self._redraw()),
            UiCommand("reload", "Read settings, keys, themes, rules and models again", lambda _: self._reload()),
            UiCommand("rewind", "Go back to an earlier message", lambda _: conversation.rewind()),
            UiCommand("scoped-models", "Choose which models to cycle through", lambda _: models.scoped_models()),
            UiCommand("settings", "Change the settings", lambda _: settings.settings()),
            UiCommand("theme", "Choose the colours", settings.theme, self._theme_names),
            UiCommand("thinking", "Choose how hard the model thinks", models.thinking),
            UiCommand("transcript", "Read and search all of the conversation", lambda _: self._ui.viewer.toggle()),
            UiCommand("trust", "Decide whether the project may configure kaa", lambda _: self._decide_trust()),
        ]

    # Stopping and leaving.

    def _interrupt(self) -> None:
        """Stop what goes on; with nothing going on and nothing typed, the second time goes back to a message."""
        if self._ui.activity.is_busy or self._ui.activity.runs_command:
            self._core.call(lambda engine: engine.abort(), self._give_back, self._ui.show_failure)
        elif (
            self._desk.editor.is_empty
            and self._desk.preferences.double_escape_action == "rewind"
            and self._escape.now()
        ):
            self._ui.conversation_selectors.rewind()

    def _clear_editor(self) -> None:
        if not self._desk.editor.is_empty:
            self._desk.editor.set_text("")
        elif self._ui.activity.is_busy or self._ui.activity.runs_command:
            self._interrupt()
        elif self._clear.now():
            self._ui.say_goodbye()
        else:
            self._desk.say(f"{self._desk.key_of('app.clear')} again leaves")

    def _give_back(self, messages: Sequence[UserMessage]) -> None:
        """What waited goes back into the editor, before what is there."""
        texts = [message.text for message in messages]
        if texts:
            self._desk.editor.set_text("\n\n".join(filter(None, [*texts, self._desk.editor.text])))
            self._desk.app.refresh()

    def _dequeue(self) -> None:
        async def take(engine: Engine) -> list[UserMessage]:
            message = engine.conversation.dequeue()
            return [] if message is None else [message]

        self._core.call(take, self._give_back, self._ui.show_failure)

    # Models and the network.

    def _cycle_model(self, step: int) -> None:
        forward = step > 0
        self._core.call(
            lambda engine: engine.conversation.models.cycle(1 if forward else -1),
            lambda state: self._desk.say(f"{state.name} answers from now on", "success"),
            self._say_why_not,
        )

    def _cycle_thinking(self) -> None:
        async def cycle(engine: Engine) -> str:
            return engine.conversation.models.cycle_thinking()

        self._core.call(cycle, lambda level: self._desk.say(f"thinking: {level}", "success"), self._say_why_not)

    def _toggle_network(self) -> None:
        async def toggle(engine: Engine) -> str:
            status = await engine.conversation.status()
            now = "off" if status.sandbox is None else status.sandbox.network
            if now != "off":
                self._network_before = now
            state = engine.conversation.set_network("off" if now != "off" else self._network_before)
            engine.refresh_status()
            return state

        self._core.call(toggle, lambda now: self._desk.say(f"network: {now}", "success"), self._say_why_not)

    def _say_why_not(self, error: BaseException) -> None:
        self._desk.say(str(error), "warning")

    # What is shown.

    def _toggle_thinking(self) -> None:
        self._ui.transcript.toggle_thinking()
        self._desk.say("thinking is shown" if self._desk.view.thinking else "thinking is hidden")

    def _expand(self) -> None:
        self._ui.transcript.toggle_tools()
        self._desk.say("all of what tools said is shown" if self._desk.view.expanded else "tools are shown in short")

    def _redraw(self) -> None:
        self._desk.app.repaint(clear_scrollback=True)

    def _help(self) -> None:
        commands = [(command.name, command.description) for command in self._ui.completable_commands()]
        extended = self._desk.app.terminal.capabilities.kitty_keyboard
        sections = help_sections(GROUPS, self._desk.context.keymap, commands, extended_keys=extended)
        self._ui.show_document(help_markdown(sections))

    def _theme_names(self, typed: str) -> Sequence[tuple[str, str]]:
        return [(name, "") for name in self._desk.themes.names() if name.startswith(typed)]

    def _reload(self) -> None:
        bindings = load_keybindings(self._desk.folder)
        self._desk.context.keymap.replace(Keymap(bindings.keys))
        for problem in (*self._desk.load_preferences(), *bindings.problems):
            self._ui.show_notice(problem, "warning")
        self._ui.preferences_changed()
        self._core.call(lambda engine: engine.conversation.reload(), self._ui.show_notice, self._ui.show_failure)

    # Copying and writing.

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard."""
        self._clipboard.copy(text, lambda problem: self._desk.say(str(problem) if problem else "copied"))

    def _copy_answer(self, which: str) -> None:
        """The last answer as the model wrote it, or the code block of this number, counted from 1."""
        if not which:
            text = self._ui.transcript.last_answer()
            if text:
                self.copy(text)
            else:
                self._desk.say("there is no answer to copy yet")
            return
        blocks = self._ui.transcript.code_blocks()
        number = which.rsplit(maxsplit=1)[-1]
        if number.isdecimal() and 1 <= int(number) <= len(blocks):
            self.copy(blocks[int(number) - 1][1])
        elif which == "code" and blocks:
            self.copy(blocks[-1][1])
        else:
            self._desk.say(f"the last answer has {len(blocks)} code blocks; /copy 1 copies the first", "warning")

    def _edit_externally(self) -> None:
        editor = self._desk.preferences.external_editor or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with tempfile.NamedTemporaryFile("w+", suffix=".md", prefix="kaa-", encoding="utf-8") as file:
            file.write(self._desk.editor.text)
            file.flush()
            problem: list[str] = []

            def edit() -> None:
                try:
                    done = subprocess.run([*shlex.split(editor), file.name], check=False)
                except (OSError, ValueError) as error:
                    problem.append(f"{editor} cannot be started: {error}")
                else:
                    if done.returncode:
                        problem.append(f"{editor} ended with exit code {done.returncode}; the text stays as it was")

            self._desk.app.run_elsewhere(edit)
            if problem:
                self._desk.say(problem[0], "warning")
                return
            with open(file.name, encoding="utf-8", errors="replace") as edited:  # editors replace the file
                self._desk.editor.set_text(edited.read().removesuffix("\n"))

    # Images.

    def _paste_image(self) -> None:
        async def read(_engine: Engine) -> ImageContent:
            return await as_content(await read_clipboard_image(os.environ))

        self._core.call(read, self._attach, self._say_why_not)

    def attach_image(self, path: str) -> None:
        """An image's path was dropped on the terminal: the image goes with the message."""

        def instead(error: BaseException) -> None:
            self._desk.editor.insert(path)
            self._desk.say(f"{error}; its path was inserted", "warning")
            self._desk.app.refresh()

        self._core.call(lambda engine: read_image(engine.workspace, path), self._attach, instead)

    def _attach(self, image: ImageContent) -> None:
        self._desk.editor.insert(self._ui.attachments.add(image) + " ")
        self._desk.app.refresh()

    # Trust.

    def _decide_trust(self) -> None:
        def ask(found: tuple[ProjectConfiguration, TrustState]) -> None:
            configuration, state = found
            if not configuration.exists:
                self._ui.show_notice("This project brings no configuration along: there is nothing to trust.")
                return
            if isinstance(state, Untrustable):
                self._ui.show_notice(f"This project cannot be trusted: {state.reason}.", "warning")
                return
            self._ui.ask_trust(configuration, state, lambda choice: decide(configuration, choice))

        def decide(configuration: ProjectConfiguration, choice: TrustChoice | None) -> None:
            self._core.call(
                lambda engine: engine.decide_trust(configuration, choice),
                lambda _: self._ui.show_notice(f"{_DECIDED[choice]} /new begins a session for which this holds."),
                self._ui.show_failure,
            )

        self._core.call(lambda engine: engine.survey(), ask, self._ui.show_failure)


_DECIDED: Mapping[TrustChoice | None, str] = {
    "stored": "What the project configures is used, until it changes.",
    "yes": "What the project configures is used, until you leave kaa.",
    "no": "What the project configures is not used, and you are not asked again.",
    None: "What the project configures is not used, until you leave kaa.",
}


def _among(words: str) -> Callable[[str], Sequence[tuple[str, str]]]:
    """Completes one of some words."""
    return lambda typed: [(word, "") for word in words.split() if word.startswith(typed)]
