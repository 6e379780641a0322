"""What is done to an image: decoded, turned upright, scaled, encoded. Runs in the confined process."""

import io
import math
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from PIL import Image, ImageFile, ImageOps

_MAX_SIDE = 2000
MAX_BYTES = int(4.5 * 1024 * 1024) // 4 * 3  # 4.5 MiB once base64 encoded
_MAX_PIXELS = 60_000_000  # 240 MB decoded
_JPEG_QUALITIES = (85, 70, 55, 40)
_SHRINK = 0.75
_ORIENTATION_TAG = 0x0112  # Exif 2.3, 4.6.4
_UPRIGHT = 1
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
        if math.prod(image.size) > _MAX_PIXELS:
            raise PictureError(f"it has {image.width}x{image.height} pixels, more than can be decoded safely")
        image.load()
        turned = _upright(image)
        if turned is image and _is_sendable(image, data, mime_type):
            return Picture(data, mime_type, image.size, image.size)
        return _shrink(turned, mime_type)
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


def _upright(image: Image.Image) -> Image.Image:
    """The image turned as its EXIF orientation says; the very same object if it is upright."""
    if image.getexif().get(_ORIENTATION_TAG, _UPRIGHT) == _UPRIGHT:
        return image
    return ImageOps.exif_transpose(image)


def _shrink(image: Image.Image, mime_type: str) -> Picture:
    """The image within the limits: as large as possible, and as good as possible at that size."""
    original_size = image.size
    mode = "RGBA" if image.has_transparency_data else "RGB"
    plain = image if image.mode == mode else image.convert(mode)
    scale = min(1.0, _MAX_SIDE / max(original_size))
    while True:
        size = (max(1, round(original_size[0] * scale)), max(1, round(original_size[1] * scale)))
        scaled = plain if size == plain.size else plain.resize(size)
        for data, encoded_type in _encodings(scaled, photograph=mime_type == "image/jpeg"):
            if len(data) <= MAX_BYTES:
                return Picture(data, encoded_type, size, original_size)
        scale *= _SHRINK


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
