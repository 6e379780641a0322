"""Removes secrets from text that will be kept or shared: those we know, and those that look like one.

A known secret is found however JSON or a URL may have escaped it. `secret_shapes` says what secrets
look like; a false alarm costs a few characters, a miss costs a key, so the shapes err to the safe side.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

from kaa.llm.secret_shapes import SHAPES

MARKER = "[redacted]"

KNOWN = "value of a key or variable in use"
"""The kind of secrets that are found because they are known."""

# Local servers are given keys such as "none" or "dummy"; removing those words would spoil the text.
_SHORTEST_SECRET = 8


class _Found(NamedTuple):
    """A secret in a text, or several that touch: the kind is that of the first."""

    start: int
    end: int
    kind: str


class Redactor:
    """Replaces secrets by `[redacted]`.

    Args:
        known_secrets: values in use now, such as the API key of the run. Values shorter than 8 characters are
            taken for placeholders and not looked for.

    Attributes:
        kinds: how many of each kind.
    """

    def __init__(self, known_secrets: Iterable[str] = ()) -> None:
        secrets = {s for s in known_secrets if len(s) >= _SHORTEST_SECRET and s not in MARKER}
        self._forms = tuple(sorted({form for secret in secrets for form in _escaped_forms(secret)}))
        self.kinds: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """How many secrets have been removed so far."""
        return self.kinds.total()

    def __repr__(self) -> str:
        return f"<Redactor, {self.count} removed>"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the secrets of `text` are: ordered, not touching, as (start, end)."""
        return [(found.start, found.end) for found in self._find(text)]

    def _find(self, text: str) -> list[_Found]:
        found = [_Found(start, end, KNOWN) for form in self._forms for start, end in _occurrences(form, text)]
        for kind, hint, pattern in SHAPES:
            if hint in text:
                found += (_Found(*match.span(match.re.groups), kind) for match in pattern.finditer(text))
        return _merged(found)

    def redact(self, text: str) -> str:
        """`text` without its secrets.

        Strings inside JSON should be redacted one by one after decoding: an escape before a secret may
        otherwise become part of what is removed.
        """
        secrets = self._find(text)
        if not secrets:
            return text
        pieces: list[str] = []
        copied = 0
        for start, end, kind in secrets:
            self.kinds[kind] += 1
            pieces += (text[copied:start], MARKER)
            copied = end
        pieces.append(text[copied:])
        return "".join(pieces)


def _escaped_forms(secret: str) -> set[str]:
    """How `secret` may be written: as it is, in a URL, in JSON, and in JSON inside JSON."""
    once = _json_forms(secret)
    return {secret, quote(secret, safe=""), *once, *(form for inner in once for form in _json_forms(inner))}


def _json_forms(text: str) -> set[str]:
    """`text` as the encoders in use write it: ASCII only or not, with `/` or with `<>&` escaped."""
    forms = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    for_html = {f.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") for f in forms}
    return forms | for_html | {form.replace("/", "\\/") for form in forms}


def _occurrences(needle: str, text: str) -> Iterable[tuple[int, int]]:
    """All places of `needle`, overlapping ones too."""
    start = text.find(needle)
    while start >= 0:
        yield start, start + len(needle)
        start = text.find(needle, start + 1)


def _merged(found: list[_Found]) -> list[_Found]:
    """The union of what was found, ordered."""
    merged: list[_Found] = []
    for secret in sorted(found):
        if merged and secret.start <= merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(secret.end, merged[-1].end))
        else:
            merged.append(secret)
    return merged
