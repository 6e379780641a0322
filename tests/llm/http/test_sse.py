"""Events out of bytes, however the network cuts them."""

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.errors import MalformedStreamError
from kaa.llm.http.sse import SseDecoder, SseEvent


def _decode(*chunks: bytes) -> list[SseEvent]:
    decoder = SseDecoder()
    return _feed(decoder, chunks) + decoder.finish()


def _feed(decoder: SseDecoder, chunks: Iterable[bytes]) -> list[SseEvent]:
    return [event for chunk in chunks for event in decoder.feed(chunk)]


def _cut(stream: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    cuts = sorted(chance.randrange(len(stream) + 1) for _ in range(chance.randrange(12)))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


_LINES = st.sampled_from(
    [
        b"data: one",
        b"data:two",
        b"data:  three",
        b"data",
        b"data: {}",
        b'data: {"a": 1}',
        b'data: {"a":',
        b"data: 1}",
        b"data: [DONE]",
        b"event: ping",
        b"event:pong",
        b": comment",
        b"id: 7",
        b"retry: 100",
        b"nonsense",
        "data: \u00e4\u2028\u0085".encode(),
        b"",
        b"",
        b"",
    ]
)
_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(_LINES, _ENDS), max_size=20), st.sampled_from([b"", b"\xef\xbb\xbf"]), st.integers())
def test_chunk_boundaries_do_not_matter(lines: list[tuple[bytes, bytes]], start: bytes, seed: int) -> None:
    stream = start + b"".join(line + end for line, end in lines)

    whole = _decode(stream)

    assert _decode(*_cut(stream, seed)) == whole
    assert _decode(*(bytes([byte]) for byte in stream)) == whole


@given(
    st.lists(st.tuples(st.sampled_from(["", "delta", "stop"]), st.text(alphabet="ab {}:\u00e9", max_size=8))),
    st.integers(),
    _ENDS,
)
def test_what_a_server_sends_comes_back(sent: list[tuple[str, str]], seed: int, end: bytes) -> None:
    stream = b"".join(
        (b"event: " + name.encode() + end if name else b"") + b"data: " + data.encode() + end + end
        for name, data in sent
    )

    events = _decode(*_cut(stream, seed))

    assert [(event.event, event.data.decode()) for event in events] == sent


@given(st.binary(max_size=80), st.integers())
def test_any_bytes_are_survived(stream: bytes, seed: int) -> None:
    assert _decode(*_cut(stream, seed)) == _decode(stream)


def test_data_over_several_lines_is_joined() -> None:
    events = _decode(b'data: {\ndata:   "a": 1,\ndata:   "b": {}\ndata: }\n\n')

    assert events == [SseEvent("", b'{\n  "a": 1,\n  "b": {}\n}')]


def test_comments_unknown_fields_and_empty_events_are_ignored() -> None:
    events = _decode(b": keep-alive\n\nid: 1\nretry: 5\nevent: ping\n\nx\nDATA: no\ndata: yes\n\n")

    assert events == [SseEvent("", b"yes")]


def test_the_name_may_follow_the_data() -> None:
    assert _decode(b'data: {"a":1}\nevent: delta\n\n') == [SseEvent("delta", b'{"a":1}')]


def test_a_missing_final_blank_line_loses_nothing() -> None:
    assert _decode(b"data: one\n\ndata: two") == [SseEvent("", b"one"), SseEvent("", b"two")]


def test_a_byte_order_mark_is_no_part_of_the_first_field() -> None:
    assert _decode(b"\xef\xbb\xbfdata: one\n\n") == _decode(b"\xef", b"\xbb", b"\xbfdata: one\n\n")
    assert _decode(b"\xef\xbb\xbfdata: one\n\n") == [SseEvent("", b"one")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lost_blank_lines_between_unnamed_events_are_mended(end: bytes) -> None:
    stream = end.join([b'data: {"a": 1}', b'data: {"b": "}"}', b"data: [DONE]", b""])

    events = _decode(stream)

    assert [event.data for event in events] == [b'{"a": 1}', b'{"b": "}"}', b"[DONE]"]


def test_lost_blank_lines_between_named_events_are_mended() -> None:
    events = _decode(b'event: a\ndata: {"x":1}\nevent: b\ndata: {"x":2}\nevent: c\ndata: text\n')

    assert events == [SseEvent("a", b'{"x":1}'), SseEvent("b", b'{"x":2}'), SseEvent("c", b"text")]


def test_nesting_without_end_is_survived() -> None:
    deep = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    assert [event.data for event in _decode(b"data: " + deep + b"\ndata: more\n\n")] == [deep + b"\nmore"]


def test_an_endless_event_is_refused() -> None:
    decoder = SseDecoder(max_event_bytes=1000)

    with pytest.raises(MalformedStreamError, match="more than 1000 bytes"):
        _feed(decoder, [b"x" * 20] * 100)


def test_an_event_of_endless_lines_is_refused() -> None:
    decoder = SseDecoder(max_event_bytes=1000)

    with pytest.raises(MalformedStreamError, match="more than 1000 bytes"):
        _feed(decoder, [b"data\n"] * 1000)


def test_the_limit_is_per_event_and_counts_no_byte_twice() -> None:
    decoder = SseDecoder(max_event_bytes=1000)
    stream = b": ping\n" * 1000 + (b"data: " + b"x" * 900 + b"\n\n") * 10

    events = _feed(decoder, [stream[position : position + 7] for position in range(0, len(stream), 7)])

    assert len(events) == 10
