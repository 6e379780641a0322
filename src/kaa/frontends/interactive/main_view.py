"""What is on the screen from the first frame on: the document, the editor, and the small things around it."""

import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from kaa import __version__
from kaa.frontends.interactive.footer import Footer, FooterState, short_path
from kaa.frontends.interactive.keybindings import load_keybindings
from kaa.frontends.interactive.themes import ThemeLibrary
from kaa.frontends.interactive.transcript.header import StartHeader
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.frontends.interactive.working import QueuedMessages, StatusLine, WorkingLine
from kaa.host.process import current_directory
from kaa.shell.preferences import Preferences, load_preferences
from kaa.tui.application import Application
from kaa.tui.component import Component
from kaa.tui.components.display import Display
from kaa.tui.components.editor import Editor
from kaa.tui.components.stack import Spacer, Stack
from kaa.tui.context import ASCII, Context, Glyphs
from kaa.tui.document import Document
from kaa.tui.events import Event, Input, Mouse
from kaa.tui.key_notation import show_key
from kaa.tui.keymap import Keymap
from kaa.tui.palette import Palette
from kaa.tui.reactor import Reactor
from kaa.tui.style import paint
from kaa.tui.terminal import Terminal

if TYPE_CHECKING:
    from kaa.ext.display import DisplayKind
    from kaa.frontends.interactive.dialogs.frame import DialogFrame


class Surface(Protocol):
    """Shows the document, and hands over what is typed.

    Attributes:
        on_events: gets what is typed, in batches.
        on_gone: called when the terminal was closed.
        on_copy: takes what was selected with the mouse.
        is_looking: whether another document is shown than the main view's.
        rebuilds: whether a change of the width lays out anew what has left the screen.
    """

    terminal: Terminal
    reactor: Reactor
    on_events: Callable[[Sequence[Event]], object]
    on_gone: Callable[[], object]
    on_copy: Callable[[str], object]
    is_looking: bool
    rebuilds: bool

    @property
    def is_fullscreen(self) -> bool:
        """Whether the full screen is used."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def refresh(self) -> None:
        """Something is different: show it soon."""

    def repaint(self, *, clear_scrollback: bool = False) -> None: ...

    def repaint_all(self) -> None: ...

    def suspend(self) -> None: ...

    def run_elsewhere(self, program: Callable[[], object]) -> None:
        """Leave the terminal to another program while this function runs."""

    def toggle_fullscreen(self) -> None: ...

    def look_at(self, context: Context, document: Document) -> None:
        """Show another document, until `look_away`."""

    def look_away(self) -> None:
        """Show the main view's document again."""

    def take_view_key(self, key: Input) -> bool:
        """Scroll or search, where that can be done."""

    def take_mouse(self, event: Mouse) -> None:
        """Scroll or select with the mouse, where that can be done."""


# Makes one for a terminal, a loop, what components know, and what is shown.
_MakeSurface = Callable[[Terminal, Reactor, Context, Document], Surface]


class Dock(Stack):
    """Components below each other. One of them, the editor, gives its place to dialogs.

    Args:
        editor: has the keys as long as no dialog is open.
    """

    def __init__(self, above: Sequence[Component], editor: Component, below: Sequence[Component]) -> None:
        super().__init__([*above, editor, *below], focus=editor)
        self._editor = editor
        self._place = len(above)  # of the editor among the children
        self._dialogs: list[DialogFrame] = []

    @property
    def dialog(self) -> "DialogFrame | None":
        return self._dialogs[-1] if self._dialogs else None

    def open(self, dialog: "DialogFrame") -> None:
        """Put a dialog in the editor's place; one that is open waits behind it."""
        self._dialogs.append(dialog)
        self._focus_last()

    def close(self, dialog: "DialogFrame") -> None:
        """Take a dialog away, wherever it is; nothing happens if it is not there."""
        if dialog in self._dialogs:
            self._dialogs.remove(dialog)
            self._focus_last()

    def _focus_last(self) -> None:
        """The dialog opened last has the keys, or the editor."""
        self.focus = self.children[self._place] = self._dialogs[-1] if self._dialogs else self._editor


_STATUS_SECONDS = 4.0
# The editor shows as many in any window.
_SEEN_CHARACTERS = 200
_PLAN = "plan"  # the mode in which a plan is made (`kaa.shell.permissions`)


