"""What extensions show in the terminal: around the editor, in the footer, in the title and in the transcript."""

from collections.abc import Callable

from kaa.ext.display import (
    DisplayUpdate,
    EditorText,
    LastingChange,
    NoticeShown,
    StatusSection,
    Widget,
    WindowTitle,
    WorkingMessage,
    is_removal,
)
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.transcript.notices import NoticeKind
from kaa.tui.component import Component

# What lasts is known by its conversation, its extension, its type and its key.
_Slot = tuple[str, str, type[LastingChange], str]


class ExtensionDisplay:
    """Keeps what is shown, and shows it."""

    def __init__(
        self, main_view: MainView, attention: Attention, show_notice: Callable[[str, NoticeKind], None]
    ) -> None:
        self._main_view = main_view
        self._attention = attention
        self._show_notice = show_notice
        self._shown: dict[_Slot, tuple[str, LastingChange]] = {}  # with the author

    def show(self, update: DisplayUpdate) -> None:
        match update.change:
            case NoticeShown(text=text, level=level):
                self._show_notice(f"{update.author}: {text}" if update.author else text, level)
            case EditorText(text=text, mode="set"):
                self._main_view.editor.set_text(text)
            case EditorText(text=text):
                self._main_view.editor.insert(text)
            case _:
                self._keep(update, update.change)
        self._main_view.app.refresh()

    def _keep(self, update: DisplayUpdate, change: LastingChange) -> None:
        key = change.key if isinstance(change, StatusSection | Widget) else ""
        slot = update.conversation, update.extension, type(change), key
        if is_removal(change):
            self._shown.pop(slot, None)
        else:
            self._shown[slot] = update.author, change
        match change:
            case StatusSection():
                self._show_sections()
            case Widget():
                self._show_widgets()
            case WindowTitle():
                self._attention.entitle(self._last_text(WindowTitle))
            case WorkingMessage():
                self._main_view.working.call_it(self._last_text(WorkingMessage))

    def _show_sections(self) -> None:
        sections = {slot: change for slot, (_, change) in self._shown.items() if isinstance(change, StatusSection)}
        self._main_view.show_sections([(one.text, one.role) for one in sections.values()])
        own = [one for (_, extension, _, _), one in sections.items() if not extension]
        self._main_view.show_task(*((own[-1].text, own[-1].role) if own else ("", "")))

    def _show_widgets(self) -> None:
        # Lazily: few sessions have widgets, and Markdown needs a library.
        from kaa.frontends.interactive.transcript.displayed import component_of

        placed: dict[str, list[list[Component]]] = {"above": [], "below": []}
        for _, change in self._shown.values():
            if isinstance(change, Widget):
                parts = [component_of(value, self._main_view.context) for value in change.content]
                placed[change.placement].append(parts)
        for placement, widgets in placed.items():
            self._main_view.show_widgets(placement, widgets)

    def _last_text(self, kind: type[WindowTitle] | type[WorkingMessage]) -> str:
        """What was set last; the empty text if nothing is."""
        texts = [change.text for _, change in self._shown.values() if isinstance(change, kind)]
        return texts[-1] if texts else ""
