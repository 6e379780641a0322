"""What is done to an image: decoded, turned upright, scaled, encoded. Runs in the confined process."""

import io
import math
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from PIL import Image, ImageFile

_MAX_SIDE = 2000
MAX_BYTES = int(4.5 * 1024 * 1024) // 4 * 3  # 4.5 MiB once base64 encoded
# What decoding takes: 4 bytes a pixel. WebP takes 16. A JPEG is decoded smaller, of which a progressive one keeps 8.
_MAX_PIXELS = 40_000_000
_MAX_PIXELS_OF_WEBP = 20_000_000
_MAX_PIXELS_OF_JPEG = 100_000_000
_STRIP_ROWS = 64
_JPEG_QUALITIES = (85, 70, 55, 40)
_SHRINK = 0.75
_ORIENTATION_TAG = 0x0112  # Exif 2.3, 4.6.4
_UPRIGHT = 1
# How an image is turned upright, by its orientation.
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_ON_ITS_SIDE = (_TURNS[5], _TURNS[6], _TURNS[7], _TURNS[8])
# What Pillow raises on images that are broken or made to break it.
_BROKEN_IMAGE = (OSError, SyntaxError, ValueError, TypeError, LookupError, EOFError, struct.error, zlib.error)
_TOO_LARGE = (OverflowError, MemoryError)
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHUNK_FRAME = 12  # bytes of a chunk around its data: length, type, checksum
# How complete files end. One that lacks this may be taken by Pillow and refused by a provider, at every later request.
_ENDINGS = {"image/png": b"IEND\xaeB`\x82", "image/jpeg": b"\xff\xd9", "image/gif": b";"}


class PictureError(Exception):
    """An image cannot be used; the message says why."""


class Picture(NamedTuple):
    """An image within the limits. Sizes are (width, height) in pixels, `original_size` after turning upright."""

    data: bytes
    mime_type: str
    size: tuple[int, int]
    original_size: tuple[int, int]


def fitted(data: bytes, mime_type: str) -> Picture:
    """The image within the limits.

    Raises:
        PictureError: it is broken, or too large to be decoded safely.
    """
    try:
        data = _readable(data) if mime_type == "image/png" else data
        image = _open(data, mime_type)
        if math.prod(image.size) > _most_pixels(image, mime_type):
            raise PictureError(f"it has {image.width}x{image.height} pixels, more than can be decoded safely")
        size = image.size
        image.draft(None, _within(size, _MAX_SIDE))  # a JPEG that is too large is decoded smaller
        image.load()
        turn = _TURNS.get(image.getexif().get(_ORIENTATION_TAG, _UPRIGHT))
        if turn is None and image.size == size and _is_sendable(image, data, mime_type):
            return Picture(data, mime_type, size, size)
        small = _reduced(image, _within(size, _MAX_SIDE))
        if turn is None:
            return _shrink(small, size, mime_type)
        return _shrink(small.transpose(turn), size[::-1] if turn in _ON_ITS_SIDE else size, mime_type)
    except _TOO_LARGE as error:
        raise PictureError("it is too large to be decoded safely") from error
    except _BROKEN_IMAGE as error:
        raise PictureError(f"it is not a valid {mime_type} file ({str(error) or type(error).__name__})") from error


def _readable(data: bytes) -> bytes:
    """A PNG without the chunks that pixels do not need and whose checksums are wrong; the very same object without any.

    Viewers ignore such chunks (PNG, third edition, 13.2), Pillow and providers refuse them.
    """
    at, kept = len(_PNG_SIGNATURE), [data[: len(_PNG_SIGNATURE)]]
    is_whole = True
    while at + _CHUNK_FRAME <= len(data):
        end = at + _CHUNK_FRAME + int.from_bytes(data[at : at + 4], "big")
        chunk, at = data[at:end], end
        is_ancillary = bool(chunk[4] & 0x20)  # a small first letter
        if is_ancillary and zlib.crc32(chunk[4:-4]) != int.from_bytes(chunk[-4:], "big"):
            is_whole = False
        else:
            kept.append(chunk)
    return data if is_whole else b"".join([*kept, data[at:]])


