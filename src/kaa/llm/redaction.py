"""Removes secrets from text that will be kept or shared: those we know, and those that look like one.

A known secret is found however JSON or a URL may have escaped it. A false alarm costs a
few characters, a miss costs a key, so the shapes err to the safe side.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

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
        for kind, hint, pattern in _SHAPES:
            if hint in text:
                found += (_Found(*match.span(match.re.groups), kind) for match in _compiled(pattern).finditer(text))
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


# What secrets look like: keys that vendors give a prefix, and values of names such as `PASSWORD`. No
# expression begins with something of any length, so each takes time in proportion to the text. A name counts where it
# ends right before `=` or `:`: `max_tokens=4096` is none. In a shell's or a `.env`'s `NAME=value` every value is a
# secret but what is code (`$X`, `get()`); in other notations only a quoted one, or a long one with a digit.


class _Shape(NamedTuple):
    """What a kind of secret looks like. `hint` is in every match: a cheap test that spares the expression."""

    kind: str
    hint: str
    pattern: str  # a group, where there is one, is the secret part of the match


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when a text has its hint: all of them take 40 ms, and most texts have none."""
    return re.compile(pattern)


_KEYS = (
    # OpenAI, Anthropic, OpenRouter, DeepSeek, Moonshot, …; words such as "sk-estimator-label" have no digit.
    ("API key", "sk-", r"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,128}\d)[A-Za-z0-9_-]{20,}"),
    ("Groq key", "gsk_", r"(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{20,}"),
    ("xAI key", "xai-", r"(?<![A-Za-z0-9])xai-(?=[A-Za-z_-]{0,128}\d)[A-Za-z0-9_-]{20,}"),
    ("Cerebras key", "csk-", r"(?<![A-Za-z0-9])csk-(?=[A-Za-z_-]{0,128}\d)[A-Za-z0-9_-]{20,}"),
    ("Vercel key", "vck_", r"(?<![A-Za-z0-9])vck_[A-Za-z0-9]{20,}"),
    ("Fireworks key", "fw_", r"(?<![A-Za-z0-9_])fw_(?=[A-Za-z]{0,128}\d)[A-Za-z0-9]{20,}"),
    ("Amazon Bedrock key", "ABSK", r"(?<![A-Za-z0-9])ABSK[A-Za-z0-9+/]{40,}=*"),
    ("NVIDIA key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{20,}"),
    ("Together key", "tgp_v1_", r"tgp_v1_[A-Za-z0-9_-]{20,}"),
    ("Z.ai key", ".", r"(?<![A-Za-z0-9])[0-9a-f]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9])"),
    ("Xiaomi key", "tp-", r"(?<![A-Za-z0-9_-])tp-(?=[A-Za-z]{0,128}\d)[A-Za-z0-9]{32,}"),
    ("Meta key", "LLM|", r"LLM\|\d{6,}\|[A-Za-z0-9_-]{16,}"),
    ("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{30,}"),
    ("Replicate key", "r8_", r"\br8_[A-Za-z0-9]{30,}"),
    ("Stripe key", "k_live_", r"\b[rs]k_live_[A-Za-z0-9]{16,}"),
    ("Google key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    ("Google key", "AQ.", r"(?<![A-Za-z0-9])AQ\.[A-Za-z0-9_-]{30,}"),
    ("Google token", "ya29.", r"\bya29\.[A-Za-z0-9_-]{20,}"),
    ("GitHub token", "gh", r"\bgh[opusr]_[A-Za-z0-9]{36,}"),
    ("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    ("GitLab token", "glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
    ("AWS key", "A", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    # As the console's file and other tables have them, one beside the other.
    ("AWS secret key", "A", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9/+\n]{1,40}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"),
    ("Slack token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    ("npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}"),
    ("PyPI token", "pypi-", r"pypi-[A-Za-z0-9_-]{50,}"),
    ("SendGrid key", "SG.", r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("DigitalOcean token", "_v1_", r"\bdo[opr]_v1_[a-f0-9]{32,}"),
    ("Shopify token", "shp", r"\bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}"),
    ("Linear key", "lin_api_", r"\blin_api_[A-Za-z0-9]{20,}"),
    ("Sentry token", "sntry", r"\bsntry[su]_[A-Za-z0-9+/=_-]{20,}"),
    ("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-[A-Z0-9-]{20,}"),
    ("Azure storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{16,}={0,2})"),
    (
        "password of a header",
        "uthorization",
        r"uthorization(?:\\{0,3}[\"'])?\s{0,4}[:=]\s{0,4}(?:\\{0,3}[\"'])?[Bb]asic\s{1,4}([A-Za-z0-9+/_-]{4,}={0,2})",
    ),
    # A file named .netrc, on one line or on several.
    (
        "password in .netrc",
        "password",
        r"\b(?:machine\s{1,8}\S{1,255}|default)(?:\s{1,8}(?:login|account)\s{1,8}\S{1,255}){0,2}"
        r"\s{1,8}password\s{1,8}(\S{1,255})",
    ),
    ("bearer token", "earer", r"\b[Bb]earer\s+([A-Za-z0-9._~+/-]{16,}=*)"),
    ("JSON Web Token", "eyJ", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
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
_NAMED = "value of a name for secrets"
# As variables of the environment are named: the end of the name.
_VARIABLES = (
    *("PASSWORD", "PASSWD", "PASSPHRASE", "_PASS", "API_KEY", "APIKEY", "ACCESS_KEY", "SECRET", "SECRET_KEY"),
    *("SECRET_KEY_BASE", "TOKEN", "_PAT"),
)
# As .npmrc has them, which quotes nothing.
_OF_NPM = ("_authToken", "_password", "_auth")
# As settings, JSON and URLs have them.
_NAMES = (
    *("password", "Password", "passwd", "passphrase", "api_key", "apiKey", "ApiKey", "apikey", "api-key", "Api-Key"),
    *("access_key", "accessKey", "AccessKey", "access_token", "accessToken", "auth_token", "authToken", "secret"),
    *("secret_key", "secretKey", "SecretKey", "client_secret", "clientSecret", "ClientSecret", "refresh_token"),
    *("refreshToken", "private_key", "privateKey", "_token", "Token"),
)
_AWS = ("secret_access_key", "SECRET_ACCESS_KEY", "SecretAccessKey", "secretAccessKey")
_QUOTE = r"\\{0,3}[\"']"
_IS = r"\s{0,4}[:=]\s{0,4}"
_CODE = r"[A-Za-z_][\w.]{0,80}[(\[]"


def _of_names() -> Iterator[tuple[str, str, str]]:
    for name in (*_VARIABLES, *_OF_NPM):
        yield _NAMED, f"{name}=", rf"{name}=(?![$<{{(%*\[]|{_CODE})([^\s\"'`;&|<>()\\,]{{4,}})"
        yield _NAMED, f"{name}=", rf"{name}={_QUOTE}(?![$<{{%])([^\s\"'\\]{{4,}}){_QUOTE}"
    for name in (*_NAMES, *_VARIABLES):
        value = r"(?=[^\s\"'\\]{0,128}[0-9!@#%^&*+=])([^\s\"'\\$<{][^\s\"'\\]{7,})"
        yield _NAMED, name, rf"{name}(?:{_QUOTE})?{_IS}{_QUOTE}{value}{_QUOTE}"
    for name in (*_NAMES, *_VARIABLES):
        # In a URL, an option or a file of settings: long, with a digit, and nothing that goes on as code does.
        value = r"(?=[A-Za-z_~+/-]{0,128}\d)([A-Za-z0-9_~+/-]{16,}={0,2})(?![.(\[A-Za-z0-9_~+/-])"
        yield _NAMED, name, rf"{name}{_IS}{value}"
    for name in _AWS:
        yield "AWS secret key", name, rf"{name}(?:{_QUOTE})?{_IS}(?:{_QUOTE})?([A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+])"


_SHAPES = tuple(_Shape(*shape) for shape in (*_KEYS, *_of_names()))
