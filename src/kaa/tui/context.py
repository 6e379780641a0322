"""What every component can know of the program and the terminal it is in."""

from typing import NamedTuple

from kaa.tui.keymap import Keymap
from kaa.tui.palette import Palette


class Size:
    """The terminal's size in cells; changes when the terminal does."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns = columns
        self.rows = rows


class Glyphs(NamedTuple):
    """Characters that draw; `ASCII` has plain ones for terminals and locales without Unicode."""

    horizontal: str = "─"
    vertical: str = "│"
    top_left: str = "╭"
    top_right: str = "╮"
    bottom_left: str = "╰"
    bottom_right: str = "╯"
    bullet: str = "•"
    pointer: str = "›"
    ellipsis: str = "…"
    check: str = "✓"
    cross: str = "✗"
    expanded: str = "▾"
    collapsed: str = "▸"
    quote: str = "▎"
    spinner: str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


ASCII = Glyphs("-", "|", "+", "+", "+", "+", "*", ">", "...", "ok", "x", "v", ">", "|", "|/-\\")


class Context:
    """Given to every component.

    Attributes:
        palette: colours, by token.
        keymap: which keys do what.
        size: the terminal's size, for those who limit their height by it.
        glyphs: characters that draw.
        hyperlinks: whether the terminal shows OSC 8 links as links.
    """

    def __init__(
        self, palette: Palette, keymap: Keymap, size: Size, glyphs: Glyphs | None = None, *, hyperlinks: bool = False
    ) -> None:
        self.palette = palette
        self.keymap = keymap
        self.size = size
        self.glyphs = glyphs or Glyphs()
        self.hyperlinks = hyperlinks
