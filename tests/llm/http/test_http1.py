"""HTTP/1.1 as bytes: requests out, responses in, however the network cuts them."""

import gzip
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.llm.http.http1 import HttpError, ResponseDecoder, encode_request
from tests.support.tables import each


def _decode(*pieces: bytes, closed: bool = False) -> tuple[ResponseDecoder, bytes]:
    decoder = ResponseDecoder()
    body = b"".join(decoder.feed(piece) for piece in pieces)
    if closed:
        decoder.end()
    return decoder, body


def _cut(stream: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    cuts = sorted(chance.randrange(len(stream) + 1) for _ in range(chance.randrange(12)))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@given(
    st.lists(st.binary(min_size=1, max_size=20), max_size=8),
    st.sampled_from([b"", b";name=value"]),
    st.sampled_from([b"", b"Trailer: x\r\n", b"A: b\r\nC: d\r\n"]),
    st.integers(),
)
def test_chunks_come_back_as_they_were(parts: list[bytes], extension: bytes, trailers: bytes, seed: int) -> None:
    chunks = b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts)
    stream = _CHUNKED + chunks + b"0\r\n" + trailers + b"\r\n"

    for pieces in (_cut(stream, seed), [bytes([byte]) for byte in stream], [stream]):
        decoder, body = _decode(*pieces)

        assert body == b"".join(parts)
        assert decoder.complete
        assert decoder.reusable


@given(st.binary(max_size=60), st.integers())
def test_a_body_of_known_length(body: bytes, seed: int) -> None:
    stream = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Name:  a b \r\n\r\n%s" % (len(body), body)

    decoder, decoded = _decode(*_cut(stream, seed))

    assert decoded == body
    assert (decoder.complete, decoder.reusable) == (True, True)
    assert decoder.headers.get("x-name") == "a b"


@given(st.binary(max_size=60), st.integers())
def test_a_body_that_ends_with_the_connection(body: bytes, seed: int) -> None:
    decoder, decoded = _decode(*_cut(b"HTTP/1.0 200 OK\r\n\r\n" + body, seed), closed=True)

    assert decoded == body
    assert (decoder.complete, decoder.reusable) == (True, False)


@given(st.binary(max_size=200) | st.binary(max_size=100).map(_CHUNKED.__add__), st.integers())
def test_any_bytes_are_survived(stream: bytes, seed: int) -> None:
    def outcome(pieces: list[bytes]) -> tuple[bytes, bool] | None:
        try:
            decoder, body = _decode(*pieces)
        except HttpError:
            return None
        return body, decoder.complete

    assert outcome(_cut(stream, seed)) == outcome([stream])


@pytest.mark.parametrize(
    "packed", [gzip.compress(b"word " * 500), zlib.compress(b"word " * 500)], ids=["gzip", "deflate"]
)
@given(seed=st.integers())
def test_a_compressed_body(packed: bytes, seed: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)

    decoder, body = _decode(*_cut(head + packed, seed))

    assert body == b"word " * 500
    assert decoder.complete


def test_what_arrives_together_is_handed_on_as_one_piece() -> None:
    decoder, body = _decode(_CHUNKED + b"5\r\nhello\r\n" * 20_000)

    assert body == b"hello" * 20_000
    assert not decoder.complete


def test_interim_responses_are_skipped() -> None:
    decoder, body = _decode(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + _CHUNKED + b"0\r\n\r\n"
    )

    assert (decoder.status, body, decoder.complete) == (200, b"", True)


@each("status", [204, 304])
@each("headers", [b"", b"Content-Length: 7\r\n", b"Content-Encoding: magic\r\n"])
def test_responses_that_have_no_body(status: int, headers: bytes) -> None:
    assert _decode(b"HTTP/1.1 %d x\r\n%s\r\n" % (status, headers))[0].complete


def test_names_of_headers_are_found_in_any_case_and_trailers_are_none() -> None:
    stream = (
        b"HTTP/1.1 200 OK\r\nX-One:\r\nX-Two:\t a b \t\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\nX-Three: c\r\n\r\n"
    )

    headers = _decode(stream)[0].headers

    assert headers.items == (("x-one", ""), ("x-two", "a b"), ("transfer-encoding", "Chunked"))


