"""A vendor's models at somebody else's address: what of the catalogue holds there too."""

import re

import msgspec

from kaa.llm.catalogue import KnownModel
from kaa.llm.thinking_levels import LEVELS, ThinkingLevels


def behind_gateway(known: KnownModel) -> KnownModel:
    """The model where a gateway or an own server passes the vendor's off as its own.

    It is all at one address there, and of OpenAI's formats, Chat Completions is the one that such servers speak;
    `api` in models.json says otherwise.
    """
    if known.model.api != "openai-responses":
        return msgspec.structs.replace(known, base_url=None)
    model = msgspec.structs.replace(known.model, api="openai-completions")
    return msgspec.structs.replace(known, model=model, thinking_levels=_levels_with_tools(known), base_url=None)


def _levels_with_tools(known: KnownModel) -> ThinkingLevels:
    """What is left over Chat Completions, where OpenAI's models from GPT-5.4 on take tools only if they do not think.

    Source: developers.openai.com, the models' pages (2026-11-20).
    """
    version = re.match(r"gpt-(\d+)(?:\.(\d+))?", known.model.id)
    new = version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 4)
    if not new or known.thinking_levels.get("off") is None:
        return known.thinking_levels
    return {**dict.fromkeys(LEVELS), "off": known.thinking_levels["off"]}
