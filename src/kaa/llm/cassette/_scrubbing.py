"""What must not be in a cassette as it was: secrets, and values that differ from run to run."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from kaa.core.messages import Json
from kaa.llm.cassette._edits import Edit, Rewriter, rewrite_json, rewrite_stream, rewrite_text
from kaa.llm.cassette._format import CassetteError, RecordedRequest
from kaa.llm.http.transport import HttpRequest
from kaa.llm.redaction import MARKER, Redactor

_PLACEHOLDER_NAME = re.compile(r"[a-z][a-z0-9_]*")
# A home of "/" or a session without id must not turn every slash into a placeholder.
_SHORTEST_VALUE = 3

_HARMLESS_REQUEST_HEADERS = frozenset({"content-type", "anthropic-version", "anthropic-beta"})
_HARMLESS_QUERY = frozenset({"alt", "beta", "api-version", "limit"})


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