class MainView:
    """Everything a person looks at and types into.

    Attributes:
        app: paints, and hands over what is typed.
        header: what stands above everything else, unless the user does not want it.
        preferences: the user's choices about what is shown; replaced when they change.
        background_is_dark: what was known of the terminal when the first theme was chosen.
        typed_at: when something was typed last, in seconds of `time.monotonic`.
        on_leave: called when the program ends in order.
        problems: what is wrong with the user's files, to be told behind the first frame.
    """

    # Whether the terminal shows whatever is typed, secrets too.
    shows_typing = False

    # What it shows of what extensions want to be seen (`kaa.ext.display.DisplayKind`).
    shows: "Collection[DisplayKind]" = ("notice", "status", "widget", "editor", "title", "working")

    # What the header says, besides where we are.
    hints: tuple[tuple[str, str], ...] = (
        ("app.help", "help"),
        ("app.model.select", "model"),
        ("app.tools.expand", "show more"),
        ("app.exit", "leave"),
    )

    def __init__(
        self, folder: str, terminal: Terminal, reactor: Reactor, make_surface: _MakeSurface = Application
    ) -> None:
        self.folder = folder
        self.typed_at = float("-inf")
        self._task: tuple[str, str] | None = None
        self.on_leave: Callable[[], None] = lambda: None
        loaded = load_preferences(folder)
        bindings = load_keybindings(folder)
        self.preferences: Preferences = loaded.preferences
        capabilities = terminal.capabilities
        self.themes = ThemeLibrary(folder, capabilities.colors)
        self.background_is_dark = capabilities.is_dark
        theme = self.themes.choose(self.preferences.theme, self.background_is_dark)
        self.problems = [*loaded.problems, *bindings.problems]
        if theme.problem and self.themes.knows(self.preferences.theme, self.background_is_dark):
            self.problems.append(theme.problem)  # one that is unknown may be of an extension
        self.context = Context(
            Palette(theme.theme),
            Keymap(bindings.keys),
            terminal.size,
            Glyphs() if capabilities.unicode else ASCII,
            hyperlinks=capabilities.hyperlinks,
        )
        self.editor = Editor(self.context)
        self.editor.on_first_paste = self._first_paste
        self.editor.placeholder = "Ask kaa to do something"
        self.status = StatusLine(self.context)
        self.working = WorkingLine(self.context, time.monotonic, self._stop_hint)
        self.queued = QueuedMessages(self.context, self._dequeue_hint)
        cwd = current_directory() or ""
        self.footer = Footer(self.context, FooterState(directory=short_path(cwd)))
        self._widgets = {"above": _WidgetArea(self.context), "below": _WidgetArea(self.context)}
        self.dock = Dock(
            (Spacer(), self.working, self.queued, self.status, self._widgets["above"]),
            self.editor,
            (self._widgets["below"], self.footer),
        )
        self.document = Document(self.dock)
        self.view = ViewOptions(
            self.context,
            thinking=not self.preferences.hide_thinking_block,
            images=self.preferences.show_images,
            cwd=cwd,
        )
        self.view.pasted = lambda: self.editor.pasted
        self.header = StartHeader(self.view, "kaa", __version__, short_path(cwd), self.hints)
        if not self.preferences.quiet_startup:
            self.document.blocks.append(self.header)
        self.app = make_surface(terminal, reactor, self.context, self.document)
        self.apply_preferences()

    def reread_preferences(self) -> tuple[str, ...]:
        """Read the preferences again. Returns what is wrong with them."""
        before, (self.preferences, problems) = self.preferences, load_preferences(self.folder)
        # What a key switches too stays as it was switched, unless the user chose anew.
        if self.preferences.hide_thinking_block != before.hide_thinking_block:
            self.view.show_thinking(shown=not self.preferences.hide_thinking_block)
        if self.preferences.screen != before.screen and (self.preferences.screen == "full") != self.app.is_fullscreen:
            self.app.toggle_fullscreen()
        return problems

    def apply_preferences(self) -> None:
        """Have what is shown follow the preferences."""
        self.app.rebuilds = self.preferences.reflow == "rebuild"
        self.view.images = self.preferences.show_images
        self.view.cache_misses = self.preferences.show_cache_miss_notices
        self.view.image_columns = self.preferences.image_width_cells
        self.editor.padding = self.preferences.editor_padding_x
        self.editor.completer.menu.max_visible = self.preferences.autocomplete_max_visible

    def say(self, text: str, token: str = "muted", seconds: float = _STATUS_SECONDS) -> None:
        """Show a word about what just happened, for a while."""
        self.status.show(text, token)
        self.app.refresh()

        def forget() -> None:
            if self.status.text == text:
                self.status.show("")
                self.app.refresh()

        self.app.reactor.call_later(seconds, forget)

    def show_sections(self, sections: Sequence[tuple[str, str]]) -> None:
        """Show status sections of extensions: texts with the theme's tokens."""
        self.footer.show_sections(sections)

    def show_task(self, text: str, token: str) -> None:
        """Show in the editor's rules what kaa itself is about, as the execution of a plan; nothing if it is empty."""
        self._task = (text, token) if text else None
        self.mark_editor()

    def mark_editor(self) -> None:
        """Have the editor's rules say, in words and by colour, what becomes of the text."""
        title, token = "", "border"
        if self.editor.buffer.text.startswith("!"):
            token = "bashMode"
        elif self._task is not None:
            title, token = self._task
        elif self.footer.state.permissions == _PLAN:
            title, token = "plan: kaa changes nothing", "customMessageLabel"
        self.editor.title, self.editor.border_token = title, token

    def show_widgets(self, placement: str, widgets: Sequence[Sequence[Component]]) -> None:
        """Show these widgets of extensions `above` or `below` the editor."""
        self._widgets[placement].show(widgets)

    def _first_paste(self, text: str) -> str:
        """Keep a paste that cannot be seen at a glance from being a command."""
        from kaa.ext.invocation import as_message  # lazy: the first frame needs no messages

        if len(text) <= _SEEN_CHARACTERS and "\n" not in text[:-1]:
            return text
        if (message := as_message(text)) != text:
            self.say(f"pasted as a message: delete the space before {text[0]} to make it a command")
        return message

    def give_back(self, texts: Sequence[str], between: str) -> None:
        """Put what was entered, and is not done, into the editor again: before what is there."""
        if texts:
            self.editor.set_text(between.join(filter(None, [*texts, self.editor.text])))
            self.app.refresh()

    def key_of(self, action: str) -> str:
        """The first key of an action, as people read it; empty if it has none."""
        keys = self.context.keymap.keys(action)
        return show_key(keys[0]) if keys else ""

    def key_hint(self, actions: Sequence[tuple[str, str]]) -> str:
        """The first key of each action with a word on what it does; those without a key are left out."""
        return ", ".join(f"{key} {what}" for action, what in actions if (key := self.key_of(action)))

    def _stop_hint(self) -> str:
        key = self.key_of("app.interrupt")
        return f"{key} stops it" if key else ""

    def _dequeue_hint(self) -> str:
        key = self.key_of("app.message.dequeue")
        return f"{key} takes the last one back" if key else ""


