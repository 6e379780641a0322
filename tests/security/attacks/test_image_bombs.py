"""Small files that become large images: kaa gets no larger than one of them, and goes on."""

import struct
import zlib
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import Answer, Call, ModelServer, say

pytestmark = pytest.mark.usefixtures("confined")

# Of address space, in KiB: enough for kaa, far from enough for eight of the images at once.
_MOST_KIB = 1_200_000


def _png(width: int, height: int, shade: int) -> bytes:
    """A PNG of one colour, of three bytes for each pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(1)
    row = b"\0" + bytes([shade]) * (3 * width)
    pixels = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def read(kaa: Kaa, names: list[str]) -> list[str]:
    """What the model is told of images that it reads all at once."""
    calls = tuple(Call("read", f'{{"path": "{name}"}}') for name in names)
    with ModelServer([Answer(calls=calls), say("Done.")]) as server:
        kaa.use(server, "openai-completions", input=["text", "image"])
        done = kaa.run_in_shell(f'ulimit -v {_MOST_KIB}; "$KAA" -p "look at them"')
        assert done.out == "Done.\n", done.err
        return [text for role, text in conversation(server.requests[-1]) if role == "tool"]


def test_large_images_read_at_once_take_the_memory_of_one(kaa: Kaa, tmp_path: Path) -> None:
    (kaa.project / "large.png").write_bytes(_png(6000, 5000, 0x55))

    told = read(kaa, ["large.png"] * 8)

    assert len(told) == 8
    assert all("[image/png, 6000x5000 pixels]" in text for text in told)


def test_an_image_of_too_many_pixels_is_refused(kaa: Kaa) -> None:
    bomb = bytearray(_png(10, 10, 1))
    bomb[16:24] = struct.pack(">II", 60_000, 60_000)
    bomb[29:33] = struct.pack(">I", zlib.crc32(bomb[12:29]))
    (kaa.project / "bomb.png").write_bytes(bomb)
    (kaa.project / "small.png").write_bytes(_png(10, 10, 2))

    bomb_told, small_told = read(kaa, ["bomb.png", "small.png"])

    assert "bomb.png cannot be shown: it has 60000x60000 pixels, more than can be decoded safely" in bomb_told
    assert "[image/png, 10x10 pixels]" in small_told
