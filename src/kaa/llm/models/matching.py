"""From what a person types to the model that is meant: `sonnet`, `opus-5`, `gpt-5.2:high`."""

import re
from collections.abc import Iterable, Sequence

from kaa.core.provider import Model, ThinkingLevel
from kaa.llm.thinking_levels import LEVELS

_PUNCTUATION = re.compile(r"[^a-z0-9]+")
_MOST_SUGGESTIONS = 5
_LEVELS: dict[str, ThinkingLevel] = {level: level for level in LEVELS}


def split_thinking(query: str) -> tuple[str, ThinkingLevel | None]:
    """The query without its `:level`, and the level. Other colons belong to the id, as in `qwen3:8b`."""
    head, colon, tail = query.rpartition(":")
    return (head, _LEVELS[tail]) if colon and head and tail in _LEVELS else (query, None)


def split_level(query: str, models: Iterable[Model]) -> tuple[str, ThinkingLevel | None]:
    """The same, except where a model of `models`, which are looked at only then, is called so with its colon."""
    head, level = split_thinking(query)
    if level is not None and any(query in (model.id, model.qualified_id) for model in models):
        return query, None
    return head, level


def misspelled_level(query: str, *, cutoff: float = 0.6) -> tuple[str, ThinkingLevel] | None:
    """What names the model in a query like `sonnet:hihg`, and the level that is probably meant; None for other ends.

    Args:
        cutoff: how much that must resemble the level, from 0 to 1.
    """
    head, colon, tail = query.rpartition(":")
    close = close_names(tail.lower(), LEVELS, 1, cutoff=cutoff) if colon and head else []
    return (head, _LEVELS[close[0]]) if close else None


def best_matches(query: str, models: Iterable[Model]) -> Sequence[Model]:
    """The models that `query` fits best; several if it does not tell them apart.

    An exact id fits best; then the same with other case or punctuation; then the end of an id (`opus-5`);
    then any part of id or name. A nickname without a version number (`sonnet`) means the first model it
    fits, because models come in order of preference; and the vendor's own before what gateways call `vendor/id`.
    """
    found = _fitting(query, tuple(models))
    own = [model for model in found if "/" not in model.id] or found
    nickname = not any(character.isdigit() for character in query)
    return _first_of_each_provider(own) if nickname else own


def _fitting(query: str, models: Sequence[Model]) -> Sequence[Model]:
    """Those that fit equally well, and better than all others."""
    wanted = _plain(query)
    if exact := [model for model in models if model.id == query]:
        return exact
    if not wanted:
        return ()
    ids = [(_plain(model.id), model) for model in models]
    return (
        [model for name, model in ids if name == wanted]
        or [model for name, model in ids if _ends(name, wanted)]
        or [model for name, model in ids if wanted in name or wanted in _plain(model.name)]
    )


def is_certain(query: str, model: Model) -> bool:
    """Whether `query` names `model` rather than being a part of its name."""
    return model.id == query or _ends(_plain(model.id), _plain(query))


def suggestions(query: str, models: Iterable[Model]) -> list[str]:
    """The models whose names are close to `query`, as `provider/id`."""
    names = {model.qualified_id: model.id for model in models}
    close = close_names(query.rpartition("/")[2], dict.fromkeys(names.values()), _MOST_SUGGESTIONS)
    return [name for model_id in close for name, other in names.items() if other == model_id][:_MOST_SUGGESTIONS]


def close_names(name: str, names: Iterable[str], limit: int = 3, *, cutoff: float = 0.5) -> list[str]:
    """Those of `names` that `name` may be a slip of, the closest first."""
    import difflib  # lazy: only for who made a mistake

    return difflib.get_close_matches(name, list(names), limit, cutoff=cutoff)


def _plain(text: str) -> str:
    return _PUNCTUATION.sub("-", text.lower()).strip("-")


def _ends(name: str, wanted: str) -> bool:
    return name == wanted or name.endswith(f"-{wanted}")


def _first_of_each_provider(models: Sequence[Model]) -> Sequence[Model]:
    first: dict[str, Model] = {}
    for model in models:
        first.setdefault(model.provider, model)
    return tuple(first.values())