# Of one widget.
_MOST_LINES = 10
# All of them together leave most of the screen to the conversation.
_SHARE_OF_ROWS = 3


class _WidgetArea(Display):
    """Widgets of extensions below each other; what does not fit is left out, and a line says how much."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._widgets: tuple[Sequence[Component], ...] = ()
        self._rows = 0

    def show(self, widgets: Sequence[Sequence[Component]]) -> None:
        """Show these, each made of components below each other."""
        self._widgets = tuple(widgets)
        self.changed()

    def render(self, width: int) -> list[str]:
        """The lines; fewer on a low screen."""
        if self._rows != self._context.size.rows:
            self._rows = self._context.size.rows
            self.changed()
        return super().render(width)

    def _paint(self, width: int) -> list[str]:
        most = max(_SHARE_OF_ROWS, self._rows // _SHARE_OF_ROWS)
        lines = [line for widget in self._widgets for line in self._cut(_lines(widget, width), _MOST_LINES)]
        return self._cut(lines, most)

    def _cut(self, lines: list[str], most: int) -> list[str]:
        if len(lines) <= most:
            return lines
        left_out = f"{self._context.glyphs.ellipsis} {len(lines) - most + 1} more lines"
        return [*lines[: most - 1], paint(left_out, self._context.palette["muted"])]


def _lines(components: Sequence[Component], width: int) -> list[str]:
    return [line for component in components for line in component.render(width)]
