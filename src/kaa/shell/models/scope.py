"""The models a user cycles through: the setting `enabledModels`, patterns as in pi."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from kaa.core.provider import Model
from kaa.ext.choices import ScopedModel
from kaa.llm.former_names import current_query
from kaa.llm.models.matching import best_matches, split_level

_GLOB_CHARACTERS = frozenset("*?[")


def scoped_models(patterns: Iterable[str], models: Sequence[Model]) -> tuple[ScopedModel, ...]:
    """The models that patterns name, in the order of the patterns, each once.

    Args:
        patterns: globs on `provider/id` or `id` in any case (`anthropic/*`, `*haiku*`), or what `--model` takes; each
            with `:level` for the thinking level.
    """
    found: dict[tuple[str, str], ScopedModel] = {}
    for pattern in patterns:
        query, level = split_level(current_query(pattern.strip()), models)
        for model in _matching(query, models):
            found.setdefault((model.provider, model.id), ScopedModel(model, level))
    return tuple(found.values())


def _matching(query: str, models: Sequence[Model]) -> Sequence[Model]:
    if _GLOB_CHARACTERS & set(query):
        wanted = query.lower()
        return [
            model
            for model in models
            if fnmatchcase(model.qualified_id.lower(), wanted) or fnmatchcase(model.id.lower(), wanted)
        ]
    named = [model for model in models if model.qualified_id == query]
    return named or best_matches(query, models)[:1]
