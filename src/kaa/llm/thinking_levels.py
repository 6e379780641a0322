"""The levels at which models think: which of them a model has, and the nearest to one it has not."""

from typing import Final, TypeAlias, get_args

from kaa.core.provider import Model, ThinkingLevel

ThinkingLevels: TypeAlias = dict[ThinkingLevel, str | None]
"""What a model calls its levels. One that is not in it has its usual name; None marks one the model does not have."""

LEVELS: Final[tuple[ThinkingLevel, ...]] = get_args(ThinkingLevel)
"""All, the lowest first."""
DEFAULT_THINKING: Final[ThinkingLevel] = "medium"  # pi's
USUAL_EFFORTS: Final[ThinkingLevels] = {
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    # Not every model has these; one that has says so in its `ThinkingLevels`.
    "xhigh": "high",
    "max": "high",
}
"""What most servers call them that take an effort. How thinking is switched off differs."""


def offered_levels(model: Model, levels: ThinkingLevels) -> tuple[ThinkingLevel, ...]:
    """The thinking levels that a model has, the lowest first. The two highest are only there where it names them."""
    if not model.reasoning:
        return ("off",)
    usual = {name: None if name in {"xhigh", "max"} else name for name in LEVELS}
    return tuple(name for name in LEVELS if levels.get(name, usual[name]) is not None)


def nearest_level(level: ThinkingLevel, model: Model, levels: ThinkingLevels) -> ThinkingLevel:
    """`level`, or the next higher one the model has, or else the next lower one, as pi clamps them."""
    has = offered_levels(model, levels)
    return next((name for name in by_nearness(level) if name in has), "off")


def by_nearness(level: ThinkingLevel) -> tuple[ThinkingLevel, ...]:
    """All levels in the order in which they can stand for `level`: itself, those above it, those below it."""
    wanted = LEVELS.index(level)
    return (*LEVELS[wanted:], *reversed(LEVELS[:wanted]))
