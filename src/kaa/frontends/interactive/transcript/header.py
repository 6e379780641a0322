"""What the transcript begins with: what runs, where, and the keys to begin with. *Stage 1*."""

from collections.abc import Sequence

from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.text import harmless
from kaa.tui.key_notation import show_key
from kaa.tui.layout import wrap
from kaa.tui.style import Span

_SEPARATOR = " · "


class StartHeader(Piece):
    """Name and version, model and directory, and hints.

    Args:
        directory: the project's, as it is to be shown.
        hints: actions by id, each with a word or two on what it does; those without a key are left out.
        model: empty as long as it is not known.
    """

    def __init__(
        self,
        view: ViewOptions,
        name: str,
        version: str,
        directory: str,
        hints: Sequence[tuple[str, str]] = (),
        model: str = "",
    ) -> None:
        super().__init__(view)
        self._name, self._version = name, version
        self._directory = directory
        self._hints = tuple(hints)
        self._model = model
        self.finished = True

    def show_model(self, model: str) -> None:
        if model != self._model:
            self._model = model
            self.changed()

    def layout(self, width: int) -> list[str]:
        """Two lines at most, if the terminal is wide enough."""
        palette = self.context.palette
        muted = palette["muted"]
        title: list[Span] = [(self._name, palette["accent"]), (f" {self._version}", muted)]
        for fact in filter(None, (self._model, self._directory)):
            title += [(_SEPARATOR, muted), (harmless(fact), palette["text"])]
        lines = wrap(title, width)
        hints = [
            (show_key(keys[0]), what) for action, what in self._hints if (keys := self.context.keymap.keys(action))
        ]
        if hints:
            lines += wrap([(_SEPARATOR.join(f"{key} {what}" for key, what in hints), palette["dim"])], width)
        return lines
