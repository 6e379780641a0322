"""Images: drawn where the terminal can, else described.

A picture is one painted line with its sequence, and an empty line for each other row that it takes (see
`kaa.tui.picture`). Its pixels travel whenever that line is painted; so they are scaled down to what is shown first.
"""

import os
import warnings
from base64 import b64encode
from io import BytesIO
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from kaa.tui.components.display import Display
from kaa.tui.components.text import harmless, truncated
from kaa.tui.context import Context
from kaa.tui.picture import ImageProtocol
from kaa.tui.style import paint

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

# Width and height in pixels, of terminals that do not tell.
_CELL_PIXELS = (9, 18)
# Decoding more than this takes longer than a frame should (a quarter of a second for a PNG of this size).
_MOST_PIXELS = 12_000_000
_MOST_BYTES = 30_000_000
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
# The longest payload of one sequence (Kitty's graphics protocol, "The transmission medium").
_CHUNK = 4096

# Ids are shared by all programs on a terminal; others begin at 1.
_ids = count(1 + (os.getpid() % 0xFFFF) * 0x100)


class Graphics:
    """How images can be drawn. Whoever learns more of the terminal changes this.

    Attributes:
        protocol: what the terminal speaks.
        cell_pixels: width and height of a cell; None if unknown.
    """

    def __init__(self, protocol: ImageProtocol = "none", cell_pixels: tuple[int, int] | None = None) -> None:
        self.protocol = protocol
        self.cell_pixels = cell_pixels


class Image(Display):
    """An image.

    Args:
        context: what all components know.
        data: the file's bytes.
        graphics: how it can be drawn.
        max_columns: the widest that it is drawn, in cells.
        max_rows: the highest.
    """

    def __init__(
        self, context: Context, data: bytes, graphics: Graphics, max_columns: int = 80, max_rows: int = 20
    ) -> None:
        super().__init__(context)
        self._data = data
        self._graphics = graphics
        self._max_columns = max_columns
        self._max_rows = max_rows
        self._id = next(_ids)
        self._drawn_for: tuple[ImageProtocol, tuple[int, int] | None] | None = None

    def render(self, width: int) -> list[str]:
        """The picture, or a line about it."""
        state = (self._graphics.protocol, self._graphics.cell_pixels)
        if state != self._drawn_for:
            self._drawn_for = state
            self.changed()
        return super().render(width)

    def _paint(self, width: int) -> list[str]:
        try:
            return self._drawn(width)
        except _UndrawableError as error:
            text = harmless(f"[image: {error}]")
        return [paint(truncated(text, width, self._context.glyphs.ellipsis), self._context.palette["muted"])]

    def _drawn(self, width: int) -> list[str]:
        picture = _opened(self._data)
        if self._graphics.protocol == "none":
            raise _UndrawableError(self._description(picture))
        cell = self._graphics.cell_pixels or _CELL_PIXELS
        box = _box(picture.size, cell, min(width, self._max_columns), self._max_rows)
        png = _png(picture, (box.columns * cell[0], box.rows * cell[1]))
        draw = _kitty if self._graphics.protocol == "kitty" else _iterm2
        return [draw(png, box, self._id), *[""] * (box.rows - 1)]

    def _description(self, picture: "Picture") -> str:
        times = "x" if self._context.glyphs.horizontal == "-" else "\u00d7"
        width, height = picture.size
        return f"{width}{times}{height} {(picture.format or '').lower()}, {_size(len(self._data))}"


class _UndrawableError(Exception):
    """An image that is described instead, with what is said about it."""


class _Box(NamedTuple):
    columns: int
    rows: int


def _opened(data: bytes) -> "Picture":
    """The image, of which nothing but the header was read.

    Raises:
        _UndrawableError: it is none, or too large.
    """
    if len(data) > _MOST_BYTES:
        raise _UndrawableError(f"{_size(len(data))}, too large to be shown")
    # Lazily: it takes 30 ms, and most sessions have no images.
    from PIL import Image as Images

    try:
        with warnings.catch_warnings():
            # Pillow says that it is large; so do we.
            warnings.simplefilter("ignore", Images.DecompressionBombWarning)
            picture = Images.open(BytesIO(data), formats=_FORMATS)
    except Images.DecompressionBombError:
        raise _UndrawableError(f"{_size(len(data))}, too many pixels to be shown") from None
    except Exception as error:  # decoders of foreign bytes fail with anything
        raise _UndrawableError(f"{_size(len(data))}, cannot be read ({type(error).__name__})") from error
    width, height = picture.size
    if width * height > _MOST_PIXELS:
        raise _UndrawableError(f"{_size(len(data))}, too many pixels to be shown")
    return picture


def _png(picture: "Picture", pixels: tuple[int, int]) -> bytes:
    """The image as PNG, no larger than it is going to be drawn."""
    try:
        picture.draft("RGB", pixels)
        drawn = picture if picture.mode in ("RGB", "RGBA", "L") else picture.convert("RGBA")
        drawn.thumbnail(pixels)
        out = BytesIO()
        drawn.save(out, "PNG", compress_level=1)
    except Exception as error:  # as above
        raise _UndrawableError(f"broken ({type(error).__name__})") from error
    return out.getvalue()


def _box(size: tuple[int, int], cell: tuple[int, int], max_columns: int, max_rows: int) -> _Box:
    """The cells that the image takes: as many as its pixels ask for, fewer if there is not that much room."""
    columns, rows = max(1, size[0]) / cell[0], max(1, size[1]) / cell[1]
    scale = min(1.0, max_columns / columns, max_rows / rows)
    return _Box(max(1, min(max_columns, round(columns * scale))), max(1, min(max_rows, round(rows * scale))))


def _kitty(png: bytes, box: _Box, image_id: int) -> str:
    """https://sw.kovidgoyal.net/kitty/graphics-protocol/: transmit and place, cursor left alone, no answers."""
    data = b64encode(png).decode()
    chunks = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    control = f"a=T,f=100,i={image_id},p=1,q=2,C=1,c={box.columns},r={box.rows},"
    last = len(chunks) - 1
    return "".join(
        f"\x1b_G{'' if index else control}m={int(index < last)};{chunk}\x1b\\" for index, chunk in enumerate(chunks)
    )


def _iterm2(png: bytes, box: _Box, _image_id: int) -> str:
    """https://iterm2.com/documentation-images.html."""
    control = f"inline=1;size={len(png)};width={box.columns};height={box.rows};preserveAspectRatio=1"
    return f"\x1b]1337;File={control}:{b64encode(png).decode()}\x07"


def _size(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
