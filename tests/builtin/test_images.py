"""Images arrive upright, within the limits of models, or not at all."""

import base64
import io
import random
import struct
import zlib

import pytest
from PIL import Image

from kaa.builtin.decoding.pictures import PictureError, fitted
from kaa.builtin.images import ImageError, PreparedImage, image_type
from kaa.builtin.images import prepare_image as prepared_in_time
from kaa.core.messages import ImageContent
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.tables import each
from tests.support.toolbox import Toolbox, text_of

MAX_BASE64 = int(4.5 * 1024 * 1024)


def prepare_image(data: bytes, mime_type: str) -> PreparedImage:
    return run(prepared_in_time(data, mime_type))


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """An image that cannot be compressed."""
    return Image.frombytes(mode, (width, height), random.Random(0).randbytes(width * height * len(mode)))


def encoded(image: Image.Image, image_format: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, image_format, **options)
    return stream.getvalue()


def decoded(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


@pytest.mark.parametrize("image_format", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_formats_are_recognised_by_their_first_bytes(image_format: str) -> None:
    assert image_type(encoded(noise(8, 8), image_format)[:64]) == f"image/{image_format.lower()}"


@each("data", [b"", b"BM is a text", b"RIFF1234WAVEfmt ", b"GIF", b"\x89PNG", b"<svg>"])
def test_other_contents_are_no_images(data: bytes) -> None:
    assert image_type(data) is None


@pytest.mark.parametrize("image_format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_within_the_limits_is_passed_on_byte_for_byte(image_format: str) -> None:
    data = encoded(noise(40, 30), image_format)

    prepared = prepare_image(data, f"image/{image_format.lower()}")

    assert prepared.data == data
    assert (prepared.size, prepared.original_size, prepared.note) == ((40, 30), (40, 30), None)


def test_formats_that_models_do_not_take_are_converted() -> None:
    prepared = prepare_image(encoded(noise(40, 30), "BMP"), "image/bmp")

    assert prepared.mime_type == "image/png"
    assert decoded(prepared.data).tobytes() == noise(40, 30).tobytes()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
def test_a_wide_image_of_any_kind_is_scaled_to_fit(mode: str) -> None:
    prepared = prepare_image(encoded(Image.new(mode, (3000, 90)), "PNG"), "image/png")

    assert prepared.size == decoded(prepared.data).size == (2000, 60)
    assert prepared.original_size == (3000, 90)
    assert prepared.note == (
        "[Image scaled from 3000x90 to 2000x60; multiply coordinates by 1.50 to get those of the original.]"
    )


def test_what_is_too_large_as_png_becomes_jpeg_with_white_for_transparent_pixels() -> None:
    image = noise(1100, 1100, "RGBA")
    image.putalpha(0)

    prepared = prepare_image(encoded(image, "PNG", compress_level=1), "image/png")

    assert prepared.mime_type == "image/jpeg"
    assert prepared.size == (1100, 1100)
    assert len(prepared.base64) <= MAX_BASE64
    assert decoded(prepared.data).convert("RGB").getpixel((550, 550)) == (255, 255, 255)


def test_an_extreme_shape_keeps_at_least_one_pixel() -> None:
    assert prepare_image(encoded(Image.new("L", (9000, 1)), "PNG"), "image/png").size == (2000, 1)


def test_the_exif_orientation_is_applied() -> None:
    image = Image.new("RGB", (40, 20), "black")
    image.paste("white", (0, 0, 10, 20))
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise to see it upright

    prepared = prepare_image(encoded(image, "JPEG", exif=exif, quality=95), "image/jpeg")

    upright = decoded(prepared.data).convert("L")
    assert prepared.size == prepared.original_size == (20, 40)
    assert upright.getpixel((10, 2)) == pytest.approx(255, abs=30)
    assert upright.getpixel((10, 35)) == pytest.approx(0, abs=30)


@pytest.mark.parametrize("image_format", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_broken_images_are_refused_at_any_cut(image_format: str) -> None:
    data = encoded(noise(40, 30), image_format)

    for length in (12, 30, 100, len(data) // 2):
        with pytest.raises(PictureError, match="it is not a valid image"):
            fitted(data[:length], f"image/{image_format.lower()}")


def test_what_a_png_does_not_need_may_be_broken_and_is_not_passed_on() -> None:
    data = encoded(noise(40, 30), "PNG")
    header = 8 + 25  # signature and IHDR
    wrong = b"\0\0\0\x04iCCPabcd" + b"\0\0\0\0"

    prepared = prepare_image(data[:header] + wrong + data[header:], "image/png")

    assert prepared.data == data


def test_a_png_whose_pixels_are_broken_is_refused() -> None:
    data = bytearray(encoded(noise(40, 30), "PNG"))
    data[-20] ^= 1

    with pytest.raises(ImageError, match="it is not a valid image"):
        prepare_image(bytes(data), "image/png")


def test_an_image_without_its_end_is_encoded_anew() -> None:
    data = encoded(noise(40, 30), "PNG")

    prepared = prepare_image(data[:-12], "image/png")

    assert prepared.data.endswith(data[-12:])


def test_a_decompression_bomb_is_refused_before_it_is_decoded() -> None:
    bomb = bytearray(encoded(Image.new("1", (1, 1)), "PNG"))
    bomb[16:24] = struct.pack(">II", 9000, 9000)  # in IHDR, which ends with its checksum
    bomb[29:33] = struct.pack(">I", zlib.crc32(bomb[12:29]))

    with pytest.raises(ImageError, match="9000x9000 pixels"):
        prepare_image(bytes(bomb), "image/png")


def test_read_gives_the_image_whatever_its_name() -> None:
    data = encoded(noise(40, 30), "PNG")
    tools = Toolbox(MemoryWorkspace({"picture.txt": data}))

    result = run(tools.call("read", path="picture.txt"))

    assert text_of(result) == "[image/png, 40x30 pixels]"
    assert result.content[1] == ImageContent(base64.b64encode(data).decode(), "image/png")


def test_read_says_why_an_image_cannot_be_shown() -> None:
    tools = Toolbox(MemoryWorkspace({"a.png": encoded(noise(40, 30), "PNG")[:100]}))

    assert "a.png cannot be shown: it is not a valid image/png file" in run(tools.failure("read", path="a.png"))
