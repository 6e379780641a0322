"""Names that models use for arguments of other agents' tools, and what they are called here."""

from collections.abc import Mapping

from kaa.core.messages import Json
from kaa.session.changed_paths import PATH_NAMES

_OWN_PATH, *_OTHERS = PATH_NAMES
PATHS = dict.fromkeys(_OTHERS, _OWN_PATH)


def renamed(arguments: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Json]:
    """The arguments under the names of `names`, unless the right name is there too."""
    return {names[key] if key in names and names[key] not in arguments else key: arguments[key] for key in arguments}


def with_path(arguments: dict[str, Json]) -> dict[str, Json]:
    """The arguments of a tool that takes a path, under its name."""
    return renamed(arguments, PATHS)
