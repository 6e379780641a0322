"""Fields of models.json that have no effect in kaa, so that nobody relies on them.

pi's fields are those of its schema (`schemas/models.schema.json` of `@earendil-works/pi-coding-agent` 1.5.2).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from kaa.core.messages import Json
from kaa.llm.compat import Compat
from kaa.llm.sampling import OWN_FIELDS

# Of pi's fields those that permit a request what kaa's requests never have: without them, nothing is missing.
_PERMISSIONS: Final = frozenset(
    [
        "$schema",
        "supportsOpenAIGrammarTools",
        "supportsMidConvoSystemMessages",
        "supportsMidConvoToolAdditions",
        "supportsMidConvoToolChanges",
        "supportsMidConvoEffort",
        "supportsAdditionalTools",
        "supportsToolSearch",
        "supportsStrictTools",
        "supportsMessageThreads",
    ]
)
_ROUTING: Final = ("openRouterRouting", "vercelGatewayRouting")
_WITHOUT_ROUTING: Final = ("google-generative-ai", "google-vertex")
_SAMPLING: Final = ("samplingParams", "samplingParamsByThinkingLevel")


def ignored_fields(entry: Mapping[str, Json], shape: type[msgspec.Struct], api: str | None) -> Iterator[str]:
    """The fields of a provider, a model or an override that have no effect, with their places within it.

    Args:
        entry: as it is written, and valid.
        shape: what kaa reads of it.
        api: the wire format, as far as it is known.
    """
    yield from unknown_fields(entry, shape)
    compat = entry.get("compat") or {}
    yield from unknown_fields(compat, Compat, "compat.")
    if api in _WITHOUT_ROUTING:
        yield from (f"compat.{name}" for name in _ROUTING if compat.get(name))
    for name in _SAMPLING:
        given = entry.get(name) or {}
        levels = {f"{name}.": given} if name == _SAMPLING[0] else {f"{name}.{at}.": given[at] for at in given}
        for place, params in levels.items():
            yield from (f"{place}{field}" for field in params if field in OWN_FIELDS)


def unknown_fields(entry: Iterable[str], shape: type[msgspec.Struct], place: str = "") -> Iterator[str]:
    """The fields that kaa does not know, each after `place`."""
    known = {field.encode_name for field in msgspec.structs.fields(shape)}
    return (f"{place}{name}" for name in entry if name not in known and name not in _PERMISSIONS)
