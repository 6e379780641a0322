"""The built-in models: what must hold for every one of them."""

import pytest

from kaa.core.provider import ThinkingLevel
from kaa.llm.catalogue import CATALOGUE, KnownModel
from kaa.llm.compat import Compat, compat_for
from kaa.llm.providers import BUILTINS
from kaa.llm.registry import nearest_level

_LEVELS: tuple[ThinkingLevel, ...] = ("off", "medium", "max")
_KNOWN = [pytest.param(known, id=known.model.id) for models in CATALOGUE.values() for known in models]


def test_every_built_in_provider_has_models_of_its_own() -> None:
    assert set(CATALOGUE) == set(BUILTINS)
    assert all(known.model.provider == name for name, models in CATALOGUE.items() for known in models)


def test_ids_are_unique() -> None:
    ids = [known.model.id for models in CATALOGUE.values() for known in models]

    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("known", _KNOWN)
def test_figures_are_plausible(known: KnownModel) -> None:
    model, cost = known.model, known.model.cost

    assert 0 < model.max_tokens < model.context_window
    assert cost is not None
    assert 0 < cost.cache_read < cost.input < cost.output
    assert cost.cache_write == 0 or cost.cache_write > cost.input


@pytest.mark.parametrize("known", _KNOWN)
def test_every_level_leads_to_one_the_model_has(known: KnownModel) -> None:
    levels = {nearest_level(level, known.model, known.thinking_levels) for level in _LEVELS}

    assert all(known.thinking_levels.get(level, level) is not None for level in levels)
    assert isinstance(compat_for(BUILTINS[known.model.provider].base_url, known.model.id, known.compat), Compat)
