"""Plugins of Claude Code and of Codex, whose manifest has the same fields.

Sources, 2026: "Plugins reference" in the documentation of Claude Code 2.1, and `.codex-plugin/plugin.json` of Codex
0.169. In a plugin of Claude Code, the manifest is optional: components are in folders with usual names.
"""

import re
from collections.abc import Mapping
from typing import Literal

from kaa.components.plugins.collecting import SKILL, Collector
from kaa.components.plugins.dependencies import dependencies_in
from kaa.components.plugins.json_fields import line_of, mapping_of, quoted
from kaa.components.plugins.lsp import LanguageServer, claude_servers
from kaa.components.plugins.manifest import OptionKind, Plugin, PluginFile, PluginHooks, UserOption
from kaa.core.messages import Json

MANIFESTS: Mapping[str, Literal["claude", "codex"]] = {
    ".claude-plugin/plugin.json": "claude",
    ".codex-plugin/plugin.json": "codex",
}

_OPTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_KINDS: tuple[OptionKind, ...] = ("string", "number", "boolean", "directory", "file")
_MAX_OPTIONS = 100
# What only describes a plugin, or says something to the agent it was made for.
_DESCRIBING = frozenset(
    {
        *("$schema", "name", "displayName", "version", "description", "author", "homepage", "repository", "license"),
        *("keywords", "metadata", "defaultEnabled", "interface"),
    }
)
_USED = frozenset(
    {
        *("skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "themes", "userConfig"),
        "dependencies",
    }
)
_UNUSED = {
    "workflows": "kaa has no workflows",
    "outputStyles": "kaa has no output styles",
    "monitors": "kaa runs no monitors",
    "channels": "kaa has no channels",
    "apps": "apps of ChatGPT work in Codex only",
}
_UNUSED_FOLDERS = {
    "workflows": _UNUSED["workflows"],
    "output-styles": _UNUSED["outputStyles"],
    "monitors": _UNUSED["monitors"],
    "bin": "its programs are not on the PATH",
    "settings.json": "settings of Claude Code do not hold in kaa",
    ".app.json": _UNUSED["apps"],
}


def claude_plugin(
    folder: Collector,
    name: str,
    manifest: str,
    fields: Mapping[str, Json],
    dialect: Literal["claude", "codex"] = "claude",
    *,
    chooses: bool = False,
) -> Plugin:
    """A plugin with the components that its manifest names and those in the usual folders.

    Args:
        manifest: path of its manifest; empty without one.
        dialect: Codex knows neither commands nor agents nor language servers in plugins.
        chooses: only the skills that the manifest names count, if it names some: several plugins share a folder.
    """
    is_claude = dialect == "claude"
    for field in fields:
        if reason := _UNUSED.get(field):
            folder.note(f"`{field}` is not used: {reason}")
        elif field not in _DESCRIBING | _USED and field != "experimental":
            folder.note(f"{quoted(field)} in the manifest is unknown")
    for place, reason in _UNUSED_FOLDERS.items():
        folder.unsupported(place, reason)
    experimental = mapping_of(fields.get("experimental"))
    folder.note(*(f"`experimental.{line_of(field, 80)}` is not used" for field in experimental if field != "themes"))
    dependencies, notes = dependencies_in(fields.get("dependencies"))
    folder.note(*notes)
    return Plugin(
        name,
        dialect,
        manifest,
        version=line_of(fields.get("version"), 100),
        description=line_of(fields.get("description")),
        author=author_of(fields.get("author")),
        skills=folder.skills(_skill_folders(folder, fields, chooses=chooses), name),
        commands=_replaced(folder, fields, "commands") if is_claude else (),
        agents=_replaced(folder, fields, "agents") if is_claude else (),
        hooks=_hooks(folder, fields.get("hooks"), manifest),
        mcp_servers=_mcp_servers(folder, fields.get("mcpServers")),
        lsp_servers=_lsp_servers(folder, fields.get("lspServers")) if is_claude else (),
        themes=folder.files(
            folder.paths(themes, "themes")
            if (themes := experimental.get("themes", fields.get("themes"))) is not None
            else ["themes"],
            ".json",
        ),
        options=_options(folder, fields.get("userConfig")),
        dependencies=dependencies,
        notes=folder.notes,
    )


def author_of(value: Json) -> str:
    """A text, or name, mail and address in an object, as one line."""
    if isinstance(value, str):
        return line_of(value, 200)
    fields = mapping_of(value)
    contact = line_of(fields.get("email"), 200) or line_of(fields.get("url"), 200)
    return " ".join(part for part in (line_of(fields.get("name"), 200), f"<{contact}>" if contact else "") if part)


def server_map(content: Mapping[str, Json], field: str) -> dict[str, Json]:
    """Servers by name, with or without an object around them."""
    return mapping_of(content[field]) if field in content else dict(content)


def _skill_folders(folder: Collector, fields: Mapping[str, Json], *, chooses: bool) -> list[str]:
    if "skills" not in fields:
        return ["", "skills"] if folder.listing.read(SKILL) is not None else ["skills"]
    named = folder.paths(fields["skills"], "skills")
    return named if chooses else ["skills", *named]


def _replaced(folder: Collector, fields: Mapping[str, Json], field: str) -> tuple[PluginFile, ...]:
    return folder.files(folder.paths(fields[field], field) if field in fields else [field], ".md")


def _parts(folder: Collector, value: Json, field: str, usual: str) -> list[tuple[str, dict[str, Json]]]:
    """The content of the usual file and of the files and objects in a field; for an object, the path is empty."""
    found: list[tuple[str, dict[str, Json]]] = []
    if (content := folder.json(usual, is_expected=False)) is not None:
        found.append((usual, content))
    for one in value if isinstance(value, list) else [] if value is None else [value]:
        if isinstance(one, dict):
            found.append(("", one))
            continue
        others = [path for path in folder.paths(one, field) if path != usual]
        found += [(path, content) for path in others if (content := folder.json(path)) is not None]
    return found


def _hooks(folder: Collector, value: Json, manifest: str) -> tuple[PluginHooks, ...]:
    return tuple(
        PluginHooks(path or manifest, content if "hooks" in content else {"hooks": content})
        for path, content in _parts(folder, value, "hooks", "hooks/hooks.json")
    )


def _mcp_servers(folder: Collector, value: Json) -> dict[str, Json]:
    parts = _parts(folder, value, "mcpServers", ".mcp.json")
    return folder.merged([server_map(content, "mcpServers") for _, content in parts], "the MCP server")


def _lsp_servers(folder: Collector, value: Json) -> tuple[LanguageServer, ...]:
    parts = _parts(folder, value, "lspServers", ".lsp.json")
    merged = folder.merged([server_map(content, "lspServers") for _, content in parts], "the language server")
    return folder.servers(claude_servers(merged))


def _options(folder: Collector, value: Json) -> tuple[UserOption, ...]:
    options: list[UserOption] = []
    for name, fields in list(mapping_of(value).items())[:_MAX_OPTIONS]:
        kind = fields.get("type", "string") if isinstance(fields, dict) else None
        if not _OPTION.fullmatch(name) or kind not in _KINDS:
            folder.note(f"the option {quoted(name)} is left out: its name or its type is invalid")
            continue
        options.append(
            UserOption(
                name,
                f"CLAUDE_PLUGIN_OPTION_{name.upper()}",
                kind,
                line_of(fields.get("title"), 200),
                line_of(fields.get("description")),
                default=fields.get("default"),
                secret=fields.get("sensitive") is True,
                required=fields.get("required") is True,
                multiple=fields.get("multiple") is True,
                minimum=_number(fields.get("min")),
                maximum=_number(fields.get("max")),
            )
        )
    return tuple(options)


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
