"""Settings of pi's that change what pi does and have no effect in kaa, so that nobody relies on them.

What is about the looks of pi's terminal is not reported, nor are values that ask for what kaa does anyway.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from kaa.core.messages import Json

# By place in the file: the values that ask for nothing else than what kaa does, and what to do instead.
_IGNORED: Final[dict[str, tuple[tuple[Json, ...], str]]] = {
    "cacheWarming": (("off",), "kaa does not warm caches"),
    "codemode": ((), "kaa has no code mode"),
    "defaultProjectTrust": (("ask",), "kaa asks, or start it with --trust"),
    "images.autoResize": ((True,), "kaa always reduces images to what models accept"),
    "packages": (([],), "put extensions for kaa into 'extensions'"),
    "prompts": (([],), "kaa has no prompt templates"),
    "shellCommandPrefix": (("",), "kaa runs commands as they are"),
    "shellPath": ((), "kaa runs commands with bash"),
    "skills": (([],), "kaa has no skills"),
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
