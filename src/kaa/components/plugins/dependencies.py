"""Which other plugins a plugin of Claude Code needs: `dependencies` of its manifest.

Source: "Plugin dependencies" in the documentation of Claude Code 2.1. An entry is `NAME`, `NAME@MARKETPLACE`, or an
object with `name`, `marketplace` and `version`, a range as npm writes it.
"""

import re

import msgspec

from kaa.components.plugins.json_fields import MAX_NAME, line_of, quoted
from kaa.components.plugins.versions import range_in, version_in
from kaa.core.messages import Json

_MOST = 50
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")


class Dependency(msgspec.Struct, frozen=True, omit_defaults=True):
    """A plugin that another needs.

    Attributes:
        marketplace: that has it; empty: that of the plugin which needs it.
        version: the range of versions that will do; empty: any.
    """

    name: str
    marketplace: str = ""
    version: str = ""

    def __str__(self) -> str:
        place = f"@{self.marketplace}" if self.marketplace else ""
        return f"{self.name}{place}{f' {self.version}' if self.version else ''}"


def dependencies_in(value: Json) -> tuple[tuple[Dependency, ...], list[str]]:
    """The dependencies in a field, and what of it is left out, in sentences without their ends."""
    entries = value if isinstance(value, list) else [] if value is None else [value]
    found: dict[tuple[str, str], Dependency] = {}
    notes: list[str] = []
    for entry in entries[:_MOST]:
        dependency = _dependency(entry)
        if dependency is None:
            notes.append(f"{quoted(entry)} in `dependencies` is left out: it has no valid name or range of versions")
        else:
            found.setdefault((dependency.name, dependency.marketplace), dependency)
    if len(entries) > _MOST:
        notes.append(f"only the first {_MOST} of `dependencies` are used")
    return tuple(found.values()), notes


def fits(version: str, wanted: str) -> bool:
    """Whether a version will do. `wanted`: a range, or empty for any version."""
    if not wanted:
        return True
    known, suitable = version_in(version), range_in(wanted)
    return known is not None and suitable is not None and suitable.has(known)


def _dependency(entry: Json) -> Dependency | None:
    if isinstance(entry, str):
        name, marketplace, version = (*entry.split("@", 2), "", "")[:3]
    elif isinstance(entry, dict):
        given = (entry.get("name"), entry.get("marketplace"), entry.get("version"))
        if any(not isinstance(one, str | None) for one in given):
            return None
        name, marketplace, version = (one if isinstance(one, str) else "" for one in given)
        if "@" in name and not marketplace:
            name, _, marketplace = name.partition("@")
    else:
        return None
    names = [name, marketplace] if marketplace else [name]
    if not all(map(_NAME.fullmatch, names)) or line_of(version) != version or range_in(version) is None:
        return None
    return Dependency(name, marketplace, version)
