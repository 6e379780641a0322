"""JSON of other programs that is not quite JSON."""

import msgspec
import pytest

from kaa.core.lenient_json import decode_lenient, decode_lenient_as


class Spoken(msgspec.Struct):
    """A message with a part that is decoded later."""

    id: int
    part: msgspec.Raw


class Part(msgspec.Struct):
    """Such a part."""

    text: str | None


@pytest.mark.parametrize(
    ("text", "meant"), [(b'"a\xffb"', "a\ufffdb"), (b'"\\ud800"', "\ufffd"), (b"NaN", None), (b'"a\nb"', "a\nb")]
)
def test_a_message_and_its_parts_are_read(text: bytes, meant: str | None) -> None:
    spoken = decode_lenient_as(b'{"id":1,"part":{"text":%b}}' % text, Spoken)

    assert spoken.id == 1
    assert decode_lenient_as(spoken.part, Part) == Part(meant)


def test_a_mark_of_utf8_at_the_beginning_is_skipped() -> None:
    assert decode_lenient(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_a_message_of_another_shape_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_lenient_as(b'{"id":"\xff"}', Spoken)
