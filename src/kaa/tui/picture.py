r"""Pictures in painted lines, as presenters see them.

A painted line that begins with the sequence of a picture, of Kitty's protocol or of iTerm2's, is that picture. It is
never cut. The sequence tells the rows that the picture takes (`r=` or `height=`); the lines below it, as far as it
reaches, are empty. (Stage 1.)
"""

import re
from typing import Literal, TypeAlias

# How a terminal takes pictures.
ImageProtocol: TypeAlias = Literal["none", "kitty", "iterm2"]

# Compiled when the first picture comes, which is not in the first frame.
# https://sw.kovidgoyal.net/kitty/graphics-protocol/ and https://iterm2.com/documentation-images.html
_KITTY, _ITERM = "\x1b_G", "\x1b]1337;File="
_ROWS = r"\x1b(?:_G(?:[^;]*,)?r=|\]1337;File=(?:[^:]*;)?height=)(\d+)[,;:\x1b]"
_ID = r"\x1b_G(?:[^;]*,)?i=(\d+)[,;\x1b]"


def is_picture(line: str) -> bool:
    """Whether a painted line is a picture."""
    return line.startswith((_KITTY, _ITERM))


def picture_rows(line: str) -> int:
    """How many rows the picture takes."""
    match = re.match(_ROWS, line)
    return int(match[1]) if match else 1


def remove_picture(line: str) -> str:
    """The sequence that takes the picture off the screen; empty if it goes with the cells that it is in."""
    match = re.match(_ID, line)
    return f"\x1b_Ga=d,d=i,i={match[1]},q=2\x1b\\" if match else ""
