"""All of the conversation to be read and searched, with nothing shortened: another document on the full screen.

It is made of the session's entries, and those of a long session only as far as somebody looks at them. On the main
screen nothing changes meanwhile.
"""

from collections.abc import Sequence

from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.stored import EarlierBlocks
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.frontends.interactive.ui_context import UIContext
from kaa.session.transcript import Transcript
from kaa.tui.components.text import Truncated
from kaa.tui.context import Context
from kaa.tui.document import Document
from kaa.tui.events import Input, Key

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
_HINT = "Up and Down scroll, / searches, p and n go from message to message, q closes"
_CLOSING = {"app.transcript": ("q", "escape", "ctrl+c")}


class TranscriptViewer:
    """Opens and closes it.

    Args:
        ui: the screen, the core and lists.
    """

    def __init__(self, ui: UIContext) -> None:
        self._ui = ui

    def toggle(self) -> None:
        """Open it, or close it."""
        if self._ui.main_view.app.is_looking:
            self._ui.main_view.app.look_away()
            return

        async def transcript(engine: Engine) -> Transcript:
            return engine.conversation.transcript()

        self._ui.call(transcript, self._open)

    def key(self, key: Input) -> None:
        """Take a key while it is open: scroll, search or close."""
        if self._ui.main_view.app.take_view_key(key):
            return
        if self._ui.main_view.context.keymap.extended(_CLOSING).matches(key, "app.transcript"):
            self._ui.main_view.app.look_away()

    def read(self, blocks: Sequence[Piece], hint: str) -> None:
        """Open other blocks, from their beginning. `hint`: what keys do."""
        context = self._context()
        document = Document(Truncated(context, hint, "dim"))
        document.earlier = blocks
        self._ui.main_view.app.look_at(context, document)
        self._ui.main_view.app.take_view_key(Key("g", "g"))

    def _open(self, entries: Transcript) -> None:
        context = self._context()
        view = ViewOptions(
            context, expanded=True, images=self._ui.main_view.view.images, cwd=self._ui.main_view.view.cwd
        )
        view.title_calls(self._ui.main_view.view.call_titles)
        document = Document(Truncated(context, _HINT, "dim"))
        document.earlier = EarlierBlocks(view, entries, len(entries))
        self._ui.main_view.app.look_at(context, document)

    def _context(self) -> Context:
        shared = self._ui.main_view.context
        return Context(
            shared.palette, shared.keymap.extended(_KEYS), shared.size, shared.glyphs, hyperlinks=shared.hyperlinks
        )
