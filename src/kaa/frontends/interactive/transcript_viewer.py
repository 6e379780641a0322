"""All of the conversation to be read and searched, with nothing shortened: another document on the full screen.

It is made of the session's entries, and those of a long session only as far as somebody looks at them. On the main
screen nothing changes meanwhile.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.transcript.nested import NestedBlocks
from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.stored import EarlierBlocks
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.frontends.interactive.ui_context import UIContext
from kaa.session.nested_transcripts import NestedTranscript
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
_FOLLOWING_HINT = "Up and Down scroll, / searches, q closes"
_FOLLOW_SECONDS = 0.5
_CLOSING = {"app.transcript": ("q", "escape", "ctrl+c")}


class _Whole(NamedTuple):
    """What is shown of a conversation."""

    entries: Transcript
    nested: Sequence[NestedTranscript]


class TranscriptViewer:
    def __init__(self, ui: UIContext) -> None:
        self._ui = ui
        self._shown: Document | None = None

    def toggle(self) -> None:
        """Open it, or close it."""
        if self._ui.main_view.app.is_looking:
            self._ui.main_view.app.look_away()
            return

        async def transcript(engine: Engine) -> _Whole:
            entries = engine.conversation.transcript()
            return _Whole(entries, await engine.conversation.nested_transcripts(entries))

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
        self._shown = document
        self._ui.main_view.app.look_at(context, document)
        self._ui.main_view.app.take_view_key(Key("g", "g"))

    def follow(self, entries_of: Callable[[Engine], Awaitable[Transcript]], title: str) -> None:
        """Open other entries at their end, and show those that are added meanwhile. `title`: what they are."""
        context = self._context()
        view = self._view(context)
        document = Document(Truncated(context, f"{title}. {_FOLLOWING_HINT}", "dim"))

        def look() -> None:
            self._ui.call(entries_of, opened)

        def opened(entries: Transcript) -> None:
            document.earlier = EarlierBlocks(view, entries, len(entries))
            self._ui.main_view.app.look_at(context, document)
            self._shown = document
            later()

        def later() -> None:
            self._ui.main_view.app.reactor.call_later(_FOLLOW_SECONDS, look_again)

        def look_again() -> None:
            if self._ui.main_view.app.is_looking and self._shown is document:
                self._ui.call(entries_of, more)

        def more(entries: Transcript) -> None:
            if len(entries) != len(document.earlier):
                document.earlier = EarlierBlocks(view, entries, len(entries))
                self._ui.refresh()
            later()

        look()

    def _view(self, context: Context) -> ViewOptions:
        shown = self._ui.main_view.view
        view = ViewOptions(context, expanded=True, images=shown.images, cwd=shown.cwd)
        view.title_calls(shown.call_titles)
        return view

    def _open(self, whole: _Whole) -> None:
        context = self._context()
        document = Document(Truncated(context, _HINT, "dim"))
        document.earlier = NestedBlocks(self._view(context), *whole)
        self._shown = document
        self._ui.main_view.app.look_at(context, document)

    def _context(self) -> Context:
        shared = self._ui.main_view.context
        return Context(
            shared.palette, shared.keymap.extended(_KEYS), shared.size, shared.glyphs, hyperlinks=shared.hyperlinks
        )
