import re
import zlib
from base64 import b64decode
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Images

from kaa.tui.components.image import Graphics, Image
from kaa.tui.picture import is_picture, picture_rows, remove_picture
from tests.support.painted import assert_well_formed, make_context, visible
from tests.support.tables import each


def file_of(width: int, height: int, kind: str = "PNG", mode: str = "RGB") -> bytes:
    out = BytesIO()
    Images.new(mode, (width, height)).save(out, kind)
    return out.getvalue()


def drawn(line: str) -> Images.Image:
    """What a terminal gets of Kitty's sequences."""
    payloads = re.findall(r"\x1b_G[^;]*;([^\x1b]*)\x1b\\", line)
    return Images.open(BytesIO(b64decode("".join(payloads))))


def test_without_graphics_the_image_is_described() -> None:
    data = file_of(640, 480, "BMP")

    assert visible(Image(make_context(), data, Graphics()).render(60)) == ["[image: 640\u00d7480 bmp, 922 kB]"]
    assert visible(Image(make_context(ascii_only=True), data, Graphics()).render(24)) == ["[image: 640x480 bmp,..."]


def test_kitty_gets_rows_id_and_pixels() -> None:
    image = Image(make_context(), file_of(100, 90), Graphics("kitty", (10, 30)))

    lines = image.render(60)

    assert len(lines) == 3
    assert lines[1:] == ["", ""]
    assert is_picture(lines[0])
    assert picture_rows(lines[0]) == 3
    assert "c=10,r=3" in lines[0]
    assert remove_picture(lines[0])
    assert drawn(lines[0]).size == (100, 90)


def test_kitty_gets_long_images_in_chunks() -> None:
    out = BytesIO()
    Images.effect_noise((200, 200), 90).save(out, "PNG")

    line = Image(make_context(), out.getvalue(), Graphics("kitty", (10, 20))).render(60)[0]

    pieces = line.split("\x1b\\")[:-1]
    assert len(pieces) > 2
    assert all(len(piece.partition(";")[2]) <= 4096 for piece in pieces)
    assert ["m=1" in piece for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    assert drawn(line).size == (200, 200)


def test_iterm_gets_its_sequence() -> None:
    lines = Image(make_context(), file_of(100, 90, "JPEG"), Graphics("iterm2", (10, 30))).render(60)

    assert is_picture(lines[0])
    assert picture_rows(lines[0]) == len(lines) == 3
    assert "width=10;height=3" in lines[0]


@pytest.mark.parametrize(("width", "columns", "rows"), [(100, 40, 20), (10, 10, 5), (1, 1, 1)])
def test_large_images_are_scaled_to_the_room_there_is(width: int, columns: int, rows: int) -> None:
    image = Image(make_context(), file_of(1000, 1000), Graphics("kitty", (10, 20)), max_rows=20)

    line = image.render(width)[0]

    assert f"c={columns},r={rows}," in line
    assert max(drawn(line).size) <= columns * 10


@each("mode", ["1", "L", "P", "LA", "RGBA", "I;16"])
def test_all_kinds_of_pixels_can_be_drawn(mode: str) -> None:
    assert is_picture(Image(make_context(), file_of(4, 4, mode=mode), Graphics("kitty")).render(60)[0])


def test_images_have_ids_of_their_own() -> None:
    context, graphics = make_context(), Graphics("kitty")
    data = file_of(4, 4)

    assert remove_picture(Image(context, data, graphics).render(9)[0]) != remove_picture(
        Image(context, data, graphics).render(9)[0]
    )


def test_broken_images_are_described() -> None:
    data = file_of(64, 64)

    assert "cannot be read" in visible(Image(make_context(), b"no image", Graphics("kitty")).render(60))[0]
    assert "broken" in visible(Image(make_context(), data[:-40], Graphics("kitty")).render(60))[0]


@pytest.mark.parametrize("side", [5000, 15000, 60000])
def test_images_of_too_many_pixels_are_never_decoded(side: int) -> None:
    data = bytearray(file_of(1, 1))
    data[16:24] = side.to_bytes(4) * 2
    # Pillow looks at the header's checksum.
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4)

    assert "too many pixels" in visible(Image(make_context(), bytes(data), Graphics("kitty")).render(60))[0]


def test_same_lines_object_until_the_terminal_is_known_better() -> None:
    graphics = Graphics()
    image = Image(make_context(), file_of(10, 10), graphics)

    first = image.render(40)
    assert image.render(40) is first
    graphics.protocol = "kitty"
    assert is_picture(image.render(40)[0])


@given(st.binary(max_size=200), st.integers(0, 30))
def test_any_bytes_are_described(data: bytes, width: int) -> None:
    for noise in (data, file_of(3, 3)[:60] + data):
        assert_well_formed(Image(make_context(), noise, Graphics()).render(width), max(1, width))
        Image(make_context(), noise, Graphics("kitty")).render(width)
