"""The parts that a Markdown text is shown in, each of which keeps its painted lines."""

from abc import ABC, abstractmethod

from kaa.tui.components.markdown_blocks import BlockPainter
from kaa.tui.components.markdown_inline import paint_linked
from kaa.tui.components.markdown_syntax import References, Unit, labels, units


class Part(ABC):
    """Something shown. Open parts may still change.

    Args:
        painter: makes lines.
        gap: whether an empty line comes before it.

    Attributes:
        is_open: whether more of the text may belong to it.
        is_frozen: whether lines of it have left the screen.
        first_line: where its lines begin among those of the text, as composed last.
    """

    def __init__(self, painter: BlockPainter, *, gap: bool) -> None:
        self._painter = painter
        self.gap = gap
        self.is_open = True
        self.first_line = 0
        self.is_frozen = False
        self._width = 0
        self._lines: list[str] | None = None

    def lines(self, references: References, width: int) -> list[str]:
        """The painted lines."""
        if width != self._width:
            self._width = width
            self.repaint()
        if self._lines is None:
            self._lines = [""] * self.gap + self._paint(references, width)
        return self._lines

    def changed(self) -> None:
        """More of the text came."""
        self._lines = None

    def repaint(self) -> None:
        """Forget everything that was painted."""
        self._lines = None

    @property
    def settled(self) -> int:
        """How many of the lines painted last can change only if something they refer to is defined later."""
        return 0 if self.is_open or self._lines is None else len(self._lines)

    @abstractmethod
    def labels(self) -> frozenset[str]:
        """What it may refer to, if that is defined somewhere."""

    @abstractmethod
    def _paint(self, references: References, width: int) -> list[str]:
        """The lines behind the gap."""


class UnitPart(Part):
    """A unit, painted as a whole.

    Args:
        painter: makes lines.
    """

    def __init__(self, painter: BlockPainter) -> None:
        super().__init__(painter, gap=False)
        self._number: int | None = None
        self._source = ""
        self._unit: Unit | None = None

    def set(self, unit: Unit, source: str, *, gap: bool) -> None:
        """This is what was read of it so far, and whether an empty line comes before it."""
        if (source, gap, unit.number) != (self._source, self.gap, self._number):
            self._source, self.gap, self._number = source, gap, unit.number
            self._unit = unit
            self.changed()

    def labels(self) -> frozenset[str]:
        """All in its source: of code too, which costs no more than painting it once in vain."""
        return labels(self._source)

    def _paint(self, references: References, width: int) -> list[str]:
        found = [self._unit] if self._unit else units(self._source, self._number)
        # Reading it again costs less than keeping all that was read of a long conversation.
        self._unit = None
        return [paint_linked(line) for unit in found for line in self._painter.unit(unit, references, width)]
