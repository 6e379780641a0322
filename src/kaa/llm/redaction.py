"""Removes secrets from text that will be kept or shared: those we know, and those that look like one.

A known secret is found however JSON or a URL may have escaped it. Shapes are those vendors document for
their own keys; a false alarm costs a few characters, a miss costs a key, so the shapes err to the safe side.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote

MARKER = "[redacted]"

KNOWN = "value of a key or variable in use"
"""The kind of secrets that are found because they are known."""

# Local servers are given keys such as "none" or "dummy"; removing those words would spoil the text.
_SHORTEST_SECRET = 8


class _Shape(NamedTuple):
    """What a kind of secret looks like. `hint` is in every match: a cheap test that spares the expression."""

    kind: str
    hint: str
    pattern: re.Pattern[str]  # a group, where there is one, is the secret part of the match


_SHAPES = tuple(
    _Shape(kind, hint, re.compile(pattern))
    for kind, hint, pattern in (
        # OpenAI, Anthropic, OpenRouter, …; words such as "sk-estimator-label" have no digit.
        ("API key", "sk-", r"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}"),
        ("Stripe key", "k_live_", r"\b[rs]k_live_[A-Za-z0-9]{16,}"),
        ("Google key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
        ("Google token", "ya29.", r"\bya29\.[A-Za-z0-9_-]{20,}"),
        ("GitHub token", "gh", r"\bgh[opusr]_[A-Za-z0-9]{36,}"),
        ("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
        ("GitLab token", "glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
        ("AWS key", "A", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
        ("Slack token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
        ("Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
        ("npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}"),
        ("PyPI token", "pypi-", r"pypi-[A-Za-z0-9_-]{50,}"),
        ("bearer token", "earer", r"\b[Bb]earer\s+([A-Za-z0-9._~+/-]{16,}=*)"),
        ("JSON Web Token", "eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
        ("password in a URL", "://", r"://[^\s/:@\"'\\]*:([^\s/@\"'\\]+)@"),
        # Also with its line ends escaped by JSON, and one cut off before its end.
        (
            "private key",
            "PRIVATE KEY-----",
            r"-----BEGIN [A-Z ]{0,24}PRIVATE KEY-----"
            r"(?:[A-Za-z0-9+/=:,\s]|\\+[nr]|-(?!----))*"
            r"(?:-----END [A-Z ]{0,24}PRIVATE KEY-----)?",
        ),
    )
)


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
    """

    def __init__(self, known_secrets: Iterable[str] = ()) -> None:
        secrets = {s for s in known_secrets if len(s) >= _SHORTEST_SECRET and s not in MARKER}
        self._forms = tuple(sorted({form for secret in secrets for form in _escaped_forms(secret)}))
        self._kinds: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """How many secrets have been removed so far."""
        return self._kinds.total()

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many of each kind."""
        return self._kinds

    def __repr__(self) -> str:
        return f"<Redactor, {self.count} removed>"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the secrets of `text` are: ordered, not touching, as (start, end)."""
        return [(found.start, found.end) for found in self._find(text)]

    def _find(self, text: str) -> list[_Found]:
        found = [_Found(start, end, KNOWN) for form in self._forms for start, end in _occurrences(form, text)]
        for kind, hint, pattern in _SHAPES:
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
            self._kinds[kind] += 1
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
