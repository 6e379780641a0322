"""Reads a Markdown text that comes in pieces into parts. Only what may still change is looked at again.

Whatever the pieces, the parts are the same: what is decided depends on complete lines only, and what is too long is cut
where the text, not its arrival, says.
"""

import re

from kaa.tui.components.markdown_blocks import BlockPainter
from kaa.tui.components.markdown_growing import FencePart, GrowingPart, RawPart, TablePart
from kaa.tui.components.markdown_parts import Part, UnitPart
from kaa.tui.components.markdown_syntax import References, Unit, definitions, units

# Characters. A paragraph twice as long is cut into several of at least this length. Each begins a new line, so that few
# texts should need it.
_SEGMENT = 2000
# Anything else that is twice as long (an item, a quote) is shown as it is from about there on.
_LONGEST_UNIT = 8000

# Where a paragraph can be cut: between words, where no other block could be thought to begin and no hard break is.
_CUT = re.compile(r"(?<=[^\s\\])[ \n](?=[^\W\d_])")
_PAIRED = ("`", "**", "__", "~~")
_BRACKETS = (("[", "]"), ("(", ")"), ("<", ">"))


class MarkdownReader:
    """Reads a text.

    Args:
        painter: makes the lines of parts.

    Attributes:
        closed: the parts that do not change any more, in order.
        open: those behind them, which may.
        references: what links refer to.
        defined: labels defined since somebody last looked and cleared this.
        characters_read: how much was looked at, as a measure of work.
    """

    def __init__(self, painter: BlockPainter) -> None:
        self._painter = painter
        self.closed: list[Part] = []
        self.open: list[Part] = []
        self.references: References = {}
        self.defined: set[str] = set()
        self.characters_read = 0
        self._growing: GrowingPart | None = None
        # The text from the first open unit on, and what is known of this unit: its number, and whether it has a gap.
        self._tail = ""
        self._number: int | None = None
        self._gap = False
        self._shows_something = False

    def read(self, text: str, *, finished: bool = False) -> None:
        """Read on.

        Args:
            text: what follows, sanitized.
            finished: whether this is the end.
        """
        self._tail += text
        while self._tail and self._step(finished):
            pass
        if finished and self._growing:
            self._close_growing()

    def _step(self, finished: bool) -> bool:
        """Read as far as it can be read in one way. True: there is more, to be read in another way."""
        return self._read_units(finished) if self._growing is None else self._take_lines(self._growing, finished)

    def _read_units(self, finished: bool) -> bool:
        found = _Found(self._tail, self._number)
        self.characters_read += len(self._tail)
        known, self.open = self.open, []
        shows_something = self._shows_something
        for index, unit in enumerate(found.units):
            gap = (unit.gap if index else self._gap) and shows_something and unit.kind != "definition"
            shows_something = shows_something or unit.kind != "definition"
            is_closed = finished or (not self.open and found.is_closed(index))
            is_frozen = index < len(known) and known[index].is_frozen
            if not self.open and found.is_too_long(index):
                self._tail = self._tail[found.start(index) :]
                self._cut_unit(unit, gap=gap)
                return True
            if not self.open and not is_closed and found.can_grow(index):
                self._tail = self._tail[found.start(index) :]
                self._begin_growing(unit, gap=gap, is_frozen=is_frozen)
                return True
            part = known[index] if index < len(known) else UnitPart(self._painter)
            assert isinstance(part, UnitPart)
            part.set(unit, found.source(index), gap=gap)
            if is_closed:
                self._close(part, unit)
                continue
            if not self.open:
                self._set_tail(found, index, gap=gap)
            self.open.append(part)
        if not found.units:
            # What the spaces of an incomplete line mean is not known yet.
            self._tail = self._tail[self._tail.rfind("\n") + 1 :]
        elif not self.open:
            self._set_tail(found, len(found.units), gap=True)
        return False

    def _set_tail(self, found: "_Found", index: int, *, gap: bool) -> None:
        """Look at nothing before this unit again."""
        self._tail = self._tail[found.start(index) :]
        self._gap = gap
        self._number = found.units[index].number if index < len(found.units) else None

    def _begin_growing(self, unit: Unit, *, gap: bool, is_frozen: bool) -> None:
        """The text now begins with something that is taken line by line."""
        self._number = None
        self._gap = True
        if unit.kind == "fence":
            opening, _, self._tail = self._tail.partition("\n")
            self._growing = FencePart(self._painter, opening, gap=gap)
        else:
            header, delimiters, self._tail = self._tail.split("\n", 2)
            self._growing = TablePart(self._painter, f"{header}\n{delimiters}", gap=gap)
        self._growing.is_frozen = is_frozen
        self.open = [self._growing]

    def _cut_unit(self, unit: Unit, *, gap: bool) -> None:
        """Close the beginning of a unit that is too long. The rest is a paragraph again, or shown as it is."""
        if _is_text(unit):
            cut = _cut(self._tail)
        else:
            cut = self._tail.find("\n", _LONGEST_UNIT, 2 * _LONGEST_UNIT) + 1 or 2 * _LONGEST_UNIT
        source, self._tail = self._tail[:cut], self._tail[cut:]
        first = units(source, unit.number)[0]
        part = UnitPart(self._painter)
        part.set(first, source, gap=gap)
        self._close(part, first)
        self._number = None
        if _is_text(unit):
            self._tail = self._tail.lstrip(" \n")
            self._gap = False
        else:
            self._gap = True
            self._growing = RawPart(self._painter, gap=False)
            self.open = [self._growing]

    def _take_lines(self, part: GrowingPart, finished: bool) -> bool:
        if finished and not self._tail[self._tail.rfind("\n") + 1 :].strip(" \t"):
            # A last line of spaces only is none.
            self._tail = self._tail[: self._tail.rfind("\n") + 1]
        position = 0
        while (end := self._tail.find("\n", position)) >= 0 or (finished and position < len(self._tail)):
            end = end if end >= 0 else len(self._tail)
            taken = part.take(self._tail[position:end])
            if taken:
                position = end + 1
            else:
                part.set_partial("")  # the line that it was the beginning of belongs to the next part
            if not taken or not part.is_open:
                self._tail = self._tail[position:]
                self._close_growing()
                return True
        self.characters_read += len(self._tail)
        self._tail = self._tail[position:]
        part.set_partial(self._tail)
        return False

    def _close_growing(self) -> None:
        assert self._growing
        self._close(self._growing)
        self._growing = None
        self.open = []

    def _close(self, part: Part, unit: Unit | None = None) -> None:
        part.is_open = False
        part.changed()
        self.closed.append(part)
        if unit:
            for label, target in definitions(unit.tokens):
                if self.references.setdefault(label, target) is target:
                    self.defined.add(label)
        self._shows_something = self._shows_something or unit is None or unit.kind != "definition"


