"""The fields of a server in Codex's `config.toml`, made into those of kaa. Source, 2026: the documentation of Codex."""

import math
from collections.abc import Mapping

from kaa.core.messages import Json
from kaa.shell.mcp.config.dialects import ConfigFieldError, translated

_RENAMED = {"http_headers": "headers", "enabled_tools": "tools", "disabled_tools": "excludeTools"}
_TIMES = {  # to the field and the units in a second; what comes later counts
    "startup_timeout_ms": ("startupTimeoutSeconds", 1000),
    "startup_timeout_sec": ("startupTimeoutSeconds", 1),
    "tool_timeout_sec": ("timeoutSeconds", 1),
}
# What says how Codex asks, or has no meaning for kaa.
_ITS_OWN = ("tools", "default_tools_approval_mode", "supports_parallel_tool_calls")
_LONGEST_SECONDS = 24 * 3600  # JSON has no infinity


def translated_codex(fields: Mapping[str, Json]) -> tuple[dict[str, Json], tuple[str, ...]]:
    given = dict(fields)
    remarks = [f"`{name}` is ignored: kaa asks as its own settings say" for name in _ITS_OWN[:2] if name in given]
    own: dict[str, Json] = {}
    for name, (field, units) in _TIMES.items():
        if (value := given.pop(name, None)) is not None:
            own[field], bounded = _seconds(name, value, units)
            remarks += [f"`{name}` has no limit: kaa waits for a day"] if bounded else []
    own |= {_RENAMED.get(name, name): value for name, value in given.items() if name not in _ITS_OWN}
    headers = own.get("headers")
    headers = dict(headers) if isinstance(headers, dict) else {}
    if isinstance(from_variables := own.pop("env_http_headers", None), dict):
        headers |= {key: f"${{{variable}}}" for key, variable in from_variables.items()}
    if isinstance(bearer := own.pop("bearer_token_env_var", None), str):
        headers["Authorization"] = f"Bearer ${{{bearer}}}"
    if isinstance(variables := own.pop("env_vars", None), list):
        names = [one.get("name") if isinstance(one, dict) else one for one in variables]
        env = own.get("env")
        own["env"] = {str(one): f"${{{one}}}" for one in names} | (env if isinstance(env, dict) else {})
    if isinstance(scopes := own.pop("scopes", None), list):
        own["oauth"] = {"scope": " ".join(map(str, scopes))}
    known, ignored = translated(own | ({"headers": headers} if headers else {}), "kaa")
    return known, (*remarks, *ignored)


def _seconds(name: str, value: Json, units: int) -> tuple[float, bool]:
    """The time, and whether kaa bounds it."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        raise ConfigFieldError(f"`{name}` is {value!r}, not a positive number")
    return (_LONGEST_SECONDS, True) if math.isinf(value) else (value if units == 1 else value / units, False)
