"""The MCP servers that the user's own definitions of agents define in themselves.

Each is configured like any other, but needs an approval, because people copy definitions; its tools are found by a
search, so that they cost the conversation nothing.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from kaa.core.messages import Json
from kaa.host.regular_files import beginning_of, unplanted
from kaa.shell.components import Place, existing, user_places
from kaa.shell.home import Home
from kaa.shell.mcp.config.dialects import ConfigFieldError, Dialect
from kaa.shell.settings import SettingsError, load_user_settings

_MAX_FILES: Final = 200
_MAX_BYTES: Final = 256 * 1024
_FIELDS: Final = (b"mcpServers", b"mcp-servers", b"mcp_servers")
# Of an entry, as definitions have all values as texts.
_NUMBERS: Final = frozenset({"timeout", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec"})
_TRUTHS: Final = frozenset({"disabled", "enabled", "alwaysLoad", "required"})


class AgentServers(NamedTuple):
    """The servers that a file defines. `entries`: by name, in the form of `dialect`."""

    file: str
    dialect: Dialect
    entries: dict[str, Json]


def agent_servers(home: Home) -> Iterator[AgentServers]:
    """The servers of the definitions in kaa's folder, and in those of other agents that the settings name."""
    agents = user_places(home.path, ())
    with suppress(SettingsError):  # which is reported where settings are needed
        agents = user_places(home.path, load_user_settings(home.settings).use_files_of)
    for place in existing([place for place in agents if place.kind == "agent"]):
        suffix = ".toml" if place.agent == "codex" else ".md"
        for file in sorted(Path(place.folder).rglob(f"*{suffix}"))[:_MAX_FILES]:
            with suppress(OSError):
                data = beginning_of(file, _MAX_BYTES + 1, unplanted)
                if any(field in data for field in _FIELDS) and (entries := _entries(place, file, data)):
                    yield AgentServers(str(file), "kaa" if place.agent == "codex" else "claude", entries)


def _entries(place: Place, file: Path, data: bytes) -> dict[str, Json]:
    """The entries in a file, by name. Those of Codex are made into kaa's."""
    # Lazy, all: few definitions have servers.
    from kaa.components.agent_definition import AgentDefinition
    from kaa.components.agent_definition.reading import agent_in
    from kaa.shell.components.reading import DIALECTS_OF_AGENTS
    from kaa.shell.mcp.config.codex import translated_codex

    definition = agent_in(file.stem, data, DIALECTS_OF_AGENTS[place.agent])
    if not isinstance(definition, AgentDefinition) or not definition.servers:
        return {}
    found: dict[str, Json] = {}
    for name, entry in msgspec.json.decode(definition.servers, type=dict[str, dict[str, Json]]).items():
        fields = {field: _value(field, value) for field, value in entry.items()}
        if place.agent == "codex":
            with suppress(ConfigFieldError):  # then the entry is refused with its reason where all are
                fields = translated_codex(fields)[0]
        found[name] = {"exposure": "deferred", **fields}
    return found


def _value(field: str, value: Json) -> Json:
    if not isinstance(value, str):
        return value
    if field in _TRUTHS:
        return {"true": True, "false": False}.get(value, value)
    if field in _NUMBERS:
        with suppress(ValueError):
            return float(value)
    return value
