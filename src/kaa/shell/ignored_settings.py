"""Settings that have no effect in kaa, so that nobody relies on them: of pi's, and those with a misspelled name.

What is about the looks of pi's terminal is not reported, nor are values that ask for what kaa does anyway.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from kaa.core.messages import Json

# From which on two names are taken for the same: of ten letters, one may differ.
_LIKENESS = 0.85

# By place in the file: the values that ask for nothing else than what kaa does, and what to do instead.
_IGNORED: Final[dict[str, tuple[tuple[Json, ...], str]]] = {
    "cacheWarming": (("off",), "kaa does not warm caches"),
    "codemode": ((), "kaa's code mode is a tool: put '+call_tools' into 'defaultTools'"),
    "defaultProjectTrust": (("ask",), "kaa asks, or start it with --trust"),
    "images.autoResize": ((True,), "kaa always reduces images to what models accept"),
    "packages": (([],), "put extensions for kaa into 'extensions'"),
    "shellCommandPrefix": (("",), "kaa runs commands as they are"),
    "shellPath": ((), "kaa runs commands with bash"),
    "transport": (("sse", "auto"), "kaa receives replies as server-sent events"),
}


def ignored_settings(values: Mapping[str, Json]) -> Iterator[str]:
    """The settings in a file that have no effect, each with the reason, as a clause of a sentence."""
    for place, (harmless, instead) in _IGNORED.items():
        value: Json = values
        for part in place.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None and value not in harmless:
            yield f"{place!r} has no effect: {instead}"


def unknown_settings(values: Mapping[str, Json], kind: type[msgspec.Struct], prefix: str = "") -> Iterator[str]:
    """The places in a file that the settings do not have; those of the terminal and of pi are among them."""
    known = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in values.items():
        inner = known.get(name)
        if isinstance(value, dict) and isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            yield from unknown_settings(value, inner, f"{prefix}{name}.")
        elif name not in known:
            yield from _leaves(f"{prefix}{name}", value)


def misspelled_settings(unknown: Iterable[str], kind: type[msgspec.Struct]) -> Iterator[str]:
    """Those of unknown places that are nearly the name of a setting, each with that name, as a clause of a sentence."""
    from difflib import get_close_matches  # lazy: most files have no unknown settings

    from kaa.shell.preferences import SETTINGS

    elsewhere = {*(setting.key for setting in SETTINGS), *_IGNORED, "tuiMode"}
    names = [*elsewhere, *_names(kind, "")]
    for place in unknown:
        if any(place == name or place.startswith(f"{name}.") for name in elsewhere):
            continue
        parent = place.rpartition(".")[0]
        beside = [name for name in names if name.rpartition(".")[0] == parent]
        others = beside or [name for name in names if name.count(".") == place.count(".")]
        start = len(parent) + 1 if beside and parent else 0  # a part that is the same makes names no more alike
        nearest = get_close_matches(place[start:], [name[start:] for name in others], 1, _LIKENESS)
        if nearest:
            yield f"{place!r} is unknown and has no effect: use {place[:start] + nearest[0]!r}"


def _leaves(place: str, value: Json) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(f"{place}.{name}", inner)
    else:
        yield place


def _names(kind: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    for field in msgspec.structs.fields(kind):
        yield f"{prefix}{field.encode_name}"
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _names(field.type, f"{prefix}{field.encode_name}.")
