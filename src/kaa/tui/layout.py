"""Breaks styled text into lines: greedy word wrap over graphemes, with prefixes and hanging indents."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from kaa.tui.style import Span, Style, paint_spans
from kaa.tui.width import cells, clip, grapheme_cells, graphemes, is_narrow, plain

# Ideographic punctuation that does not begin a line, and such that does not end one (the core of JIS X 4051).
_NOT_FIRST = frozenset("、。，．・：；？！）］｝〉》」』】〕〗〙ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…")  # noqa: RUF001 - that is what they are
_NOT_LAST = frozenset("（［｛〈《「『【〔〖〘")  # noqa: RUF001 - as above
# Wide characters from here on are pictures, which belong to the word they stand in.
_FIRST_PICTURE = "\U0001f000"
_TOO_WIDE = "?"
_SPACES = re.compile(" *")


def wrap(
    spans: Sequence[Span], width: int, first: Sequence[Span] = (), rest: Sequence[Span] | None = None
) -> list[str]:
    """Break text into painted lines; see `wrap_spans`."""
    return [paint_spans(line) for line in wrap_spans(spans, width, first, rest)]


def wrap_spans(
    spans: Sequence[Span], width: int, first: Sequence[Span] = (), rest: Sequence[Span] | None = None
) -> list[list[Span]]:
    r"""Break text into lines, for those who decorate lines further.

    Lines break at spaces, which vanish there, and next to ideographs. A word longer than a line begins one of its own
    and goes on in the next ones. Spaces that a line of the text begins with stay, as many as leave room for the word
    behind them. Styles are passed on as the objects that they are.

    Args:
        spans: the text, tabs expanded; "\n" begins a new line.
        width: of the lines, in cells; less than one counts as one.
        first: what the first line begins with.
        rest: what each further line begins with; as `first` if it is None.

    Returns:
        One line at least.
    """
    width = max(1, width)
    prefix = _fitting_prefix(first, width)
    rest_prefix = prefix if rest is None else _fitting_prefix(rest, width)
    room, rest_room = width - _width_of(prefix), width - _width_of(rest_prefix)
    lines: list[list[Span]] = []
    for paragraph in _paragraphs(spans):
        shown = paragraph
        text = "".join(text for text, _ in shown)
        narrow = is_narrow(text)
        if not narrow and cells(text) > (smallest := min(room, rest_room)):
            shown = [("".join(_shown_in(piece, smallest)), style) for piece, style in paragraph]
            text = "".join(text for text, _ in shown)
        ranges = _narrow_ranges(text, room, rest_room) if narrow else _wide_ranges(text, room, rest_room)
        for line in _sliced(shown, ranges):
            lines.append([*prefix, *line])
            prefix = rest_prefix
        room = rest_room
    return lines


def pad(line: str, width: int, style: Style) -> str:
    """A painted line filled with spaces up to `width` cells, all of it on the background that `style` sets."""
    line += " " * (width - cells(plain(line)))
    if not style:
        return line
    begin = f"\x1b[{style}m"
    # A span's end resets everything, also the background.
    return begin + line.replace("\x1b[0m", f"\x1b[0m{begin}") + "\x1b[0m"


def _width_of(spans: Sequence[Span]) -> int:
    return sum(cells(text) for text, _ in spans)


def _fitting_prefix(spans: Sequence[Span], width: int) -> list[Span]:
    """A prefix leaves one cell for the text at least."""
    if _width_of(spans) < width:
        return list(spans)
    left = width - 1
    fitting: list[Span] = []
    for text, style in spans:
        cut = clip(text, left)
        left -= cells(cut)
        fitting.append((cut, style))
        if cut != text:
            break
    return fitting


def _paragraphs(spans: Sequence[Span]) -> Iterator[list[Span]]:
    paragraph: list[Span] = []
    for text, style in spans:
        if "\n" not in text:
            paragraph.append((text, style))
            continue
        head, *tails = text.split("\n")
        paragraph.append((head, style))
        for tail in tails:
            yield paragraph
            paragraph = [(tail, style)]
    yield paragraph


def _shown_in(text: str, width: int) -> Iterator[str]:
    """The graphemes; in place of one wider than a line something that is not."""
    return (grapheme if grapheme_cells(grapheme) <= width else _TOO_WIDE for grapheme in graphemes(text))


def _narrow_ranges(text: str, room: int, rest_room: int) -> Iterator[tuple[int, int]]:
    """Where lines begin and end in a text whose positions are columns."""
    start, end = 0, len(text.rstrip(" "))
    word = _behind_spaces(text, 0)
    while end - start > room:
        # The last space that may end the line: one behind its first word.
        cut = text.rfind(" ", word, start + room + 1)
        if cut < 0:
            # No further than a line reaches: of a word that takes thousands of them, each would search the rest.
            limit = min(end, word + room)
            word_end = text.find(" ", word, limit)
            word_length = (limit if word_end < 0 else word_end) - word
            # The indentation gives way to the word behind it.
            start = max(start, word + word_length - room)
            cut = start + room
        yield start, start + len(text[start:cut].rstrip(" "))
        start = word = _behind_spaces(text, cut)
        room = rest_room
    yield start, end


def _wide_ranges(text: str, room: int, rest_room: int) -> Iterator[tuple[int, int]]:
    """The same for any text. Works on graphemes: `columns[i]` and `offsets[i]` are where the i-th of them begins."""
    pieces = list(graphemes(text.rstrip(" ")))
    columns = list(accumulate(map(grapheme_cells, pieces), initial=0))
    offsets = list(accumulate(map(len, pieces), initial=0))
    start, end = 0, len(pieces)
    word = _skip_spaces(pieces, 0)
    while columns[end] - columns[start] > room:
        limit = bisect_right(columns, columns[start] + room) - 1
        cut = next((index for index in range(limit, word, -1) if _may_break(pieces, index)), 0)
        if not cut:
            limit = min(end, bisect_left(columns, columns[word] + room))
            word_end = next((index for index in range(word + 1, limit) if _may_break(pieces, index)), limit)
            needed = min(columns[word_end] - columns[word], room)
            while start < word and columns[word] - columns[start] + needed > room:
                start += 1
            cut = max(word + 1, bisect_right(columns, columns[start] + room) - 1)
        last = cut
        while last > start and pieces[last - 1] == " ":
            last -= 1
        yield offsets[start], offsets[last]
        start = word = _skip_spaces(pieces, cut)
        room = rest_room
    yield offsets[start], offsets[end]


def _behind_spaces(text: str, position: int) -> int:
    match = _SPACES.match(text, position)
    assert match
    return match.end()


def _skip_spaces(pieces: list[str], index: int) -> int:
    while index < len(pieces) and pieces[index] == " ":
        index += 1
    return index


def _may_break(pieces: list[str], index: int) -> bool:
    """Whether a line may end before the piece at `index`."""
    before, after = pieces[index - 1], pieces[index]
    if " " in (before, after):
        return after == " "
    if after in _NOT_FIRST or before in _NOT_LAST:
        return False
    return _is_ideograph(before) or _is_ideograph(after)


def _is_ideograph(grapheme: str) -> bool:
    return grapheme < _FIRST_PICTURE and not grapheme.isascii() and grapheme_cells(grapheme) > 1


def _sliced(spans: list[Span], ranges: Iterator[tuple[int, int]]) -> Iterator[list[Span]]:
    """The spans cut at the ranges, which follow one another."""
    index = position = 0
    for start, end in ranges:
        line: list[Span] = []
        while index < len(spans):
            text, style = spans[index]
            piece = text[max(0, start - position) : max(0, end - position)]
            if piece:
                line.append((piece, style))
            if position + len(text) > end:
                break
            position += len(text)
            index += 1
        yield line
