"""The models kaa knows without being told: one data file for each provider, read when that provider is asked for.

`scripts/catalogue.py` writes the files; `data/NOTICE` says where the figures are from.
"""

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from kaa.core.messages import Json
from kaa.core.provider import Model, ModelRates
from kaa.llm.sampling import Sampling
from kaa.llm.thinking_levels import ThinkingLevels
from kaa.llm.tuning import PromptCache

_DATA = Path(__file__).parent / "data"


class KnownModel(msgspec.Struct, frozen=True):
    """A model with what its endpoint needs to know of it.

    Attributes:
        compat: overrides with the names of models.json, see `kaa.llm.compat.Compat`.
        base_url: where this model is served, if not where its provider's other models are.
        headers: more headers for this model.
        sampling: as the user has it in models.json.
    """

    model: Model
    thinking_levels: ThinkingLevels = {}
    compat: dict[str, Json] = {}
    base_url: str | None = None
    headers: dict[str, str] = {}
    sampling: Sampling = Sampling()
    prompt_cache: PromptCache = PromptCache()


@cache
def provider_names() -> frozenset[str]:
    """The providers there is a file for."""
    return frozenset(file.stem for file in _DATA.iterdir() if file.suffix == ".json")


@cache
def known_models(provider: str) -> tuple[KnownModel, ...]:
    """The models of a provider in order of preference: the first is taken when none is asked for.

    Reads the file of this provider and no other; none for a provider nobody knows.
    """
    if provider not in provider_names():
        return ()
    file = msgspec.json.decode((_DATA / f"{provider}.json").read_bytes(), type=CatalogueFile)
    return tuple(_known(provider, file, entry) for entry in file.models)


class CatalogueEntry(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """A model as a file has it; what is not there is as the file says for all, or as models.json would have it.

    Attributes:
        cost: None where nobody wrote a price down.
    """

    id: str
    name: str
    context_window: int
    max_tokens: int
    api: str | None = None
    base_url: str | None = None
    reasoning: bool = False
    thinking_level_map: ThinkingLevels = {}
    input: tuple[Literal["text", "image"], ...] = ("text",)
    cost: ModelRates | None = None
    compat: dict[str, Json] = {}
    headers: dict[str, str] = {}


class CatalogueFile(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """The models of one provider.

    Attributes:
        api: the wire format of those that say nothing else.
    """

    api: str
    models: tuple[CatalogueEntry, ...]
    compat: dict[str, Json] = {}


def _known(provider: str, file: CatalogueFile, entry: CatalogueEntry) -> KnownModel:
    model = Model(
        id=entry.id,
        provider=provider,
        api=entry.api or file.api,
        name=entry.name,
        reasoning=entry.reasoning,
        input=entry.input,
        context_window=entry.context_window,
        max_tokens=entry.max_tokens,
        cost=entry.cost,
    )
    return KnownModel(model, entry.thinking_level_map, file.compat | entry.compat, entry.base_url, entry.headers)
