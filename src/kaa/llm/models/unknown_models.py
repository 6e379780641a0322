"""Models that only the user knows, at the vendors whose models are much alike: what is likely true of any new one.

The figures are the smallest that the vendor's usual models of today have in kaa's catalogue. The price stays unknown.
A parameter of thinking is refused by models that cannot think, so what a name does not promise is not assumed.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from kaa.core.provider import Model
from kaa.llm.catalogue import KnownModel
from kaa.llm.models.matching import close_names
from kaa.llm.models.product_names import providers_of
from kaa.llm.thinking_levels import ThinkingLevels


class _Kind(msgspec.Struct, frozen=True):
    """What is taken for granted of a kind of model."""

    context_window: int
    max_tokens: int
    thinking_levels: ThinkingLevels = {}
    reasoning: bool = True


# Each Claude since 3.7 thinks and sees; the smallest window and output of those that are served.
_CLAUDE: Final = _Kind(200_000, 32_000)
# GPT from 5 on and the o series think, and not all can go without; only some have more levels than these.
_THREE_LEVELS: Final[ThinkingLevels] = {"off": None, "minimal": None}
_GPT: Final = _Kind(272_000, 128_000, _THREE_LEVELS)
_O: Final = _Kind(200_000, 100_000, _THREE_LEVELS)
# `gpt-5-chat-latest` and the like answer as in the chat, without thinking.
_GPT_OF_THE_CHAT: Final = _Kind(128_000, 16_384, reasoning=False)
# Each Gemini from 2.5 on thinks and sees; those before answer with no more than 8,192 tokens.
_GEMINI: Final = _Kind(1_048_576, 32_768)
_OLD_GEMINI: Final = _Kind(1_048_576, 8_192, reasoning=False)

# How much a word must resemble another one to be taken for a slip of it: one letter in five or six.
_SLIP: Final = 0.75

_OPENAI_FORMATS: Final = ("openai-responses", "azure-openai-responses")
_GOOGLE_FORMATS: Final = ("google-generative-ai", "google-vertex")


def likely_model(provider: str, model_id: str, api: str) -> KnownModel | None:
    """What is likely true of a model at its vendor's own address; None where the name says nothing.

    Args:
        provider: as kaa's table of providers has it.
        api: the wire format in which it is asked.
    """
    kind = _kind(provider, model_id.lower(), api)
    if kind is None:
        return None
    model = Model(
        model_id, provider, api, model_id, kind.reasoning, ("text", "image"), kind.context_window, kind.max_tokens
    )
    return KnownModel(model, kind.thinking_levels)


def may_be_new(provider: str, name: str, ids: Iterable[str]) -> bool:
    """Whether `name`, which fits no known model, can be a model that the vendor has released since.

    Args:
        provider: as kaa's table of providers has it.
        name: what the user typed, without a provider before it.
        ids: of the vendor's known models. New ones have another number or word; a word that is almost one of theirs is
            a slip, and so is a name that is one of theirs without its punctuation.
    """
    known = {model_id.rpartition("/")[2].lower() for model_id in ids}
    words, squashed = _words(name.lower()), _squashed(name.lower())
    if not words or any(_squashed(model_id).startswith(squashed) for model_id in known):
        return False
    vocabulary = {word for model_id in known for word in _words(model_id)}
    if words[0] not in vocabulary and provider not in providers_of(words[0]):
        return False
    return not any(word not in vocabulary and close_names(word, vocabulary, cutoff=_SLIP) for word in words[1:])


def is_slip(name: str, ids: Iterable[str]) -> bool:
    """Whether `name` is one of `ids` without its punctuation, or a part of one but for a letter or two in its words.

    Args:
        name: what the user typed, without a provider before it.
        ids: of known models. Another number is none of their misspellings, but may be another model.
    """
    known = {model_id.rpartition("/")[2].lower() for model_id in ids}
    if name.lower() in known:
        return False
    if any(_squashed(model_id) == _squashed(name.lower()) for model_id in known):
        return True
    names = {"-".join(_words(model_id)) for model_id in known}
    vocabulary = {word for model_id in known for word in _words(model_id)}
    words = _words(name.lower())
    corrected = [
        word if word in vocabulary else next(iter(close_names(word, vocabulary, 1, cutoff=_SLIP)), word)
        for word in words
    ]
    return words != corrected and any("-".join(corrected) in written for written in names)


def family_of(name: str) -> str:
    """The first word of a name: `gpt` of `gpt-5`, `claude` of `claude-opus-5`; empty if it has none."""
    return next(iter(_words(name.lower())), "")


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+", name)


def _squashed(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name)


def _kind(provider: str, name: str, api: str) -> _Kind | None:
    if api.startswith("anthropic-") and (provider == "anthropic" or "claude" in name):
        return _CLAUDE
    if api in _GOOGLE_FORMATS and "gemini-" in name:
        from kaa.llm.gemini.thinking import generation  # lazy: few ask for a Gemini that kaa does not know

        return _GEMINI if generation(name) >= (2, 5) else _OLD_GEMINI
    if provider in ("openai", "azure") and api in _OPENAI_FORMATS:
        return _kind_of_openai(name)
    return None


def _kind_of_openai(name: str) -> _Kind | None:
    """By the name, which a fine-tuned model or a deployment at Azure may not have: nothing is known of these."""
    if re.match(r"o\d", name):
        return _O
    number = re.match(r"gpt-(\d{1,2})(?!\d)", name)
    if number is None or int(number[1]) < 5:
        return None
    return _GPT_OF_THE_CHAT if "-chat" in name else _GPT
