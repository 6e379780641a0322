import os
import socket
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.hands.connection import WireConnection
from kaa.hands.wire import MAX_BODY_BYTES, Frame, FrameDecoder, WireError, encode, receive, send_some

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_HEADERS = st.dictionaries(st.text(), _VALUES, max_size=4)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with one, other:
        yield one, other


@given(st.lists(st.tuples(_HEADERS, st.binary(max_size=200)), max_size=4), st.data())
def test_frames_survive_any_chunking(frames: list[tuple[dict[str, object], bytes]], data: st.DataObject) -> None:
    stream = b"".join(encode(header, body) + body for header, body in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    decoder = FrameDecoder()
    decoded = []

    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        decoder.feed(stream[start:end])
        while (frame := decoder.next()) is not None:
            decoded.append(frame)

    assert decoded == [Frame(header, body) for header, body in frames]


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_rubbish_is_refused_or_waits_for_more_but_never_crashes(chunks: list[bytes]) -> None:
    decoder = FrameDecoder()

    for chunk in chunks:
        decoder.feed(chunk)
        try:
            while (frame := decoder.next()) is not None:
                assert isinstance(frame.header, dict)
        except WireError:
            return


@pytest.mark.parametrize("lengths", [(2**32 - 1, 0), (2, MAX_BODY_BYTES + 1)])
def test_absurd_lengths_are_refused_before_anything_is_allocated(lengths: tuple[int, int]) -> None:
    decoder = FrameDecoder()
    decoder.feed(struct.pack("!II", *lengths))

    with pytest.raises(WireError, match="allowed"):
        decoder.next()


@pytest.mark.parametrize("text", [b"[]", b"{", b"\xff", b"[" * 100_000, b"1" * 10_000, b"null"])
def test_a_header_that_is_no_json_object_is_refused(text: bytes) -> None:
    decoder = FrameDecoder()
    decoder.feed(struct.pack("!II", len(text), 0) + text)

    with pytest.raises(WireError, match="header"):
        decoder.next()


def test_paths_that_are_not_utf8_survive() -> None:
    name = os.fsdecode(b"caf\xe9")
    decoder = FrameDecoder()
    decoder.feed(encode({"path": name}))

    frame = decoder.next()

    assert frame is not None
    assert frame.header == {"path": name}


def test_received_descriptors_are_not_inherited_by_programs(pair: tuple[socket.socket, socket.socket]) -> None:
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    send_some(pair[0], b"x", [write_end])

    data, descriptors = receive(pair[1])

    assert data == b"x"
    assert [os.get_inheritable(descriptor) for descriptor in descriptors] == [False]
    for descriptor in (read_end, write_end, *descriptors):
        os.close(descriptor)


def test_too_many_descriptors_are_refused_and_closed(pair: tuple[socket.socket, socket.socket]) -> None:
    send_some(pair[0], b"x", [0] * 20)
    before = os.dup(0)
    os.close(before)

    with pytest.raises(WireError, match="descriptors"):
        receive(pair[1])

    after = os.dup(0)
    os.close(after)
    assert after == before


def test_a_frame_that_came_along_with_another_is_pending(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].sendall(encode({"n": 1}) + encode({"n": 2}))
    connection = WireConnection(pair[1])

    assert connection.receive() == Frame({"n": 1}, b"")
    assert connection.pending() == Frame({"n": 2}, b"")
    assert connection.pending() is None


def test_the_end_in_the_middle_of_a_frame_is_the_end(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].sendall(encode({"op": "write"}, b"body") + b"bo")
    pair[0].shutdown(socket.SHUT_WR)

    assert WireConnection(pair[1]).receive() is None
