"""How cells of the emulated screen look: SGR parameters, read as xterm reads them."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")

# The steps of the colour cube of 256-colour terminals (xterm, 256colres.pl).
_CUBE = (0, 95, 135, 175, 215, 255)


class Style(NamedTuple):
    """A style. Colours are the names of the first 16 (`red`, `bright red`), `#rrggbb`, or empty for the default.

    Attributes:
        link: the address of an OSC 8 link.
    """

    foreground: str = ""
    background: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    blink: bool = False
    inverse: bool = False
    conceal: bool = False
    strike: bool = False
    link: str = ""


PLAIN = Style()

_CHANGES: dict[int, dict[str, Any]] = {  # any: what `_replace` takes for fields of different types
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    5: {"blink": True},
    6: {"blink": True},
    7: {"inverse": True},
    8: {"conceal": True},
    9: {"strike": True},
    21: {"underline": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    25: {"blink": False},
    27: {"inverse": False},
    28: {"conceal": False},
    29: {"strike": False},
}


@lru_cache(4096)
def apply(style: Style, parameters: str) -> Style:
    """The style after `CSI parameters m`. What is unknown changes nothing."""
    words = iter(parameters.split(";"))
    for word in words:
        number, *rest = word.split(":")
        style = _change(style, int(number or 0), rest, words)
    return style


def _change(style: Style, number: int, rest: list[str], following: Iterator[str]) -> Style:
    match number:
        case 0:
            return PLAIN._replace(link=style.link)
        case 4 if rest:
            return style._replace(underline=rest[0] != "0")
        case 38:
            return style._replace(foreground=_long_colour(rest, following))
        case 48:
            return style._replace(background=_long_colour(rest, following))
        case 58:
            _long_colour(rest, following)
            return style
        case 39:
            return style._replace(foreground="")
        case 49:
            return style._replace(background="")
        case _ if 30 <= number <= 37 or 90 <= number <= 97:
            return style._replace(foreground=_named(number - 30))
        case _ if 40 <= number <= 47 or 100 <= number <= 107:
            return style._replace(background=_named(number - 40))
        case _:
            return style._replace(**_CHANGES.get(number, {}))


def _named(number: int) -> str:
    return _COLOURS[number] if number < 8 else f"bright {_COLOURS[number - 60]}"


def _long_colour(rest: list[str], following: Iterator[str]) -> str:
    """A colour of 256 or of all, in the form with colons (ITU T.416) or the usual one with semicolons."""
    if rest:
        kind, *values = rest
        # With colons a colour space may stand before the three values.
        numbers = [int(value or 0) for value in (values[-3:] if kind == "2" else values)]
    else:
        kind = next(following, "")
        numbers = [int(next(following, "") or 0) for _ in range({"2": 3, "5": 1}.get(kind, 0))]
    match kind, numbers:
        case "5", [index, *_]:
            return indexed(index)
        case "2", [red, green, blue]:
            return f"#{red:02x}{green:02x}{blue:02x}"
        case _:
            return ""


def indexed(index: int) -> str:
    """A colour of the 256."""
    if index < 8:
        return _COLOURS[index]
    if index < 16:
        return f"bright {_COLOURS[index - 8]}"
    if index < 232:
        red, rest = divmod(index - 16, 36)
        green, blue = divmod(rest, 6)
        return f"#{_CUBE[red]:02x}{_CUBE[green]:02x}{_CUBE[blue]:02x}"
    grey = 8 + 10 * (index - 232)
    return f"#{grey:02x}{grey:02x}{grey:02x}"
