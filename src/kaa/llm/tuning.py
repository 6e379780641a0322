"""How the user wants models asked, whichever model it is: what is the same for all vendors, each in its own words."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, get_args

import msgspec

from kaa.core.provider import ThinkingLevel

CacheRetention: TypeAlias = Literal["none", "short", "long"]
"""How long servers shall keep a prompt: not at all, for their usual minutes, or for the longest time they offer."""

BUDGET_TOKENS: Mapping[ThinkingLevel, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 16_384,
    "max": 16_384,
}
"""The most tokens of reasoning by level, where a server takes a number and the user has said nothing else."""

SMALLEST_ANSWER_TOKENS = 1024
"""What is left of a reply's limit for the answer: the reasoning is a part of the reply and counts against the limit."""

# The first that is set counts; the second is pi's.
_RETENTION_VARIABLES = ("KAA_CACHE_RETENTION", "PI_CACHE_RETENTION")
_RETENTIONS: dict[str, CacheRetention] = {name: name for name in get_args(CacheRetention)}


class PromptCache(msgspec.Struct, frozen=True):
    """How long a server keeps prompts at least, in seconds, when it is asked to for its usual time or for a long one.

    Anthropic's `ephemeral`, without and with a `ttl` of an hour; OpenAI names 5 to 10 minutes, and a day.
    """

    short: Annotated[int, msgspec.Meta(gt=0)] = 5 * 60
    long: Annotated[int, msgspec.Meta(gt=0)] = 60 * 60


class Tuning(msgspec.Struct, rename="camel", frozen=True):
    """The user's wishes.

    Attributes:
        cache_retention: how long prompts are kept; see `kaa.llm.wire.Endpoint.retention` for what becomes of it.
        thinking_budgets: tokens to think with, by level, for models that are given a number of tokens.
        thinking_levels: how hard models think, by `provider/id`, where nothing else is said.
        block_images: no image is sent to any model.
    """

    cache_retention: CacheRetention = "short"
    thinking_budgets: dict[ThinkingLevel, int] = {}
    thinking_levels: dict[str, ThinkingLevel] = {}
    block_images: bool = False

    def budgets(self, usual: Mapping[ThinkingLevel, int]) -> dict[ThinkingLevel, int]:
        """The budgets by level: the user's, and `usual` where there is none.

        What the user says of `high` holds for the levels above it as well, where nothing else is said of them: pi's
        setting has no others.
        """
        own = self.thinking_budgets
        above: tuple[ThinkingLevel, ...] = ("xhigh", "max")
        highest = dict.fromkeys(above, own["high"]) if "high" in own else {}
        return {**usual, **highest, **own}


def in_environment(tuning: Tuning, environ: Mapping[str, str]) -> tuple[Tuning, tuple[str, ...]]:
    """`tuning` with what the environment says instead, and what is wrong with that, one line each."""
    variable = next((name for name in _RETENTION_VARIABLES if environ.get(name)), None)
    if variable is None:
        return tuning, ()
    retention = _RETENTIONS.get(environ[variable])
    if retention is None:
        return tuning, (f"{variable} is {environ[variable]!r}: it can be {', '.join(_RETENTIONS)}. It is ignored.",)
    return msgspec.structs.replace(tuning, cache_retention=retention), ()
