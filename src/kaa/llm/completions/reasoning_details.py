"""Reasoning as OpenRouter passes it on: entries of several kinds, some sealed by the vendor behind it.

They go back as they came: Gemini 3 refuses its own calls without them, Claude and GPT lose the thread.
https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning
"""

from typing import Final

import msgspec

from kaa.core.messages import Json
from kaa.core.reply import MOST_CHARACTERS
from kaa.llm import reply_json
from kaa.llm.rendering import JsonObject

# The fields that come in pieces, by the type of their entry.
_GROWING: Final = {"reasoning.text": "text", "reasoning.summary": "summary"}


class ReasoningDetails:
    """The entries of a reply that still arrives."""

    def __init__(self) -> None:
        self._entries: list[tuple[JsonObject, list[str]]] = []
        self._characters = 0

    def add(self, pieces: Json) -> None:
        """More entries, or more of the last one. What is not of their kind is left out."""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict) and isinstance(piece.get("type"), str):
                self._take(piece)

    @property
    def sealed(self) -> str | None:
        """All of them, as text to keep with the reply; None if there are none, or far too many."""
        if not self._entries or self._characters > MOST_CHARACTERS:
            return None
        whole = [{**entry, **_grown(entry, parts)} for entry, parts in self._entries]
        return reply_json.encode(whole).decode()

    def _take(self, piece: JsonObject) -> None:
        growing = _GROWING.get(piece["type"])
        text = piece.get(growing) if growing else None
        parts = [text] if isinstance(text, str) else []
        self._characters += sum(map(len, filter(lambda value: isinstance(value, str), piece.values())))
        if self._characters > MOST_CHARACTERS:
            return
        if growing and self._entries and _belong_together(self._entries[-1][0], piece):
            entry, known = self._entries[-1]
            known += parts
            entry |= {key: value for key, value in piece.items() if entry.get(key) is None}
        else:
            self._entries.append((dict(piece), parts))


def unsealed(signature: str) -> list[Json]:
    """The entries that `signature` is; none if it is something else."""
    if not signature.startswith("["):
        return []
    try:
        return msgspec.json.decode(signature, type=list[Json])
    except (msgspec.DecodeError, RecursionError):
        return []


def _belong_together(entry: JsonObject, piece: JsonObject) -> bool:
    return (entry["type"], entry.get("index")) == (piece["type"], piece.get("index"))


def _grown(entry: JsonObject, parts: list[str]) -> JsonObject:
    growing = _GROWING.get(entry["type"])
    return {growing: "".join(parts)} if growing and parts else {}
