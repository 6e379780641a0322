"""Makes a `Plugin` of a folder, whichever agent it was made for."""

import re
from collections.abc import Mapping

import msgspec

from kaa.components.plugins import agent_plugins, gemini, pi
from kaa.components.plugins.agent_plugins import InvalidPluginError, agent_plugin
from kaa.components.plugins.claude import MANIFESTS, claude_plugin
from kaa.components.plugins.collecting import Collector
from kaa.components.plugins.folder import Listing
from kaa.components.plugins.json_fields import MAX_NAME, quoted, texts_of
from kaa.components.plugins.manifest import Plugin
from kaa.components.plugins.marketplace import MarketplaceEntry
from kaa.components.skill import Unusable
from kaa.core.messages import Json

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")
_LISTS = ("skills", "commands", "agents")
_PARTS = ("hooks", "mcpServers", "lspServers", "dependencies")
_USUAL = (
    *("skills/", "commands/", "agents/", "hooks/hooks.json", ".mcp.json", ".lsp.json", "SKILL.md"),
    *("themes/", "output-styles/", "monitors/", "workflows/"),
)


def plugin_in(listing: Listing, name: str, entry: MarketplaceEntry | None = None) -> Plugin | Unusable:
    """The plugin in a folder.

    Of several manifests, the first counts of: Claude Code, Codex, Gemini CLI, Agent Plugins, pi.

    Args:
        name: what it is called if neither entry nor manifest say so; that of the folder.
        entry: of the marketplace that has the plugin; its name counts.
    """
    folder = Collector(listing)
    if entry is not None and not entry.is_strict:
        if any(listing.read(path) is not None for path in MANIFESTS):
            folder.note("its own manifest is ignored, because its marketplace has another (`strict` is false)")
        return claude_plugin(folder, entry.name, "", entry.manifest, chooses=True)
    try:
        return _read(folder, name, entry)
    except InvalidPluginError as error:
        return Unusable(str(error))


def _read(folder: Collector, name: str, entry: MarketplaceEntry | None) -> Plugin | Unusable:
    listing = folder.listing
    for path, dialect in MANIFESTS.items():
        if listing.read(path) is None:
            continue
        fields = folder.json(path)
        if fields is None and entry is None:
            return Unusable(folder.notes[-1])
        fields = _with_entry(fields or {}, entry)
        return claude_plugin(folder, _named(folder, fields, name, entry), path, fields, dialect)
    for path in (gemini.MANIFEST, agent_plugins.MANIFEST, pi.MANIFEST):
        if listing.read(path) is None or (fields := folder.json(path)) is None:
            continue
        if path == gemini.MANIFEST:
            return gemini.gemini_plugin(folder, _named(folder, fields, name, entry), fields)
        if path == agent_plugins.MANIFEST and fields.get("$schema") == agent_plugins.SCHEMA:
            plugin = agent_plugin(folder, fields)
            return plugin if entry is None else msgspec.structs.replace(plugin, name=entry.name)
        if path == pi.MANIFEST and pi.is_pi(fields):
            return pi.pi_plugin(folder, _named(folder, fields, name, entry), fields)
    if entry is None and not any(_is_there(listing, place) for place in _USUAL):
        return Unusable("it has neither a manifest nor a folder with skills, commands, agents or hooks")
    fields = _with_entry({}, entry)
    return claude_plugin(folder, _named(folder, fields, name, entry), "", fields)


def _is_there(listing: Listing, place: str) -> bool:
    return bool(listing.files(place[:-1])) if place.endswith("/") else listing.read(place) is not None


def _with_entry(fields: dict[str, Json], entry: MarketplaceEntry | None) -> dict[str, Json]:
    """A manifest with what the entry of a marketplace adds: the manifest counts, lists of components are joined."""
    if entry is None:
        return fields
    joined = {**entry.manifest, **fields}
    for field in (*_LISTS, *_PARTS):
        if field in fields and field in entry.manifest:
            both = (fields[field], entry.manifest[field])
            joined[field] = [one for value in both for one in (value if isinstance(value, list) else [value])]
    return joined


def _named(folder: Collector, fields: Mapping[str, Json], name: str, entry: MarketplaceEntry | None) -> str:
    """The name of a plugin. That of the marketplace is the one that the user chose."""
    own = "-".join(texts_of(fields.get("name"))).lstrip("@").replace("/", "-")
    if entry is not None:
        if own and own != entry.name:
            folder.note(f"it calls itself {quoted(own)}, its marketplace {quoted(entry.name)}")
        return entry.name
    if _NAME.fullmatch(own):
        return own
    if "name" in fields:
        folder.note(f"its name {quoted(fields['name'])} is invalid: the name of its folder is used")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:MAX_NAME] or "plugin"
