"""Theme files, in pi's format: a JSON object with a name, variables, and a colour for each of 51 tokens.

A colour is `#rrggbb`, one of the terminal's 256 by number, the name of a variable, or `""` for the terminal's own.
Tokens that pi does not know (yet) are kept. Some tokens say more than a colour: headings are bold, quotes italic; that
is part of their style here, so components just paint. *Stage 1*: loaded before the first frame.
"""

import json
from collections.abc import Iterable, Mapping

from kaa.tui.colors import Color, Depth, Rgb, background, foreground, luminance, parse_hex, rgb_of
from kaa.tui.palette import Theme
from kaa.tui.style import BOLD, DIM, INVERSE, ITALIC, UNDERLINE, Style, join

# The tokens that a theme must have (pi 0.74, theme-schema.json).
_TOKEN_NAMES = (
    "accent border borderAccent borderMuted success error warning muted dim text thinkingText "
    "selectedBg userMessageBg userMessageText customMessageBg customMessageText customMessageLabel "
    "toolPendingBg toolSuccessBg toolErrorBg toolTitle toolOutput "
    "mdHeading mdLink mdLinkUrl mdCode mdCodeBlock mdCodeBlockBorder mdQuote mdQuoteBorder mdHr mdListBullet "
    "toolDiffAdded toolDiffRemoved toolDiffContext "
    "syntaxComment syntaxKeyword syntaxFunction syntaxVariable syntaxString syntaxNumber syntaxType "
    "syntaxOperator syntaxPunctuation "
    "thinkingOff thinkingMinimal thinkingLow thinkingMedium thinkingHigh thinkingXhigh bashMode"
)
TOKENS = tuple(_TOKEN_NAMES.split())

# Tokens of later versions of pi, with the one that stands in for them.
_OPTIONAL = {"thinkingMax": "thinkingXhigh"}

# What a token says beside its colour.
_ATTRIBUTES: dict[str, Style] = {
    "customMessageLabel": BOLD,
    "mdHeading": BOLD,
    "mdLink": UNDERLINE,
    "mdQuote": ITALIC,
    "thinkingText": ITALIC,
    "toolTitle": BOLD,
}

# And where there are no colours, so that what matters still stands out.
_ATTRIBUTES_ALONE: dict[str, Style] = {
    **_ATTRIBUTES,
    "accent": BOLD,
    "bashMode": BOLD,
    "borderMuted": DIM,
    "dim": DIM,
    "error": BOLD,
    "mdCode": BOLD,
    "mdLinkUrl": DIM,
    "muted": DIM,
    "selectedBg": INVERSE,
    "syntaxComment": DIM,
    "syntaxKeyword": BOLD,
    "thinkingText": join(DIM, ITALIC),
    "toolDiffAdded": BOLD,
    "warning": BOLD,
}


class ThemeError(ValueError):
    """A theme cannot be used; the message names the file and everything that is wrong with it."""


def parse(text: str, source: str, depth: Depth, required: Iterable[str] = TOKENS) -> Theme:
    """The theme that a file describes.

    Args:
        text: the file's content.
        source: the file's name, for messages.
        depth: how many colours the terminal has; colours it lacks become the nearest it has.
        required: tokens that must be there.

    Raises:
        ThemeError: it is no theme, or tokens are missing or have no colour.
    """
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ThemeError(f"{source} is not a theme: it is not JSON ({error})") from error
    if not isinstance(document, dict):
        raise ThemeError(f'{source} is not a theme: it must be {{"name": …, "colors": {{…}}}}')
    problems: list[str] = []
    name = document.get("name")
    if not isinstance(name, str) or not name:
        problems.append('"name" must be a text')
    variables = _mapping(document, "vars", problems)
    colors = _mapping(document, "colors", problems)
    if missing := [token for token in required if token not in colors]:
        problems.append(f"no colour for {', '.join(missing)}")
    resolved = {token: _resolve(f"colors.{token}", value, variables, problems) for token, value in colors.items()}
    if problems:
        raise ThemeError(f"{source} is not a theme: {'; '.join(problems)}")
    for token, stand_in in _OPTIONAL.items():
        resolved.setdefault(token, resolved.get(stand_in))
    is_dark = _is_dark(str(name), resolved)
    styles = {token: _style(token, color, depth, is_dark) for token, color in resolved.items()}
    return Theme(str(name), styles, is_dark=is_dark)


def _mapping(document: Mapping[str, object], key: str, problems: list[str]) -> Mapping[str, object]:
    value = document.get(key, {})
    if isinstance(value, dict):
        return value
    problems.append(f'"{key}" must be an object of colours')
    return {}


def _resolve(place: str, value: object, variables: Mapping[str, object], problems: list[str]) -> Color:
    """The colour that a value stands for, through any number of variables."""
    seen: list[str] = []
    while isinstance(value, str) and value in variables and value not in seen:
        seen.append(value)
        value = variables[value]
    if value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255:
        return value
    if isinstance(value, str) and (color := parse_hex(value)):
        return color
    through = f" (through {' -> '.join(seen)})" if seen else ""
    if isinstance(value, str) and value in seen:
        problems.append(f"{place} goes in a circle{through}")
    else:
        problems.append(f'{place} is {_shown(value)}{through}, but must be "#rrggbb", 0 to 255, a variable or ""')
    return None


def _shown(value: object) -> str:
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else f"{shown[:39]}…"


def _is_dark(name: str, colors: Mapping[str, Color]) -> bool:
    """Whether it is made for a dark background: its own backgrounds tell, else its text, else its name."""
    tints = [luminance(_exact(color)) for token, color in colors.items() if token.endswith("Bg") and color is not None]
    if tints:
        return sum(tints) / len(tints) < 0.4
    text = colors.get("text")
    if text is not None:
        return luminance(_exact(text)) > 0.4
    return "light" not in name.lower()


def _exact(color: Rgb | int) -> Rgb:
    return color if isinstance(color, Rgb) else rgb_of(color)


def _style(token: str, color: Color, depth: Depth, is_dark: bool) -> Style:
    if depth == "none":
        return _ATTRIBUTES_ALONE.get(token, "")
    if token.endswith("Bg"):
        filled = background(color, depth)
        # What is selected must be seen, also where there is no fitting colour.
        return INVERSE if token == "selectedBg" and depth == "16" and not filled and color is not None else filled
    return join(_ATTRIBUTES.get(token, ""), foreground(color, depth, is_dark=is_dark))
