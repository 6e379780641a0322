"""What must not be in a cassette as it was: secrets, and values that differ from run to run.

A path or a key that a model says arrives as several deltas. It can only be found in their concatenation, and
must be replaced in the pieces without disturbing how they were cut.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from kaa.core.messages import Json
from kaa.llm.cassette._format import CassetteError, RecordedRequest
from kaa.llm.http.transport import HttpRequest
from kaa.llm.redaction import MARKER, Redactor

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
_PLACEHOLDER_NAME = re.compile(r"[a-z][a-z0-9_]*")
# A home of "/" or a session without id must not turn every slash into a placeholder.
_SHORTEST_VALUE = 3
_HARMLESS_REQUEST_HEADERS = frozenset({"content-type", "anthropic-version", "anthropic-beta"})
_HARMLESS_QUERY = frozenset({"alt", "beta", "api-version", "limit"})


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


class CassettePlaceholders:
    """Values of this run and the names that stand for them in a cassette, as `{{name}}`.

    A `{{name}}` that is really in a text becomes `{{=name}}`, so that it comes back as it was.

    Args:
        values: name to value, such as `cwd` to the directory of the project. Values of fewer than three
            characters are not replaced.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        wrong = [name for name in values if not _PLACEHOLDER_NAME.fullmatch(name)]
        if wrong:
            raise ValueError(f"not a name for a placeholder: {wrong[0]!r}")
        self.values = dict(values)

    def hide(self) -> Rewriter:
        """Values to names."""
        return _Hide(self.values)

    def reveal(self) -> Rewriter:
        """Names to values."""
        return _Reveal(self.values)


class _Hide:
    def __init__(self, values: Mapping[str, str]) -> None:
        usable = {name: value for name, value in values.items() if len(value) >= _SHORTEST_VALUE}
        self._names = {escaped: _names_by_value(usable, escaped=escaped) for escaped in (False, True)}
        self._patterns = {escaped: _pattern_of(names, values) for escaped, names in self._names.items()}

    def edits(self, text: str, *, escaped: bool) -> Sequence[Edit]:
        names, pattern = self._names[escaped], self._patterns[escaped]
        if pattern is None:
            return ()
        return [
            Edit(match.start(), match.end(), f"{{{{{names.get(match[0]) or '=' + match[0][2:-2]}}}}}")
            for match in pattern.finditer(text)
        ]


def _names_by_value(values: Mapping[str, str], *, escaped: bool) -> dict[str, str]:
    """Value as it stands in the text to name; of names with the same value the first counts."""
    return {_escape(value) if escaped else value: name for name, value in reversed(tuple(values.items()))}


def _pattern_of(names: Mapping[str, str], values: Mapping[str, str]) -> re.Pattern[str] | None:
    """Matches the values, longest first and not within a word, and texts that look like a placeholder."""
    if not values:
        return None
    alternatives = [rf"\{{\{{=*(?:{'|'.join(values)})\}}\}}"]
    for value in sorted(names, key=len, reverse=True):
        # In JSON text the letter of an escape such as \n is not part of the word that follows.
        before = r"(?:(?<!\w)|(?<=\\[bfnrt]))" if value[0].isalnum() else ""
        after = r"(?!\w)" if value[-1].isalnum() else ""
        alternatives.append(before + re.escape(value) + after)
    return re.compile("|".join(alternatives))


class _Reveal:
    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self._pattern = re.compile(rf"\{{\{{(=*)({'|'.join(values)})\}}\}}") if values else None

    def edits(self, text: str, *, escaped: bool) -> Sequence[Edit]:
        if self._pattern is None:
            return ()
        return [self._edit(match, escaped) for match in self._pattern.finditer(text)]

    def _edit(self, match: re.Match[str], escaped: bool) -> Edit:
        equals, name = match.groups()
        if equals:
            return Edit(match.start(), match.end(), f"{{{{{equals[1:]}{name}}}}}")
        value = self._values[name]
        return Edit(match.start(), match.end(), _escape(value) if escaped else value)


def _escape(value: str) -> str:
    """`value` as it is written inside a JSON string."""
    return json.dumps(value, ensure_ascii=False)[1:-1]


class _Redact:
    """A redactor as a rewriter; it knows escaped forms itself."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def edits(self, text: str, *, escaped: bool) -> Sequence[Edit]:
        return [Edit(start, end, MARKER) for start, end in self._redactor.spans(text)]


class Scrubber:
    """Brings what goes over the wire into the form in which a cassette has it.

    Args:
        known_secrets: the secrets of this run; those in the headers of `request` are added.
        request: the request of the exchange to be scrubbed.
    """

    def __init__(self, placeholders: CassettePlaceholders, known_secrets: Iterable[str], request: HttpRequest) -> None:
        from_headers = (
            value.rpartition(" ")[2] for name, value in request.headers if name.lower() not in _HARMLESS_REQUEST_HEADERS
        )
        self._request = request
        self._rewriters: tuple[Rewriter, ...] = (
            _Redact(Redactor([*known_secrets, *from_headers])),
            placeholders.hide(),
        )

    def request(self) -> RecordedRequest:
        """The request without secrets and with placeholders."""
        headers = {name.lower(): value for name, value in self._request.headers}
        return RecordedRequest(
            method=self._request.method,
            url=self.text(harmless_url(self._request.url)),
            headers={name: self.text(headers[name]) for name in sorted(_HARMLESS_REQUEST_HEADERS & headers.keys())},
            body=self._body(self._request.body),
        )

    def text(self, text: str) -> str:
        """`text` without secrets and with placeholders."""
        for rewriter in self._rewriters:
            text = rewrite_text(text, rewriter)
        return text

    def stream(self, chunks: Sequence[str]) -> Sequence[str]:
        """The chunks of a response body without secrets and with placeholders."""
        for rewriter in self._rewriters:
            chunks = rewrite_stream(chunks, rewriter)
        return chunks

    def _body(self, body: bytes) -> Json:
        if not body:
            return None
        try:
            decoded = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return self.text(body.decode(errors="replace"))
        for rewriter in self._rewriters:
            decoded = rewrite_json(decoded, rewriter)
        return decoded


def harmless_url(url: str) -> str:
    """`url` without credentials, and without the values of query parameters that may be keys."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise CassetteError(f"this request cannot be recorded, its URL is not valid ({error})") from error
    query = [
        (name, value if name in _HARMLESS_QUERY else MARKER)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, urlencode(query, safe="[]"), ""))
