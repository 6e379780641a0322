"""Extensions of Gemini CLI. Source: its documentation of extensions (`gemini-extension.json`), version 0.61 of 2026."""

import re
from collections.abc import Mapping

from kaa.components.plugins.collecting import Collector
from kaa.components.plugins.json_fields import line_of, mapping_of, quoted
from kaa.components.plugins.manifest import Plugin, PluginFile, PluginHooks, UserOption
from kaa.core.messages import Json

MANIFEST = "gemini-extension.json"

_MAX_OPTIONS = 100
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_USED = frozenset({"name", "version", "description", "mcpServers", "contextFileName", "settings"})
_UNUSED = {
    "excludeTools": "the tools of kaa stay as they are",
    "migratedTo": "kaa does not follow it",
    "plan": "kaa keeps plans in its own folder",
    "themes": "themes of Gemini CLI have another form",
}


def gemini_plugin(folder: Collector, name: str, fields: Mapping[str, Json]) -> Plugin:
    for field in fields:
        if reason := _UNUSED.get(field):
            folder.note(f"`{field}` is not used: {reason}")
        elif field not in _USED:
            folder.note(f"{quoted(field)} in the manifest is unknown")
    folder.unsupported("policies", "rules for permissions are only in your own settings")
    hooks = folder.json("hooks/hooks.json", is_expected=False)
    return Plugin(
        name,
        "gemini",
        MANIFEST,
        version=line_of(fields.get("version"), 100),
        description=line_of(fields.get("description")),
        skills=folder.skills(["skills"], name),
        commands=folder.files(["commands"], ".toml"),
        agents=folder.files(["agents"], ".md", is_deep=False),
        hooks=(PluginHooks("hooks/hooks.json", hooks),) if hooks is not None else (),
        mcp_servers=mapping_of(fields.get("mcpServers")),
        context_files=_context_files(folder, fields.get("contextFileName")),
        options=_options(folder, fields.get("settings")),
        notes=folder.notes,
    )


def _context_files(folder: Collector, named: Json) -> tuple[PluginFile, ...]:
    """The files with instructions; GEMINI.md if none is named and it is there."""
    if not named:
        return (PluginFile("GEMINI.md", "GEMINI.md"),) if folder.listing.read("GEMINI.md") is not None else ()
    found: list[PluginFile] = []
    for path in folder.paths(named, "contextFileName"):
        if folder.listing.read(path) is None:
            folder.note(f"{quoted(path)} is left out: it cannot be read or is a link out of the plugin")
        else:
            found.append(PluginFile(path, path))
    return tuple(found)


def _options(folder: Collector, value: Json) -> tuple[UserOption, ...]:
    options: list[UserOption] = []
    for fields in map(mapping_of, value[:_MAX_OPTIONS] if isinstance(value, list) else []):
        variable = fields.get("envVar")
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            folder.note(f"the setting {quoted(fields.get('name'))} is left out: `envVar` is invalid")
            continue
        options.append(
            UserOption(
                variable,
                variable,
                title=line_of(fields.get("name"), 200),
                description=line_of(fields.get("description")),
                secret=fields.get("sensitive") is True,
            )
        )
    return tuple(options)
