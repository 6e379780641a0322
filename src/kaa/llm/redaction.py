"""Removes secrets from text that will be kept or shared: those we know, and those that look like one.

A known secret is found however JSON or a URL may have escaped it. Shapes are those vendors document for
their own keys; a false alarm costs a few characters, a miss costs a key, so the shapes err to the safe side.
"""

import json
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

MARKER = "[redacted]"

# Local servers are given keys such as "none" or "dummy"; removing those words would spoil the text.
_SHORTEST_SECRET = 8


class _Shape(NamedTuple):
    """What a kind of secret looks like. `hint` is in every match: a cheap test that spares the expression."""

    hint: str
    pattern: re.Pattern[str]  # a group, where there is one, is the secret part of the match


_SHAPES = tuple(
    _Shape(hint, re.compile(pattern))
    for hint, pattern in (
        # OpenAI, Anthropic, OpenRouter, …; words such as "sk-estimator-label" have no digit.
        ("sk-", r"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}"),
        ("k_live_", r"\b[rs]k_live_[A-Za-z0-9]{16,}"),  # Stripe
        ("AIza", r"AIza[A-Za-z0-9_-]{35}"),  # Google
        ("ya29.", r"\bya29\.[A-Za-z0-9_-]{20,}"),  # Google OAuth
        ("gh", r"\bgh[opusr]_[A-Za-z0-9]{36,}"),  # GitHub
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
        ("glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),  # GitLab
        ("A", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),  # AWS
        ("xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),  # Slack
        ("hf_", r"\bhf_[A-Za-z0-9]{30,}"),  # Hugging Face
        ("npm_", r"\bnpm_[A-Za-z0-9]{36}"),
        ("pypi-", r"pypi-[A-Za-z0-9_-]{50,}"),
        ("earer", r"\b[Bb]earer\s+([A-Za-z0-9._~+/-]{16,}=*)"),
        ("eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),  # JSON Web Token
        ("://", r"://[^\s/:@\"'\\]*:([^\s/@\"'\\]+)@"),  # password in a URL
        # A private key, also with its line ends escaped by JSON, and one cut off before its end.
        (
            "PRIVATE KEY-----",
            r"-----BEGIN [A-Z ]{0,24}PRIVATE KEY-----"
            r"(?:[A-Za-z0-9+/=:,\s]|\\+[nr]|-(?!----))*"
            r"(?:-----END [A-Z ]{0,24}PRIVATE KEY-----)?",
        ),
    )
)


class Redactor:
    """Replaces secrets by `[redacted]`.

    Args:
        known_secrets: values in use now, such as the API key of the run. Values shorter than 8 characters are
            taken for placeholders and not looked for.

    Attributes:
        count: how many secrets have been removed so far.
    """

    def __init__(self, known_secrets: Iterable[str] = ()) -> None:
        secrets = {s for s in known_secrets if len(s) >= _SHORTEST_SECRET and s not in MARKER}
        self._forms = tuple(sorted({form for secret in secrets for form in _escaped_forms(secret)}))
        self.count = 0

    def __repr__(self) -> str:
        return f"<Redactor, {self.count} removed>"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the secrets of `text` are: ordered, not touching, as (start, end)."""
        found = [span for form in self._forms for span in _occurrences(form, text)]
        for hint, pattern in _SHAPES:
            if hint in text:
                found += (match.span(match.re.groups) for match in pattern.finditer(text))
        return _merged(found)

    def redact(self, text: str) -> str:
        """`text` without its secrets.

        Strings inside JSON should be redacted one by one after decoding: an escape before a secret may
        otherwise become part of what is removed.
        """
        spans = self.spans(text)
        if not spans:
            return text
        self.count += len(spans)
        pieces: list[str] = []
        copied = 0
        for start, end in spans:
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


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of `spans`, ordered."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
