"""Is this the request that was recorded? The differences, and whether the recorded answer still fits.

Both requests come in the form a cassette has them: without secrets, with placeholders.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from kaa.core.messages import Json
from kaa.llm.cassette._format import RecordedRequest

Severity = Literal["hard", "soft"]

_EXCERPT_BEFORE = 30
_EXCERPT_LENGTH = 100
_ABSENT = "(nothing)"


class Divergence(NamedTuple):
    """One difference between a request and the recorded one.

    Attributes:
        exchange: number of the exchange in the cassette, from 1.
        path: JSON path of the difference in the request's body, or `method` or `url`.
        place: what of the request differs, less exact than `path`: differences inside one are one matter.
        severity: `hard` if the recorded answer does not fit any more, `soft` if it may.
        recorded: excerpt around the difference.
        actual: the same of the request that was made.
    """

    exchange: int
    path: str
    place: str
    severity: Severity
    recorded: str
    actual: str

    def __str__(self) -> str:
        return f"request {self.exchange}, {self.path}:\n  recorded: {self.recorded}\n  now:      {self.actual}"


class _Rule(NamedTuple):
    """How differences below a place are judged; `key` names the place from its start."""

    severity: Severity
    depth: int  # how much of the path is the place
    tool_output: bool = False  # text of a tool: volatile numbers do not count


_Path = tuple[str | int, ...]
_Judge = Callable[[_Path, Json], _Rule]

_HARD = _Rule("hard", 99)


def compare(exchange: int, recorded: RecordedRequest, actual: RecordedRequest) -> Iterator[Divergence]:
    """The differences in the order of the body; differences of no meaning are left out."""
    if recorded.method != actual.method:
        yield Divergence(exchange, "method", "method", "hard", recorded.method, actual.method)
    endpoint, actual_endpoint = urlsplit(recorded.url).path, urlsplit(actual.url).path
    if endpoint != actual_endpoint:
        # The host may differ: the same model can be behind another address.
        yield Divergence(exchange, "url", "url", "hard", endpoint, actual_endpoint)
        return
    judge = _judge_of(endpoint)
    for path, old, new in _differences((), recorded.body, actual.body):
        rule = judge(path, recorded.body)
        if rule.tool_output and _without_volatile(old) == _without_volatile(new):
            continue
        place = _json_path(path[: rule.depth])
        yield Divergence(exchange, _json_path(path), place, rule.severity, *_excerpts(old, new))


class _Missing:
    """Stands for a value that one side does not have."""


_MISSING = _Missing()


def _differences(path: _Path, old: Json, new: Json) -> Iterator[tuple[_Path, Json, Json]]:
    """The smallest differing parts, with the path to them."""
    match old, new:
        case dict(), dict():
            for key in [*old, *(key for key in new if key not in old)]:
                yield from _differences((*path, key), old.get(key, _MISSING), new.get(key, _MISSING))
        case list(), list():
            for index in range(max(len(old), len(new))):
                pair = (items[index] if index < len(items) else _MISSING for items in (old, new))
                yield from _differences((*path, index), *pair)
        case _ if type(old) is type(new) and old == new:
            pass
        case str(), str() if path[-1:] == ("arguments",) and _same_json(old, new):
            pass
        case _:
            yield path, old, new


def _same_json(old: str, new: str) -> bool:
    try:
        return bool(msgspec.json.decode(old) == msgspec.json.decode(new))
    except msgspec.DecodeError:
        return False


def _judge_of(endpoint: str) -> _Judge:
    """The rules for the wire format that is spoken at `endpoint`."""
    if endpoint.endswith("/chat/completions"):
        return _judge_openai_completions
    if endpoint.endswith("/messages"):
        return _judge_anthropic_messages
    if endpoint.endswith("/responses"):
        return _judge_openai_responses
    if endpoint.endswith(":streamGenerateContent"):
        return _judge_gemini
    return lambda _path, _body: _HARD


def _judge_openai_completions(path: _Path, body: Json) -> _Rule:
    match path:
        case ("model", *_):
            return _HARD
        case ("messages", _, *_) if "cache_control" in path:
            return _Rule("soft", path.index("cache_control") + 1)
        case ("messages", int(number), "content", *_):
            match _at(body, "messages", number, "role"):
                case "system" | "developer":
                    return _Rule("soft", 3)
                case "tool":
                    return _Rule("soft", 3, tool_output=True)
            return _HARD
        case ("messages", *_):
            return _HARD
    return _Rule("soft", 1)


def _judge_anthropic_messages(path: _Path, body: Json) -> _Rule:
    match path:
        case ("model", *_):
            return _HARD
        case ("messages", _, *_) if "cache_control" in path:
            return _Rule("soft", path.index("cache_control") + 1)
        case ("messages", int(number), "content", int(block), "content" | "is_error", *_):
            if _at(body, "messages", number, "content", block, "type") == "tool_result":
                return _Rule("soft", 5, tool_output=True)
            return _HARD
        case ("messages", *_):
            return _HARD
    return _Rule("soft", 1)


def _judge_openai_responses(path: _Path, body: Json) -> _Rule:
    match path:
        case ("model", *_):
            return _HARD
        case ("input", int(number), "content", *_) if _at(body, "input", number, "role") in ("system", "developer"):
            return _Rule("soft", 3)
        case ("input", _, "output", *_):
            return _Rule("soft", 3, tool_output=True)
        case ("input", *_):
            return _HARD
    return _Rule("soft", 1)


def _judge_gemini(path: _Path, body: Json) -> _Rule:
    match path:
        case ("contents", _, "parts", _, "functionResponse", "response" | "parts", *_):
            return _Rule("soft", 6, tool_output=True)
        case ("contents", *_):
            return _HARD
    return _Rule("soft", 1)


def _at(value: Json, *path: str | int) -> Json:
    """What is at `path` in `value`, or None."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


# What real tools print differently each time, although they did the same.
_VOLATILE = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|\s?[+-]\d\d:?\d\d)?)?", "<time>"),
        (
            r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d{1,2}\s+(?:\d\d:\d\d(?::\d\d)?|\d{4})\b",
            "<time>",
        ),
        (r"\b\d\d:\d\d:\d\d\b", "<time>"),
        (r"\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|m|min|minutes?)\b", "<duration>"),
        (r"\b0x[0-9a-fA-F]{4,}\b", "<address>"),
        (r"(?i)\b(?:pid|process)(\s*[=:#]?\s*)\d+", r"pid\1<number>"),
        (r"(/private)?/(?:var/)?tmp/[\w.+-]+|/var/folders/[\w.+/-]+", "<temporary>"),
        # A title between rules is padded to the terminal's width: pytest's last line, with its duration in it.
        (r"([=_*~-])\1{3,}", r"\1"),
    )
)


def _without_volatile(text: Json) -> Json:
    if isinstance(text, str):
        for pattern, replacement in _VOLATILE:
            text = pattern.sub(replacement, text)
    return text


def _json_path(path: _Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".") or "body"


def _excerpts(old: Json, new: Json) -> tuple[str, str]:
    """Both values as JSON on one line, cut to the same window around where they begin to differ."""
    texts = [_ABSENT if value is _MISSING else msgspec.json.encode(value).decode() for value in (old, new)]
    shortest = min(map(len, texts))
    differs = next((i for i in range(shortest) if texts[0][i] != texts[1][i]), shortest)
    start = max(0, differs - _EXCERPT_BEFORE)
    first, second = (
        ("…" if start else "")
        + text[start : start + _EXCERPT_LENGTH]
        + ("…" if len(text) > start + _EXCERPT_LENGTH else "")
        for text in texts
    )
    return first, second
