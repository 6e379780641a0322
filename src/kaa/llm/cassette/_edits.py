"""Rewriting text that is spread over pieces: strings in JSON, and words streamed token by token.

A path or a key that a model says arrives as several deltas. It can only be found in their concatenation, and
must be replaced in the pieces without disturbing how they were cut.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from kaa.core.messages import Json

# The fields whose values add up over the events of a stream, in the formats we know. Tool arguments are
# JSON text inside a string.
_STREAMED_TEXT = frozenset({"content", "text", "thinking", "reasoning_content", "reasoning", "refusal", "delta"})
_STREAMED_JSON = frozenset({"arguments", "partial_json"})
# What comes whole although a field in it may be named like one of those: the arguments of Gemini's calls.
_WHOLE = "args"
# What tells the blocks of a reply apart; Gemini marks its reasoning, and numbers nothing.
_BLOCK_NUMBERS = ("index", "output_index", "content_index", "summary_index", "item_id", "thought")
# The event of OpenAI's Responses whose `delta` is not words but JSON text.
_ARGUMENTS_EVENT = "response.function_call_arguments.delta"

_SSE_DATA = re.compile(r"^data: ?([^\r\n]*)", re.MULTILINE)


class Edit(NamedTuple):
    """Replace `text[start:end]` by `new`."""

    start: int
    end: int
    new: str


class Rewriter(Protocol):
    """Knows what to replace in a text."""

    def edits(self, text: str, *, escaped: bool) -> Sequence[Edit]:
        """The replacements for `text`, in order and apart.

        Args:
            text: all of a text that may have come in pieces.
            escaped: the text is itself JSON, so what is inserted must be escaped to stay so.
        """
        ...


def apply(pieces: Sequence[str], edits: Iterable[Edit]) -> list[str]:
    """Carry out `edits` of the concatenation of `pieces`; a replacement goes to the piece its text began in."""
    rewritten: list[str] = []
    remaining = iter(edits)
    edit = next(remaining, None)
    offset = 0  # of the piece in the concatenation
    for piece in pieces:
        end = offset + len(piece)
        kept: list[str] = []
        copied = offset
        while edit is not None and edit.start < end:
            if edit.start >= offset:
                kept += (piece[copied - offset : edit.start - offset], edit.new)
            copied = min(edit.end, end)
            if edit.end > end:
                break
            edit = next(remaining, None)
        kept.append(piece[copied - offset :])
        rewritten.append("".join(kept))
        offset = end
    return rewritten


def rewrite_text(text: str, rewriter: Rewriter) -> str:
    """`text` after the edits of `rewriter`."""
    return apply([text], rewriter.edits(text, escaped=False))[0]


def rewrite_json(value: Json, rewriter: Rewriter, *, escaped: bool = False) -> Json:
    """`value` with every string in it rewritten."""
    match value:
        case str():
            return apply([value], rewriter.edits(value, escaped=escaped))[0]
        case list():
            return [rewrite_json(item, rewriter) for item in value]
        case dict():
            return {
                rewrite_text(key, rewriter): rewrite_json(item, rewriter, escaped=key in _STREAMED_JSON)
                for key, item in value.items()
            }
        case _:
            return value


def rewrite_stream(chunks: Sequence[str], rewriter: Rewriter) -> list[str]:
    """The text of a response body with every string in it rewritten; chunks end where they ended.

    Args:
        chunks: server-sent events with JSON data, or plain JSON, or any text.
        rewriter: gets the text of a block as a whole, however many events it came in.
    """
    text = "".join(chunks)
    lines = [
        (match.span(1), decoded) for match in _SSE_DATA.finditer(text) if (decoded := _decode(match[1])) is not None
    ]
    if not lines:
        decoded = _decode(text)
        if decoded is None:
            return apply(chunks, rewriter.edits(text, escaped=False))
        lines = [((0, len(text)), decoded)]
    originals = [msgspec.json.encode(decoded) for _, decoded in lines]
    _rewrite_leaves([leaf for _, decoded in lines for leaf in _leaves(decoded)], rewriter)
    edits: list[Edit] = []
    previous = 0
    for ((start, end), decoded), original in zip(lines, originals, strict=True):
        edits += _shifted(rewriter.edits(text[previous:start], escaped=False), previous)
        encoded = msgspec.json.encode(decoded)
        if encoded != original:
            edits.append(Edit(start, end, encoded.decode()))
        previous = end
    edits += _shifted(rewriter.edits(text[previous:], escaped=False), previous)
    return [chunk for chunk in apply(chunks, edits) if chunk]


def _decode(text: str) -> Json:
    """The JSON object or array that `text` is, or None."""
    try:
        decoded = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return decoded if isinstance(decoded, (dict, list)) else None


def _shifted(edits: Iterable[Edit], by: int) -> Iterator[Edit]:
    return (Edit(edit.start + by, edit.end + by, edit.new) for edit in edits)


class _Leaf(NamedTuple):
    """A string inside decoded JSON. Leaves of the same `stream` are one text; None stands alone."""

    container: Json
    key: str | int
    stream: tuple[str | int, ...] | None

    @property
    def text(self) -> str:
        return str(self.container[self.key])


def _leaves(value: Json, path: tuple[str | int, ...] = ()) -> Iterator[_Leaf]:
    """All strings inside `value`."""
    if isinstance(value, dict):
        # Blocks are told apart by their numbers, not by their place in an event.
        numbers = tuple(f"{name}={value[name]}" for name in _BLOCK_NUMBERS if name in value)
        path = (*path[:-1], *numbers) if numbers and path and isinstance(path[-1], int) else (*path, *numbers)
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, str):
            streamed = (key in _STREAMED_TEXT or key in _STREAMED_JSON) and _WHOLE not in path
            name = "arguments" if key == "delta" and value.get("type") == _ARGUMENTS_EVENT else key
            yield _Leaf(value, key, (*path, key, name) if streamed else None)
        elif isinstance(item, (dict, list)):
            yield from _leaves(item, (*path, key))


def _rewrite_leaves(leaves: Iterable[_Leaf], rewriter: Rewriter) -> None:
    """Rewrite the strings in place."""
    streams: dict[tuple[str | int, ...], list[_Leaf]] = {}
    rewritten: dict[str, str] = {}  # ids and model names repeat in every event
    for leaf in leaves:
        if leaf.stream is not None:
            streams.setdefault(leaf.stream, []).append(leaf)
            continue
        text = leaf.text
        if text not in rewritten:
            rewritten[text] = rewrite_text(text, rewriter)
        leaf.container[leaf.key] = rewritten[text]
    for stream, parts in streams.items():
        pieces = [leaf.text for leaf in parts]
        edits = rewriter.edits("".join(pieces), escaped=stream[-1] in _STREAMED_JSON)
        for leaf, piece in zip(parts, apply(pieces, edits), strict=True):
            leaf.container[leaf.key] = piece