class _Found:
    """The units at the beginning of a text that may go on.

    Args:
        text: the text.
        number: of the item it begins with.
    """

    def __init__(self, text: str, number: int | None) -> None:
        self._text = text
        self.units = units(text, number)
        self._offsets = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
        self._complete_lines = len(self._offsets) - 2

    def start(self, index: int) -> int:
        """Where a unit begins in the text; behind the last unit, where the text begins that none has."""
        if index < len(self.units):
            return self._offsets[self.units[index].start]
        return len(self._text)

    def source(self, index: int) -> str:
        """The text up to the next unit."""
        return self._text[self.start(index) : self.start(index + 1)]

    def is_closed(self, index: int) -> bool:
        """Whether nothing can be added to it: the next unit is there, in a line that is complete."""
        if index + 1 >= len(self.units) or self.units[index + 1].start >= self._complete_lines:
            return False
        unit, following = self.units[index], self.units[index + 1]
        # What follows a definition immediately may turn out to be its title.
        is_title_possible = unit.kind == "definition" and following.start == unit.end
        return not is_title_possible or following.kind == "definition" or self.is_closed(index + 1)

    def can_grow(self, index: int) -> bool:
        """Whether it takes more line by line, and what it begins with is complete."""
        unit = self.units[index]
        return self._complete_lines - unit.start >= {"fence": 1, "table_open": 2}.get(unit.kind, len(self._text) + 1)

    def is_too_long(self, index: int) -> bool:
        """Whether it is too long to be read as a whole. What can grow never is."""
        unit = self.units[index]
        if unit.kind in ("fence", "table_open"):
            return False
        end = self._offsets[min(unit.end, len(self._offsets) - 1)]
        return end - self.start(index) >= 2 * (_SEGMENT if _is_text(unit) else _LONGEST_UNIT)


def _is_text(unit: Unit) -> bool:
    """Whether it is a paragraph, or a heading that looked like one until its underline came."""
    return unit.kind == "paragraph_open" or (unit.kind == "heading_open" and unit.tokens[0].markup in ("-", "="))


def _cut(text: str) -> int:
    """Where to cut a paragraph: where no inline markup seems to be open, else at a word, else anywhere."""
    candidates = [match.start() for match in _CUT.finditer(text, _SEGMENT, 2 * _SEGMENT)]
    balanced = next((cut for cut in candidates if _is_balanced(text[:cut])), None)
    if balanced is not None:
        return balanced
    return candidates[-1] if candidates else 2 * _SEGMENT - 1


def _is_balanced(text: str) -> bool:
    return all(text.count(mark) % 2 == 0 for mark in _PAIRED) and all(
        text.count(opening) == text.count(closing) for opening, closing in _BRACKETS
    )
