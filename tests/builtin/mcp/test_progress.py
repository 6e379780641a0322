"""Progress of a call as lines: few, and the last one always."""

from kaa.builtin.mcp.progress import ProgressLines
from kaa.mcp.contents import Progress


class Shown:
    """What is shown at which second."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.seconds = 0.0
        self.progress = ProgressLines(self.lines.append, lambda: self.seconds)


def test_progress_is_a_line() -> None:
    shown = Shown()

    shown.progress.show(Progress(12, 40, "indexing\nfiles"))

    assert shown.lines == ["12/40 indexing files\n"]


def test_progress_without_a_total_is_its_number() -> None:
    shown = Shown()

    shown.progress.show(Progress(2.5))

    assert shown.lines == ["2.5\n"]


def test_at_most_four_lines_a_second_and_the_last_one() -> None:
    shown = Shown()

    for number in range(1001):
        shown.seconds = number / 1000
        shown.progress.show(Progress(number, 1000))

    assert len(shown.lines) == 5
    assert shown.lines[-1] == "1000/1000\n"
