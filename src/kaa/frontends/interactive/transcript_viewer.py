"""All of the conversation to be read and searched, with nothing shortened: another document on the full screen.

It is made of the session's entries, and those of a long session only as far as somebody looks at them. On the main
screen nothing changes meanwhile.
"""

from collections.abc import Callable

from kaa.frontends.interactive.core_thread import CoreThread
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.transcript.stored import EarlierBlocks
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.session.transcript import Transcript
from kaa.tui.components.text import Truncated
from kaa.tui.context import Context
from kaa.tui.document import Document
from kaa.tui.events import Input

# Where there is nothing to type, letters do what they do in less(1).
_KEYS = {
    "tui.altScreen.lineUp": ("up", "k"),
    "tui.altScreen.lineDown": ("down", "j", "enter"),
    "tui.altScreen.halfPageUp": ("u", "ctrl+u"),
    "tui.altScreen.halfPageDown": ("d", "ctrl+d"),
    "tui.altScreen.pageUp": ("b",),
    "tui.altScreen.pageDown": ("space", "f"),
    "tui.altScreen.previousPrompt": ("[", "p"),
    "tui.altScreen.nextPrompt": ("]", "n"),
    "tui.altScreen.top": ("g",),
    "tui.altScreen.bottom": ("shift+g",),
    "tui.altScreen.search": ("/",),
}
# What opens it closes it, too.
_CLOSING = {"app.transcript": ("q", "escape", "ctrl+c")}


class TranscriptViewer:
    """Opens and closes it.

    Args:
        main_view: where it is shown.
        core: has the session.
        on_failure: shows what went wrong.
    """

    def __init__(
        self, main_view: MainView, core: CoreThread[Engine], on_failure: Callable[[BaseException], None]
    ) -> None:
        self._main_view = main_view
        self._core = core
        self._on_failure = on_failure

    def toggle(self) -> None:
        """Open it, or close it."""
        if self._main_view.app.is_looking:
            self._main_view.app.look_away()
            return

        async def transcript(engine: Engine) -> Transcript:
            return engine.conversation.transcript()

        self._core.call(transcript, self._open, self._on_failure)

    def key(self, key: Input) -> None:
        """Take a key while it is open: scroll, search or close."""
        if self._main_view.app.take_view_key(key):
            return
        if self._main_view.context.keymap.extended(_CLOSING).matches(key, "app.transcript"):
            self._main_view.app.look_away()

    def _open(self, entries: Transcript) -> None:
        shared = self._main_view.context
        context = Context(
            shared.palette, shared.keymap.extended(_KEYS), shared.size, shared.glyphs, hyperlinks=shared.hyperlinks
        )
        view = ViewOptions(context, expanded=True, images=self._main_view.view.images, cwd=self._main_view.view.cwd)
        hint = "Up and Down scroll, / searches, p and n go from message to message, q closes"
        document = Document(Truncated(context, hint, "dim"))
        document.earlier = EarlierBlocks(view, entries, len(entries))
        self._main_view.app.look_at(context, document)