def load_format(mime_type: str) -> None:
    """Import all that decoding an image of this type needs: afterwards no file can be opened."""
    # Both encoders, and what Pillow imports in the middle of its work.
    import copy  # noqa: F401

    from PIL import ImageColor, ImagePalette, JpegImagePlugin, PngImagePlugin, TiffImagePlugin  # noqa: F401

    Image.preinit()
    _class_of(mime_type)


def _open(data: bytes, mime_type: str) -> Image.Image:
    """The image, not decoded yet.

    The format's own class is used: `Image.open` would try every format.
    """
    return _class_of(mime_type)(io.BytesIO(data))


def _class_of(mime_type: str) -> type[ImageFile.ImageFile]:
    match mime_type:
        case "image/png":
            from PIL.PngImagePlugin import PngImageFile

            return PngImageFile
        case "image/jpeg":
            from PIL.JpegImagePlugin import JpegImageFile

            return JpegImageFile
        case "image/gif":
            from PIL.GifImagePlugin import GifImageFile

            return GifImageFile
        case "image/webp":
            from PIL.WebPImagePlugin import WebPImageFile

            return WebPImageFile
        case _:
            from PIL.BmpImagePlugin import BmpImageFile

            return BmpImageFile


def _is_sendable(image: Image.Image, data: bytes, mime_type: str) -> bool:
    fits = max(image.size) <= _MAX_SIDE and len(data) <= MAX_BYTES
    return fits and mime_type != "image/bmp" and data.endswith(_ENDINGS.get(mime_type, b""))


def _most_pixels(image: Image.Image, mime_type: str) -> int:
    """How many pixels can be decoded in 320 MB."""
    if mime_type == "image/webp":
        return _MAX_PIXELS_OF_WEBP
    return _MAX_PIXELS_OF_JPEG if mime_type == "image/jpeg" and "progressive" not in image.info else _MAX_PIXELS


def _within(size: tuple[int, int], side: float) -> tuple[int, int]:
    """The size of an image whose longer side is scaled down to this length."""
    scale = min(1.0, side / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _reduced(image: Image.Image, wanted: tuple[int, int]) -> Image.Image:
    """The image in RGB or RGBA, reduced by a whole number, but not below this size.

    In strips: the whole one in another mode would take as much memory again.
    """
    mode = "RGBA" if image.has_transparency_data else "RGB"
    factor = max(1, min(image.width // wanted[0], image.height // wanted[1]))
    if image.mode == mode and factor == 1:
        return image
    reduced = Image.new(mode, (math.ceil(image.width / factor), math.ceil(image.height / factor)))
    height = _STRIP_ROWS * factor
    for top in range(0, image.height, height):
        strip = image.crop((0, top, image.width, min(top + height, image.height)))
        reduced.paste(strip.convert(mode).reduce(factor), (0, top // factor))
    return reduced


def _shrink(image: Image.Image, original_size: tuple[int, int], mime_type: str) -> Picture:
    """The image within the limits: as large as possible, and as good as possible at that size."""
    side: float = _MAX_SIDE
    while True:
        size = _within(original_size, side)
        scaled = image if size == image.size else image.resize(size)
        for data, encoded_type in _encodings(scaled, photograph=mime_type == "image/jpeg"):
            if len(data) <= MAX_BYTES:
                return Picture(data, encoded_type, size, original_size)
        side = max(size) * _SHRINK


def _encodings(image: Image.Image, *, photograph: bool) -> Iterator[tuple[bytes, str]]:
    """The image as PNG, which loses nothing, then as JPEG with falling quality. Photographs are never worth a PNG."""
    if not photograph:
        yield _encode(image, "PNG"), "image/png"
    opaque = _on_white(image) if image.mode == "RGBA" else image
    for quality in _JPEG_QUALITIES:
        yield _encode(opaque, "JPEG", quality), "image/jpeg"


def _on_white(image: Image.Image) -> Image.Image:
    background = Image.new("RGB", image.size, "white")
    background.paste(image, mask=image.getchannel("A"))
    return background


def _encode(image: Image.Image, image_format: str, quality: int = _JPEG_QUALITIES[0]) -> bytes:
    stream = io.BytesIO()
    image.save(stream, image_format, quality=quality)
    return stream.getvalue()
