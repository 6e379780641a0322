"""How a model chooses its words: fields of a request that the user gives in models.json, with pi's names."""

from typing import Final

import msgspec

from kaa.core.messages import Json
from kaa.core.provider import ThinkingLevel
from kaa.llm.rendering import JsonObject

_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
OWN_FIELDS: Final = frozenset(
    ["model", "stream", "messages", "input", "system", "tools", "contents", "store", "provider", *_LIMITS]
)
"""Fields that kaa fills itself: nothing else may stand there."""


class Sampling(msgspec.Struct, rename="camel", frozen=True):
    """The fields, as they are sent.

    Attributes:
        params: for every request.
        by_level: more of them for a thinking level, which count before `params`.
    """

    params: dict[str, Json] = {}
    by_level: dict[ThinkingLevel, dict[str, Json]] = {}

    def fields(self, level: ThinkingLevel) -> JsonObject:
        """The fields of a request whose model thinks at `level`."""
        return {
            name: value
            for name, value in {**self.params, **self.by_level.get(level, {})}.items()
            if name not in OWN_FIELDS
        }

    def laid_under(self, other: "Sampling") -> "Sampling":
        """Both; what `other` says counts."""
        levels = {
            level: {**self.by_level.get(level, {}), **other.by_level.get(level, {})}
            for level in (*self.by_level, *other.by_level)
        }
        return Sampling({**self.params, **other.params}, levels)
