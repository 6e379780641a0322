"""Models as definitions name them: aliases of other agents become roles, because the user may have other models."""

import re
from collections.abc import Mapping
from typing import Final, get_args

from kaa.components.agent_definition import AgentModel, ModelRole
from kaa.core.provider import ThinkingLevel
from kaa.core.terminal_text import plain_text

_MAX_CHARACTERS = 200

# Aliases of Claude Code, Gemini CLI and Cursor.
_ALIASES: Final[dict[str, ModelRole]] = {
    "": "inherit",
    "inherit": "inherit",
    "default": "inherit",
    "auto": "inherit",
    "small": "small",
    "haiku": "small",
    "fast": "small",
    "flash": "small",
    "flash-lite": "small",
    "large": "large",
    "sonnet": "large",
    "opus": "large",
    "opusplan": "large",
    "fable": "large",
    "pro": "large",
}
# Parts of names by which vendors mark the small ones of a family.
_SMALL: Final = frozenset({"haiku", "mini", "nano", "flash", "lite", "small", "fast", "micro"})
_CONTEXT = re.compile(r"\[[^]]*\]$")  # `sonnet[1m]`
_LEVELS: Final[dict[str, ThinkingLevel]] = {"none": "off", **{level: level for level in get_args(ThinkingLevel)}}


def model_choice(name: str) -> AgentModel:
    """What a file means by the name of a model."""
    shown = " ".join(plain_text(name[:_MAX_CHARACTERS]).split())
    alias = _CONTEXT.sub("", shown.lower())
    if alias in _ALIASES:
        return AgentModel(_ALIASES[alias])
    is_small = not _SMALL.isdisjoint(re.split(r"[^a-z]+", shown.lower()))
    return AgentModel("small" if is_small else "large", shown)


def queries_for(choice: AgentModel, models: Mapping[ModelRole, str]) -> list[str]:
    """What is to answer, as `--model` takes it: the first that there is; none for the model in force.

    Args:
        models: the user's, by what they are for.
    """
    return [one for one in (choice.reference, models.get(choice.role, "")) if one]


def thinking_level(name: str) -> ThinkingLevel | None:
    """The level that an effort means; None if it is none."""
    return _LEVELS.get(name.lower())
