"""Images as models take them: upright, at most 2000 x 2000 pixels and 4.5 MiB of base64, in a format they know.

The limits are those of the strictest providers. An image that fits already is passed on byte for byte.
Everything here is blocking and belongs in a worker thread.
"""

import base64
import io
import math
import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from PIL import Image

_MAX_SIDE = 2000
_MAX_BYTES = int(4.5 * 1024 * 1024) // 4 * 3  # 4.5 MiB once base64 encoded
_MAX_PIXELS = 60_000_000  # 240 MB decoded
_JPEG_QUALITIES = (85, 70, 55, 40)
_SHRINK = 0.75
_ORIENTATION_TAG = 0x0112  # Exif 2.3, 4.6.4
_UPRIGHT = 1
# What Pillow raises on images that are broken or made to break it.
_BROKEN_IMAGE = (OSError, SyntaxError, ValueError, TypeError, LookupError, EOFError, struct.error, zlib.error)
_TOO_LARGE = (OverflowError, MemoryError)
# How complete files end. One that lacks this may be taken by Pillow and refused by a provider, at every later request.
_ENDINGS = {"image/png": b"IEND\xaeB`\x82", "image/jpeg": b"\xff\xd9", "image/gif": b";"}


class ImageError(Exception):
    """An image cannot be shown to the model; the message says why."""


class PreparedImage(msgspec.Struct, frozen=True):
    """An image ready to be sent. Sizes are (width, height) in pixels, `original_size` after turning upright."""

    data: bytes
    mime_type: str
    size: tuple[int, int]
    original_size: tuple[int, int]

    @property
    def base64(self) -> str:
        """The data as providers want it."""
        return base64.b64encode(self.data).decode("ascii")

    @property
    def note(self) -> str | None:
        """What the model must know to translate coordinates, if the image was scaled."""
        if self.size == self.original_size:
            return None
        (width, height), (shown_width, shown_height) = self.original_size, self.size
        factor = f"multiply coordinates by {width / shown_width:.2f} to get those of the original"
        return f"[Image scaled from {width}x{height} to {shown_width}x{shown_height}; {factor}.]"


def image_type(head: bytes) -> str | None:
    """The MIME type of an image that kaa can show, from its first bytes; None for anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    # "BM" alone begins many texts: the offset of the pixels and the size of the header must make sense too.
    if (
        head.startswith(b"BM")
        and len(head) >= 18
        and struct.unpack_from("<I", head, 14)[0] in (12, 40, 52, 56, 64, 108, 124)
    ):
        return "image/bmp"
    return None


def prepare_image(data: bytes, mime_type: str) -> PreparedImage:
    """Make an image fit for models.

    Raises:
        ImageError: the image is broken, or too large to be decoded safely.
    """
    try:
        image = _open(data, mime_type)
        if math.prod(image.size) > _MAX_PIXELS:
            raise ImageError(f"it has {image.width}x{image.height} pixels, more than can be decoded safely")
        image.load()
        turned = _upright(image)
        if turned is image and _is_sendable(image, data, mime_type):
            return PreparedImage(data, mime_type, image.size, image.size)
        return _shrink(turned, mime_type)
    except _TOO_LARGE as error:
        raise ImageError("it is too large to be decoded safely") from error
    except _BROKEN_IMAGE as error:
        raise ImageError(f"it is no valid {mime_type} file ({str(error) or type(error).__name__})") from error


def _open(data: bytes, mime_type: str) -> "Image.Image":
    """The image, not decoded yet.

    The format's own class is used: `Image.open` would import every format, and warn on the process's stderr of
    large images.
    """
    stream = io.BytesIO(data)
    # Lazily, because Pillow takes longer to import than all tools together and most sessions never need it.
    match mime_type:
        case "image/png":
            from PIL.PngImagePlugin import PngImageFile

            return PngImageFile(stream)
        case "image/jpeg":
            from PIL.JpegImagePlugin import JpegImageFile

            return JpegImageFile(stream)
        case "image/gif":
            from PIL.GifImagePlugin import GifImageFile

            return GifImageFile(stream)
        case "image/webp":
            from PIL.WebPImagePlugin import WebPImageFile

            return WebPImageFile(stream)
        case _:
            from PIL.BmpImagePlugin import BmpImageFile

            return BmpImageFile(stream)


def _is_sendable(image: "Image.Image", data: bytes, mime_type: str) -> bool:
    fits = max(image.size) <= _MAX_SIDE and len(data) <= _MAX_BYTES
    return fits and mime_type != "image/bmp" and data.endswith(_ENDINGS.get(mime_type, b""))


def _upright(image: "Image.Image") -> "Image.Image":
    """The image turned as its EXIF orientation says; the very same object if it is upright."""
    from PIL import ImageOps  # lazily: see `_open`

    if image.getexif().get(_ORIENTATION_TAG, _UPRIGHT) == _UPRIGHT:
        return image
    return ImageOps.exif_transpose(image)


def _shrink(image: "Image.Image", mime_type: str) -> PreparedImage:
    """The image within the limits: as large as possible, and as good as possible at that size."""
    original_size = image.size
    plain = image.convert("RGBA" if image.has_transparency_data else "RGB")
    scale = min(1.0, _MAX_SIDE / max(original_size))
    while True:
        size = (max(1, round(original_size[0] * scale)), max(1, round(original_size[1] * scale)))
        scaled = plain if size == plain.size else plain.resize(size)
        for data, encoded_type in _encodings(scaled, photograph=mime_type == "image/jpeg"):
            if len(data) <= _MAX_BYTES:
                return PreparedImage(data, encoded_type, size, original_size)
        scale *= _SHRINK


def _encodings(image: "Image.Image", *, photograph: bool) -> Iterator[tuple[bytes, str]]:
    """The image as PNG, which loses nothing, then as JPEG with falling quality. Photographs are never worth a PNG."""
    if not photograph:
        yield _encode(image, "PNG"), "image/png"
    opaque = _on_white(image) if image.mode == "RGBA" else image
    for quality in _JPEG_QUALITIES:
        yield _encode(opaque, "JPEG", quality), "image/jpeg"


def _on_white(image: "Image.Image") -> "Image.Image":
    from PIL import Image  # lazily: see `_open`

    background = Image.new("RGB", image.size, "white")
    background.paste(image, mask=image.getchannel("A"))
    return background


def _encode(image: "Image.Image", image_format: str, quality: int = _JPEG_QUALITIES[0]) -> bytes:
    stream = io.BytesIO()
    image.save(stream, image_format, quality=quality)
    return stream.getvalue()