@pytest.mark.parametrize(
    ("head", "reusable"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: close", False),
        (b"HTTP/1.1 200 OK\r\nConnection: keep-alive", True),
        (b"HTTP/1.0 200 OK", False),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive", True),
    ],
)
def test_who_wants_to_be_reused(head: bytes, reusable: bool) -> None:
    assert _decode(head + b"\r\nContent-Length: 0\r\n\r\n")[0].reusable is reusable


def test_a_connection_with_bytes_nobody_asked_for_is_not_reused() -> None:
    at_once, _ = _decode(_CHUNKED + b"0\r\n\r\nHTTP/1.1")
    later, _ = _decode(_CHUNKED + b"0\r\n\r\n", b"HTTP/1.1")

    assert not at_once.reusable
    assert not later.reusable


@each(
    "stream",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: magic\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: magic\r\n\r\na",
        b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: magic\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000,
        _CHUNKED + b"-1\r\n",
        _CHUNKED + b"xyz\r\n",
        _CHUNKED + b"1" * 5000,
        _CHUNKED + b"2\r\nabc\r\n",
    ],
)
def test_what_is_not_http_is_refused(stream: bytes) -> None:
    with pytest.raises(HttpError):
        _decode(stream)


@pytest.mark.parametrize(
    ("beginning", "more"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        (b"", b"HTTP/1.1 103 Hints\r\n\r\n"),
        (_CHUNKED + b"1;", b"x"),
        (_CHUNKED + b"0\r\nX: ", b"x"),
    ],
)
def test_what_adds_nothing_to_the_body_may_not_go_on_forever(beginning: bytes, more: bytes) -> None:
    block = more * (32 * 1024 // len(more))

    with pytest.raises(HttpError, match="endless"):
        _decode(beginning, *[block] * 9)


def test_a_body_that_inflates_without_measure_is_refused() -> None:
    bomb = gzip.compress(bytes(20_000_000))

    with pytest.raises(HttpError, match="decompresses to more than"):
        _decode(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + bomb)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5), st.integers())
def test_several_members_of_gzip_are_one_body(parts: list[bytes], seed: int) -> None:
    packed = b"".join(map(gzip.compress, parts))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)

    decoder, body = _decode(*_cut(head + packed, seed))

    assert body == b"".join(parts)
    assert decoder.complete


def test_many_members_that_inflate_without_measure_are_refused() -> None:
    bomb = gzip.compress(bytes(10_000_000)) * 2

    with pytest.raises(HttpError, match="decompresses to more than"):
        _decode(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + bomb)


def test_what_follows_the_end_of_compressed_data_is_ignored() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"

    _, body = _decode(head + gzip.compress(b"word") + b"\0\0", b"\0")

    assert body == b"word"


@pytest.mark.parametrize("stream", [b"", b"HTTP/1.1 200", _CHUNKED, _CHUNKED + b"5\r\nhel", _CHUNKED + b"0\r\n"])
def test_a_connection_closed_too_early_is_an_error(stream: bytes) -> None:
    with pytest.raises(HttpError, match="closed the connection"):
        _decode(stream, closed=True)


def test_a_request_is_its_head_and_its_body() -> None:
    request = encode_request("POST", "/v1?x=1", [("host", "h:1"), ("x-key", "k")], b"body")

    assert request == b"POST /v1?x=1 HTTP/1.1\r\nhost: h:1\r\nx-key: k\r\ncontent-length: 4\r\n\r\nbody"


@each(
    ("target", "name", "value"),
    [
        ("/a b", "x", "y"),
        ("/é", "x", "y"),
        ("", "x", "y"),
        ("/", "a b", "y"),
        ("/", "x", "secret\r\ny: z"),
        ("/", "x", "☃"),
    ],
)
def test_a_request_cannot_be_bent_by_what_is_put_into_it(target: str, name: str, value: str) -> None:
    with pytest.raises(ValueError, match="characters") as caught:
        encode_request("POST", target, [(name, value)], b"")

    assert "secret" not in str(caught.value)
