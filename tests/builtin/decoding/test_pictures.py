"""What decoding makes of large images: in little memory, upright, and with the colours that they have."""

import io
from typing import Any

import pytest
from PIL import Image, ImageOps

from kaa.builtin.decoding.pictures import PictureError, fitted


def _encoded(image: Image.Image, image_format: str, **options: Any) -> bytes:  # any: as Pillow has them
    stream = io.BytesIO()
    image.save(stream, image_format, **options)
    return stream.getvalue()


def _decoded(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def _corners(width: int, height: int) -> Image.Image:
    """An image whose quarters differ."""
    image = Image.new("RGB", (width, height), "white")
    image.paste("black", (0, 0, width // 2, height // 2))
    image.paste("red", (width // 2, 0, width, height // 2))
    image.paste("blue", (0, height // 2, width // 2, height))
    return image


def _quarters(image: Image.Image) -> list[Any]:
    """The colours in the middle of the quarters."""
    width, height = image.size
    return [image.getpixel((width * x // 4, height * y // 4)) for y in (1, 3) for x in (1, 3)]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize(("mime_type", "size"), [("image/jpeg", (4400, 300)), ("image/png", (4400, 300))])
def test_an_image_that_is_scaled_down_is_upright(orientation: int, mime_type: str, size: tuple[int, int]) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = _encoded(_corners(*size), mime_type.removeprefix("image/").upper(), exif=exif)

    picture = fitted(data, mime_type)

    upright = ImageOps.exif_transpose(_decoded(data))
    assert picture.original_size == upright.size
    assert max(picture.size) == 2000
    for seen, meant in zip(_quarters(_decoded(picture.data)), _quarters(upright), strict=True):
        assert seen == pytest.approx(meant, abs=8)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "L", "P", "CMYK"])
def test_strips_fit_together_and_keep_their_colours(mode: str) -> None:
    image = _corners(900, 4110).convert(mode)
    image_format, mime_type = ("JPEG", "image/jpeg") if mode == "CMYK" else ("PNG", "image/png")
    data = _encoded(image, image_format)

    seen = _decoded(fitted(data, mime_type).data)

    assert seen.size == (438, 2000)
    expected = _decoded(data).convert(seen.mode).resize(seen.size)
    for row in range(20, 2000, 90):  # not where the halves meet
        if abs(row - 1000) > 10:
            assert seen.getpixel((100, row)) == pytest.approx(expected.getpixel((100, row)), abs=8)


def test_a_colour_that_means_transparent_stays_so() -> None:
    data = _encoded(_corners(4400, 60), "PNG", transparency=(255, 0, 0))

    alphas = [pixel[3] for pixel in _quarters(_decoded(fitted(data, "image/png").data))]

    assert alphas == [255, 0, 255, 255]


@pytest.mark.parametrize(
    ("image_format", "options"),
    [("PNG", {}), ("GIF", {}), ("WEBP", {"lossless": True}), ("JPEG", {"progressive": True}), ("BMP", {})],
)
def test_what_takes_much_memory_is_refused_by_its_size(image_format: str, options: dict[str, bool]) -> None:
    side = 4500 if image_format == "WEBP" else 6400
    data = _encoded(
        Image.new("1" if image_format in ("PNG", "GIF", "BMP") else "L", (side, side)), image_format, **options
    )

    with pytest.raises(PictureError, match=f"{side}x{side} pixels"):
        fitted(data, f"image/{image_format.lower()}")


def test_an_ordinary_jpeg_of_a_large_camera_is_decoded() -> None:
    picture = fitted(_encoded(Image.new("L", (8000, 6000)), "JPEG"), "image/jpeg")

    assert (picture.size, picture.original_size) == ((2000, 1500), (8000, 6000))
