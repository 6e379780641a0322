"""Copies what was selected, the last answer, or a code block of it."""

from kaa.frontends.interactive.main_view import MainView
from kaa.frontends.interactive.transcript.transcript_view import TranscriptView
from kaa.host.programs import host_programs
from kaa.tui.clipboard import Clipboard


class Copying:
    """Copies to the clipboard, and says whether that could be done."""

    def __init__(self, main_view: MainView, transcript: TranscriptView) -> None:
        self._main_view = main_view
        self._transcript = transcript
        self._clipboard: Clipboard | None = None

    def copy(self, text: str) -> None:
        if self._clipboard is None:  # now it is known what commands can write, where none of its programs may be
            programs = host_programs()
            app = self._main_view.app
            self._clipboard = Clipboard(app.terminal, app.reactor.post, programs.environment(), programs.find)
        self._clipboard.copy(text, lambda problem: self._main_view.say(problem or "copied"))

    def copy_answer(self, which: str = "") -> None:
        """Copy the last answer as the model wrote it, or one of its code blocks.

        Args:
            which: the number of the block, from 1; `code` for the last one; empty for the whole answer.
        """
        if not which:
            text = self._transcript.last_answer()
            if text:
                self.copy(text)
            else:
                self._main_view.say("there is no answer to copy yet")
            return
        blocks = self._transcript.code_blocks()
        number = which.rsplit(maxsplit=1)[-1]
        if number.isdecimal() and 1 <= int(number) <= len(blocks):
            self.copy(blocks[int(number) - 1][1])
        elif which == "code" and blocks:
            self.copy(blocks[-1][1])
        else:
            self._main_view.say(f"the last answer has {len(blocks)} code blocks; /copy 1 copies the first", "warning")
