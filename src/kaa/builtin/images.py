"""Images as models take them: upright, at most 2000 x 2000 pixels and 4.5 MiB of base64, in a format they know.

The limits are those of the strictest providers. An image that fits already is passed on byte for byte. Decoding
happens in a confined process (`kaa.builtin.decoding`): decoders are large, and an image may come from anywhere.
"""

import asyncio
import base64
import struct
import threading

import msgspec


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


async def prepare_image(data: bytes, mime_type: str) -> PreparedImage:
    """Make an image fit for models. One is decoded at a time; what was decoded lately is not decoded again.

    Raises:
        ImageError: the image is broken, or too large to be decoded safely.
    """
    from kaa.builtin.decoding.decoder import DECODER  # lazy: most sessions have no images

    abandoned = threading.Event()
    try:
        return await asyncio.to_thread(DECODER.decode, data, mime_type, abandoned)
    except asyncio.CancelledError:
        abandoned.set()  # or the threads that wait for their turn would decode for nobody, and keep kaa from ending
        raise
