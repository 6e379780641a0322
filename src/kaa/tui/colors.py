"""Colours: what themes write, and what terminals with more or fewer of them are told.

*Stage 1*: loaded before the first frame.
"""

from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from kaa.tui.style import Style

# How many colours a terminal shows.
Depth: TypeAlias = Literal["none", "16", "256", "truecolor"]


class Rgb(NamedTuple):
    """A colour in sRGB, 0 to 255 each."""

    red: int
    green: int
    blue: int


# A colour as themes have it: exact, one of the terminal's 256, or the terminal's own.
Color: TypeAlias = Rgb | int | None

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")

# What xterm shows for its first 16 colours (XTerm-col.ad); others differ, but hardly in which one is the nearest.
_BASIC = (
    *(Rgb(0, 0, 0), Rgb(205, 0, 0), Rgb(0, 205, 0), Rgb(205, 205, 0)),
    *(Rgb(0, 0, 238), Rgb(205, 0, 205), Rgb(0, 205, 205), Rgb(229, 229, 229)),
    *(Rgb(127, 127, 127), Rgb(255, 0, 0), Rgb(0, 255, 0), Rgb(255, 255, 0)),
    *(Rgb(92, 92, 255), Rgb(255, 0, 255), Rgb(0, 255, 255), Rgb(255, 255, 255)),
)
# The 6x6x6 cube of colours 16 to 231, and the greys of 232 to 255 (xterm's 256colres.pl).
_CUBE = (0, 95, 135, 175, 215, 255)
_DARKEST_GREY, _GREY_STEP, _GREYS = 8, 10, 24

_BLACK, _GREY_16, _SILVER, _WHITE = 0, 8, 7, 15


def parse_hex(text: str) -> Rgb | None:
    """The colour of `#rrggbb`; None if it is something else."""
    if len(text) != 7 or text[0] != "#" or not _HEX_DIGITS.issuperset(text[1:]):
        return None
    return Rgb(int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16))


def rgb_of(index: int) -> Rgb:
    """What xterm shows for one of its 256 colours."""
    if index < 16:
        return _BASIC[index]
    if index < 232:
        red, rest = divmod(index - 16, 36)
        return Rgb(_CUBE[red], _CUBE[rest // 6], _CUBE[rest % 6])
    level = _DARKEST_GREY + _GREY_STEP * (index - 232)
    return Rgb(level, level, level)


def luminance(color: Rgb) -> float:
    """How bright people see it, 0 to 1 (WCAG 2.2, relative luminance)."""
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in (part / 255 for part in color)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Rgb, other: Rgb) -> float:
    """How well one can be read on the other, 1 to 21 (WCAG 2.2, contrast ratio); 4.5 is enough for text."""
    darker, brighter = sorted((luminance(one), luminance(other)))
    return (brighter + 0.05) / (darker + 0.05)


def foreground(color: Color, depth: Depth, *, is_dark: bool) -> Style:
    """The SGR parameters that write in this colour.

    Args:
        color: the colour; None for the terminal's own.
        depth: how many colours the terminal has.
        is_dark: whether the background is; with 16 colours, text never gets the one that cannot be seen on it.
    """
    if color is None or depth == "none":
        return ""
    if depth != "16":
        return f"38;{_extended(color, depth)}"
    unreadable = (_BLACK,) if is_dark else (_WHITE, _SILVER)
    index = _nearest_basic(color if isinstance(color, Rgb) else rgb_of(color), unreadable)
    return str(30 + index if index < 8 else 82 + index)


def background(color: Color, depth: Depth) -> Style:
    """The SGR parameters that fill with this colour; empty where 16 colours have only a grey for it.

    A tint that sets something off becomes black, grey or white there, which would rather hide the text.
    """
    if color is None or depth == "none":
        return ""
    if depth != "16":
        return f"48;{_extended(color, depth)}"
    index = _nearest_basic(color if isinstance(color, Rgb) else rgb_of(color), ())
    if index in {_BLACK, _GREY_16, _SILVER, _WHITE}:
        return ""
    return str(40 + index if index < 8 else 92 + index)


def _extended(color: Rgb | int, depth: Depth) -> str:
    if isinstance(color, int):
        return f"5;{color}"
    if depth == "256":
        return f"5;{_nearest_extended(color)}"
    return f"2;{color.red};{color.green};{color.blue}"


@lru_cache(maxsize=256)
def _nearest_extended(color: Rgb) -> int:
    """The nearest of colours 16 to 255; the first 16 are whatever the user made of them."""
    steps = [min(range(6), key=lambda step: abs(_CUBE[step] - channel)) for channel in color]
    cube = 16 + 36 * steps[0] + 6 * steps[1] + steps[2]
    mean = sum(color) / 3
    grey = 232 + max(0, min(_GREYS - 1, round((mean - _DARKEST_GREY) / _GREY_STEP)))
    return min(cube, grey, key=lambda index: _distance(rgb_of(index), color))


@lru_cache(maxsize=256)
def _nearest_basic(color: Rgb, without: tuple[int, ...]) -> int:
    return min(
        (index for index in range(16) if index not in without), key=lambda index: _distance(_BASIC[index], color)
    )


def _distance(one: Rgb, other: Rgb) -> int:
    """How different they look, squared: channels count as the eye weighs them (weights 2, 4, 3)."""
    return 2 * (one.red - other.red) ** 2 + 4 * (one.green - other.green) ** 2 + 3 * (one.blue - other.blue) ** 2
