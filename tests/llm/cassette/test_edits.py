"""Rewriting text that came in pieces: what is found, and that nothing else moves."""

import itertools
import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kaa.core.messages import Json
from kaa.llm.cassette._scrubbing import Edit, apply, rewrite_json, rewrite_stream


class _Replace:
    """Replaces one text by another."""

    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new

    def edits(self, text: str, *, escaped: bool) -> Sequence[Edit]:
        new = json.dumps(self._new)[1:-1] if escaped else self._new
        found: list[Edit] = []
        start = text.find(self._old)
        while start >= 0:
            found.append(Edit(start, start + len(self._old), new))
            start = text.find(self._old, start + len(self._old))
        return found


def _events(*data: Json) -> list[str]:
    return [f"data: {json.dumps(item)}\n\n" for item in data]


def _decoded(chunks: list[str]) -> list[Json]:
    lines = "".join(chunks).splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


@given(st.lists(st.text("ab", max_size=5)), st.text("ab", min_size=1, max_size=3), st.text("xy", max_size=4))
def test_edits_across_pieces_equal_edits_of_the_whole(pieces: list[str], old: str, new: str) -> None:
    whole = "".join(pieces)

    rewritten = apply(pieces, _Replace(old, new).edits(whole, escaped=False))

    assert "".join(rewritten) == whole.replace(old, new)
    assert len(rewritten) == len(pieces)


def test_a_replacement_goes_where_its_text_began() -> None:
    assert apply(["one /t", "mp", "/x two"], [Edit(4, 10, "PATH")]) == ["one PATH", "", " two"]


def test_json_keys_and_values_are_rewritten_at_any_depth() -> None:
    value = {"/tmp/x": ["/tmp/x/a", {"n": 1, "t": "see /tmp/x"}], "arguments": '{"path": "/tmp/x"}'}

    rewritten = rewrite_json(value, _Replace("/tmp/x", 'C:\\"q"'))

    assert rewritten == {
        'C:\\"q"': ['C:\\"q"/a', {"n": 1, "t": 'see C:\\"q"'}],
        "arguments": '{"path": "C:\\\\\\"q\\""}',
    }


def test_a_word_streamed_in_several_openai_deltas_is_found() -> None:
    chunks = _events(
        {"id": "1", "choices": [{"index": 0, "delta": {"content": "in /t"}}]},
        {"id": "1", "choices": [{"index": 0, "delta": {"content": "mp"}}]},
        {"id": "1", "choices": [{"index": 0, "delta": {"content": "/x!"}}]},
    )

    rewritten = rewrite_stream([*chunks, "data: [DONE]\n\n"], _Replace("/tmp/x", "CWD"))

    contents = [event["choices"][0]["delta"]["content"] for event in _decoded(rewritten)]
    assert contents == ["in CWD", "", "!"]
    assert rewritten[-1] == "data: [DONE]\n\n"


def test_parallel_tool_calls_are_told_apart_by_index_not_by_place() -> None:
    def call(*parts: tuple[int, str]) -> Json:
        calls = [{"index": index, "function": {"arguments": text}} for index, text in parts]
        return {"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}

    chunks = _events(call((0, '{"p": "/tm')), call((1, '{"q": "/t'), (0, 'p/x"}')), call((1, 'mp/x"}')))

    rewritten = _decoded(rewrite_stream(chunks, _Replace("/tmp/x", 'a"b')))

    arguments = {0: "", 1: ""}
    for event in rewritten:
        for part in event["choices"][0]["delta"]["tool_calls"]:
            arguments[part["index"]] += part["function"]["arguments"]
    assert {index: json.loads(text) for index, text in arguments.items()} == {0: {"p": 'a"b'}, 1: {"q": 'a"b'}}


def test_anthropic_deltas_are_joined_per_block() -> None:
    def delta(index: int, **fields: str) -> Json:
        return {"type": "content_block_delta", "index": index, "delta": fields}

    chunks = _events(
        delta(0, type="text_delta", text="/tm"),
        delta(1, type="input_json_delta", partial_json='{"a":"/tmp'),
        delta(0, type="text_delta", text="p/x"),
        delta(1, type="input_json_delta", partial_json='/x"}'),
    )

    rewritten = _decoded(rewrite_stream(chunks, _Replace("/tmp/x", "CWD")))

    assert [event["delta"].get("text") for event in rewritten] == ["CWD", None, "", None]
    assert [event["delta"].get("partial_json") for event in rewritten] == [None, '{"a":"CWD', None, '"}']


def test_bodies_that_are_json_or_text_are_rewritten_too() -> None:
    replace = _Replace("secret", "X")

    assert rewrite_stream(['{"error": {"mess', 'age": "no secret"}}'], replace) == ['{"error":{"message":"no X"}}']
    assert rewrite_stream(["<html>sec", "ret</html>"], replace) == ["<html>X", "</html>"]
    assert rewrite_stream([": secret\r\ndata: {}\r\n\r\n"], replace) == [": X\r\ndata: {}\r\n\r\n"]


@given(st.text(), st.lists(st.integers(0, 400), max_size=8))
def test_a_stream_with_nothing_to_replace_stays_as_it_is(text: str, cuts: list[int]) -> None:
    body = "event: e\n" + "".join(_events({"content": text}, {"content": text, "n": 1.0})) + "data: [DONE]\n\n"
    edges = sorted({0, len(body), *(min(cut, len(body)) for cut in cuts)})
    chunks = [body[start:end] for start, end in itertools.pairwise(edges)]

    assert rewrite_stream(chunks, _Replace("\0never\0", "")) == chunks


def _gemini(*parts: Json) -> list[str]:
    return _events(*[{"candidates": [{"content": {"parts": [part]}}]} for part in parts])


def test_text_of_gemini_is_one_over_its_chunks_and_apart_from_its_reasoning() -> None:
    chunks = _gemini({"text": "see /tm", "thought": True}, {"text": "in /tm"}, {"text": "p/x"}, {"text": "!"})

    parts = [
        event["candidates"][0]["content"]["parts"][0]
        for event in _decoded(rewrite_stream(chunks, _Replace("/tmp/x", "PATH")))
    ]

    assert [part["text"] for part in parts] == ["see /tm", "in PATH", "", "!"]


def test_arguments_that_come_whole_are_texts_of_their_own() -> None:
    calls = [{"functionCall": {"name": "write", "args": {"content": text}}} for text in ("ends in /tmp", "/x begins")]

    assert rewrite_stream(_gemini(*calls), _Replace("/tmp/x", "PATH")) == _gemini(*calls)


def test_items_of_responses_are_told_apart_and_arguments_stay_json() -> None:
    def delta(kind: str, index: int, text: str) -> Json:
        return {"type": f"response.{kind}.delta", "output_index": index, "delta": text}

    stream = _events(
        delta("output_text", 0, "in /t"),
        delta("function_call_arguments", 1, '{"path":"/t'),
        delta("output_text", 0, "mp"),
        delta("function_call_arguments", 1, 'mp"}'),
    )

    rewritten = _decoded(rewrite_stream(stream, _Replace("/tmp", 'a "b"')))

    assert [event["delta"] for event in rewritten] == ['in a "b"', '{"path":"a \\"b\\"', "", '"}']
