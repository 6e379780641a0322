"""What the session changed, on the full screen: a table of the files, then each change."""

import asyncio
from collections.abc import Callable, Sequence

from kaa.builtin.diff_command import NOTHING_CHANGED
from kaa.builtin.file_differences import ShownDifference, shown, table
from kaa.ext.navigation import SessionChanges
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.transcript.notices import Notice
from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.frontends.interactive.ui_context import UIContext
from kaa.tui.components.diff import DiffView
from kaa.tui.components.text import harmless
from kaa.tui.layout import wrap
from kaa.tui.style import BOLD, join


class ChangesView:
    def __init__(self, ui: UIContext, read: Callable[[Sequence[Piece], str], None]) -> None:
        self._ui = ui
        self._read = read

    def show(self) -> None:
        """Ask what changed, and open it."""

        async def changes(engine: Engine) -> tuple[SessionChanges, list[ShownDifference]]:
            found = await engine.conversation.navigation.changes()
            return found, await asyncio.to_thread(lambda: [shown(one) for one in found.files])

        self._ui.call(changes, lambda found: self._open(*found))

    def _open(self, changes: SessionChanges, files: Sequence[ShownDifference]) -> None:
        view = self._ui.main_view.view
        if not files:
            self._ui.say(" ".join([NOTHING_CHANGED, *(f"({gap})" for gap in changes.gaps)]))
            return
        summary = Notice(view, "\n".join([*table(files), *changes.gaps]))
        hint = "Up and Down scroll, / searches, p and n go from file to file, q closes"
        self._read([summary, *(FileChangeView(view, file) for file in files)], hint)


class FileChangeView(Piece):
    is_prompt = True

    def __init__(self, view: ViewOptions, file: ShownDifference) -> None:
        super().__init__(view)
        self._file = file
        self._diff = DiffView(view.context, file.diff)
        self.finished = True

    def layout(self, width: int) -> list[str]:
        """The name and what happened to the file, then the lines."""
        file, palette = self._file, self.context.palette
        title = [(harmless(file.path), join(palette["toolTitle"], BOLD)), (f"  {file.summary}", palette["muted"])]
        remark = wrap([(file.remark, palette["warning"])], width) if file.remark else []
        return [*wrap(title, width), *remark, *(self._diff.render(width) if file.diff else [])]
