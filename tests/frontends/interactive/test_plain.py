import os
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.frontends.interactive.plain import PlainMainView
from kaa.frontends.interactive.transcript.notices import Notice
from kaa.tui.components.text import Text
from kaa.tui.device import Device
from kaa.tui.document import Document
from kaa.tui.reactor import Reactor
from kaa.tui.terminal import Terminal


class Plain:
    """A main view line by line, on a pseudo-terminal."""

    def __init__(self, folder: Path, controller: int, line: int) -> None:
        os.set_blocking(controller, False)
        self.reactor = Reactor()
        # The console of Linux: letters of all languages, but few characters that draw.
        terminal = Terminal({"TERM": "linux", "LANG": "C.UTF-8"}, Device(line, line))
        self.main_view = PlainMainView(str(folder), terminal, self.reactor)
        self._controller = controller
        self._line = line

    @property
    def edits_lines(self) -> bool:
        """Whether the terminal itself takes keys and shows them."""
        return bool(termios.tcgetattr(self._line)[3] & termios.ICANON)

    def written(self) -> str:
        return os.read(self._controller, 65536).decode()


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Plain]:
    controller, line = os.openpty()
    made = Plain(tmp_path, controller, line)
    yield made
    made.reactor.close()
    os.close(controller)
    os.close(line)


def test_another_document_is_written_in_the_same_characters(plain: Plain) -> None:
    document = Document(Text(plain.main_view.context))
    document.earlier = [Notice(plain.main_view.view, "très ✓ bien")]

    plain.main_view.app.look_at(plain.main_view.context, document)

    assert "très ok bien" in plain.written()


def test_a_word_about_what_happened_is_one_harmless_line(plain: Plain) -> None:
    plain.main_view.say("there is no\n  model \x1b[2J")

    assert plain.written() == "[there is no model \\x1b[2J]\r\n"


def test_the_terminal_goes_on_editing_lines_when_the_process_was_stopped(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "kill", lambda *_: None)  # here it would be pytest that stops

    plain.main_view.app.suspend()

    assert plain.edits_lines


def test_the_terminal_edits_lines_behind_another_program(plain: Plain) -> None:
    during: list[bool] = []

    plain.main_view.app.run_elsewhere(lambda: during.append(plain.edits_lines))

    assert during == [True]
    assert plain.edits_lines
