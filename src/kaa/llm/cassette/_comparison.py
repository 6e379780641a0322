"""Whether a request asks what was recorded: the endpoint, the model and the user's texts.

Both requests come in the form a cassette has them: without secrets, with placeholders. System prompts, tools and tool
outputs may differ: they vary from run to run, and the recorded answer still fits.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec

from kaa.core.messages import Json
from kaa.llm.cassette._format import RecordedRequest

_EXCERPT_BEFORE = 30
_EXCERPT_LENGTH = 100
_ABSENT = "(nothing)"
# The list of messages in each wire format.
_MESSAGES = ("messages", "input", "contents")


def difference(recorded: RecordedRequest, actual: RecordedRequest) -> str | None:
    """The first difference that makes the recorded answer wrong, in words; None if there is none."""
    old, new = _question(recorded), _question(actual)
    for place in [*old, *(place for place in new if place not in old)]:
        if old.get(place) != new.get(place):
            before, now = _excerpts(old.get(place), new.get(place))
            return f"{place}:\n  recorded: {before}\n  now:      {now}"
    return None


def _question(request: RecordedRequest) -> dict[str, Json]:
    """What decides the answer, by its place in the request. The host may differ: a model can have several addresses."""
    question: dict[str, Json] = {"method": request.method, "url": urlsplit(request.url).path}
    body = request.body
    if not isinstance(body, dict):
        return question | {"body": body}
    question["model"] = body.get("model")
    for field in _MESSAGES:
        messages = body.get(field)
        for number, message in enumerate(messages if isinstance(messages, list) else ()):
            if isinstance(message, dict) and message.get("role") == "user":
                question |= {f"{field}[{number}].{place}": text for place, text in _texts(message)}
    return question


def _texts(message: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """The texts of a user message; its other parts are tool results and images."""
    for field in ("content", "parts"):
        content = message.get(field)
        if isinstance(content, str):
            yield field, content
        for number, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, dict) and "text" in part:
                yield f"{field}[{number}].text", part["text"]


def _excerpts(old: Json, new: Json) -> tuple[str, str]:
    """Both values as JSON on one line, cut to the same window around where they begin to differ."""
    texts = [_ABSENT if value is None else msgspec.json.encode(value).decode() for value in (old, new)]
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
