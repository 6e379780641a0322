"""Every file has an encoding that restores its bytes exactly, and the usual encodings are recognised."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.builtin.encoding import TextEncoding, UnencodableTextError, detect_encoding, display_text, is_binary
from tests.support.tables import each

TEXT = "naïve café — “quoted”\r\nnext\n"


@given(st.binary())
def test_decoding_any_bytes_and_encoding_again_restores_them(data: bytes) -> None:
    encoding = detect_encoding(data)

    assert encoding.mark + encoding.encode(encoding.decode(data)) == data


@given(
    st.sampled_from([b"", *(mark for mark in (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))]), st.binary()
)
def test_bytes_after_any_mark_are_restored(mark: bytes, rest: bytes) -> None:
    data = mark + rest
    encoding = detect_encoding(data)

    assert encoding.mark + encoding.encode(encoding.decode(data)) == data


@given(st.binary(), st.data())
def test_encoding_pieces_gives_the_pieces_of_the_encoding(data: bytes, choice: st.DataObject) -> None:
    encoding = detect_encoding(data)
    text = encoding.decode(data)
    cut = choice.draw(st.integers(0, len(text)))

    assert encoding.mark + encoding.encode(text[:cut]) + encoding.encode(text[cut:]) == data


@each(
    ("data", "encoding"),
    [
        (b"", TextEncoding("utf-8")),
        (b"plain\n", TextEncoding("utf-8")),
        (TEXT.encode(), TextEncoding("utf-8")),
        (codecs.BOM_UTF8 + TEXT.encode(), TextEncoding("utf-8", codecs.BOM_UTF8)),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), TextEncoding("utf-16-le", codecs.BOM_UTF16_LE)),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), TextEncoding("utf-16-be", codecs.BOM_UTF16_BE)),
        ("no mark, café\n".encode("utf-16-le"), TextEncoding("utf-16-le")),
        ("no mark, plain\n".encode("utf-16-be"), TextEncoding("utf-16-be")),
        ("naïve café\n".encode("latin-1"), TextEncoding("latin-1")),
        (TEXT.encode("cp1252"), TextEncoding("cp1252")),
        (b"\x81 caf\xe9", TextEncoding("latin-1")),
        (TEXT.encode() + b"\xff\n", TextEncoding("utf-8")),
    ],
)
def test_usual_encodings_are_recognised(data: bytes, encoding: TextEncoding) -> None:
    assert detect_encoding(data) == encoding


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_is_shown_the_same_whatever_its_encoding(encoding: str) -> None:
    assert display_text(TEXT.encode(encoding)) == TEXT


@given(st.binary())
def test_shown_text_can_always_be_sent(data: bytes) -> None:
    assert display_text(data).encode("utf-8") is not None


def test_broken_bytes_are_shown_as_replacement_characters() -> None:
    assert display_text("café \xff".encode("latin-1").replace(b"caf\xe9", "café".encode())) == "café \ufffd"


def test_utf16_is_text_and_other_zero_bytes_are_not() -> None:
    assert not is_binary(TEXT.encode("utf-16"))
    assert not is_binary("plain\n".encode("utf-16-le"))
    assert is_binary(b"\x7fELF\x02\x01\x01\x00\x00\x00")
    assert is_binary(b"text with one\0")
    assert not is_binary(b"")


def test_new_text_the_encoding_cannot_hold_is_refused_by_name() -> None:
    with pytest.raises(UnencodableTextError, match=r"Latin-1 text cannot hold '→' \(U\+2192\)"):
        TextEncoding("latin-1").encode_new("a → b")


def test_lone_surrogates_are_never_written() -> None:
    for codec in ("utf-8", "utf-16-le"):
        with pytest.raises(UnencodableTextError, match=r"U\+D800"):
            TextEncoding(codec).encode_new("\ud800")
