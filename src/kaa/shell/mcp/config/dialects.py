"""The fields of a configured server as each agent writes them, made into those of kaa.

Sources, 2026: the documentation of Claude Code (`.mcp.json`), Cursor (`.cursor/mcp.json`), VS Code (`.vscode/mcp.json`)
and pi (`.pi/mcp.json`).
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from kaa.core.messages import Json

Dialect: TypeAlias = Literal["kaa", "claude", "pi"]
"""Cursor and VS Code write as Claude does."""

_TYPES = {"stdio": "stdio", "local": "stdio", "http": "http", "streamable-http": "http", "remote": "http", "sse": "sse"}
# What others write and kaa has no use for.
_MEANINGLESS = frozenset({"autoEnableCodemode", "gallery", "dev", "autoApprove", "alwaysAllow", "trust", "icon"})
_NO_FILES = "`envFile` is ignored: kaa reads no environment files. Write the variables into `env`"


class ConfigFieldError(ValueError):
    """A field cannot be used; the text says which and why."""


def translated(fields: Mapping[str, Json], dialect: Dialect) -> tuple[dict[str, Json], tuple[str, ...]]:
    """The fields as `ServerEntry` has them, and what is refused or has no meaning, one sentence each.

    Raises:
        ConfigFieldError: a field has a value that cannot be understood.
    """
    found = {name: value for name, value in fields.items() if name not in _MEANINGLESS}
    ignored = () if found.pop("envFile", None) is None else (_NO_FILES,)
    if "type" in found:
        found["type"] = _type(found["type"])
    if dialect != "kaa" and "timeout" in found:
        found["timeoutSeconds"] = _seconds(found.pop("timeout"), 1 if dialect == "pi" else 1000)
    if isinstance(disabled := found.pop("disabled", None), bool):
        found["enabled"] = not disabled
    if found.pop("alwaysLoad", None) is True:
        found["exposure"] = "direct"
    if found.get("exposure") == "codemode":
        del found["exposure"]
    if (registration := found.pop("clientRegistration", None)) is not None:
        found["oauth"] = {**found.get("oauth", {}), "registration": registration}
    return found, ignored


def _type(value: Json) -> str:
    if not isinstance(value, str) or value not in _TYPES:
        raise ConfigFieldError(f"`type` is {value!r}: kaa connects to stdio, http and sse")
    return _TYPES[value]


def _seconds(value: Json, units: int) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise ConfigFieldError(f"`timeout` is {value!r}, not a positive number")
    return value / units
