"""Providers that were called otherwise once: names in older files, sessions and habits go on meaning them.

pi once called `azure` by the name of its wire format (0.74; it is `azure` in 1.5.2).
"""

from collections.abc import Mapping
from typing import Final, TypeVar

T = TypeVar("T")

_NOW: Final = {"azure-openai-responses": "azure"}


def current_name(provider: str) -> str:
    """What `provider` is called now."""
    return _NOW.get(provider, provider)


def former_names(provider: str) -> tuple[str, ...]:
    """What `provider` was called before."""
    return tuple(before for before, now in _NOW.items() if now == provider)


def current_query(query: str) -> str:
    """`query`, as `--model` takes it, with the current name of the provider before its first slash."""
    provider, slash, rest = query.partition("/")
    return f"{current_name(provider)}/{rest}" if slash else query


def by_current_name(entries: Mapping[str, T]) -> dict[str, T]:
    """Entries by provider, under its current name. Where there are two of a provider, both keep their names."""
    return {name if (now := current_name(name)) in entries else now: entry for name, entry in entries.items()}
