"""Agent Plugins 1.0.0 (https://agent-plugins.org), also within wheels of Python."""

import re
from collections.abc import Mapping

import msgspec

from kaa.components.plugins.claude import author_of
from kaa.components.plugins.collecting import Collector
from kaa.components.plugins.folder import Listing, Within
from kaa.components.plugins.json_fields import InvalidJsonError, line_of, mapping_of, object_in, quoted
from kaa.components.plugins.manifest import Plugin
from kaa.components.plugins.paths import inside
from kaa.core.messages import Json

MANIFEST = "plugin.json"
SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"

_MCP_SCHEMA = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
_NAME = re.compile(r"(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?")
_TEXTS = ("version", "description", "homepage", "repository", "license")
_FIELDS = frozenset({"$schema", "name", "author", "keywords", "extensions", *_TEXTS})
_SERVER_FIELDS = {
    "stdio": frozenset({"type", "command", "args", "env", "cwd"}),
    "streamable-http": frozenset({"type", "url", "headers"}),
    "sse": frozenset({"type", "url", "headers"}),
}
_VENDOR = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z0-9][a-z0-9-]*)+")
_SET_BY_CLIENT = frozenset({"PLUGIN_ROOT", "PLUGIN_DATA"})
_WHEEL_ROOT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,199}\.agent-plugin")
_MAX_WHEEL_FILES = 20_000


class InvalidPluginError(ValueError):
    """The specification forbids to use the plugin; the message is the end of a sentence."""


def agent_plugin(folder: Collector, fields: Mapping[str, Json]) -> Plugin:
    """A plugin by the specification.

    Raises:
        InvalidPluginError: a field of the manifest breaks the specification.
    """
    name = fields.get("name")
    if fields.get("$schema") != SCHEMA:
        raise InvalidPluginError("its `$schema` is not that of Agent Plugins 1.0.0")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidPluginError(f"its name {quoted(name)} is not one of Agent Plugins: use a-z, 0-9, `.` and `-`")
    for field in _TEXTS:
        if field in fields and not isinstance(fields[field], str):
            raise InvalidPluginError(f"`{field}` is no text")
    _check_parts(fields)
    folder.note(*(f"{quoted(field)} in the manifest is unknown" for field in fields if field not in _FIELDS))
    vendors = {path.partition("/")[0] for path in folder.listing.files("") if "/" in path}
    used = sorted(vendor for vendor in vendors if _VENDOR.fullmatch(vendor))
    folder.note(*(f"{quoted(vendor)} is not used: it is for another agent" for vendor in used[:20]))
    return Plugin(
        name,
        "agent-plugins",
        MANIFEST,
        version=line_of(fields.get("version"), 100),
        description=line_of(fields.get("description")),
        author=author_of(fields.get("author")),
        skills=folder.skills(["skills"], name),
        mcp_servers=_mcp_servers(folder),
        notes=folder.notes,
    )


def _check_parts(fields: Mapping[str, Json]) -> None:
    author, keywords = fields.get("author", {}), fields.get("keywords", [])
    if not isinstance(author, dict) or not all(isinstance(value, str) for value in author.values()):
        raise InvalidPluginError("`author` is not an object of texts")
    if not isinstance(keywords, list) or not all(isinstance(one, str) for one in keywords):
        raise InvalidPluginError("`keywords` is not a list of texts")
    extensions = fields.get("extensions", {})
    if not isinstance(extensions, dict) or not all(isinstance(value, dict) for value in extensions.values()):
        raise InvalidPluginError("`extensions` is not an object of objects")


def _mcp_servers(folder: Collector) -> dict[str, Json]:
    content = folder.json("mcp.json", is_expected=False)
    if content is None:
        return {}
    if content.get("$schema") != _MCP_SCHEMA or not isinstance(content.get("mcpServers"), dict):
        folder.note("`mcp.json` is left out: its `$schema` or its `mcpServers` breaks the specification")
        return {}
    servers: dict[str, Json] = {}
    for name, fields in mapping_of(content["mcpServers"]).items():
        if problem := _server_problem(fields):
            folder.note(f"the MCP server {quoted(name)} is left out: {problem}")
        else:
            servers[name] = fields
    return servers


def _server_problem(fields: Json) -> str:
    """How a server breaks the specification, as the end of a sentence; empty if it does not."""
    if not isinstance(fields, dict):
        return "it is not an object"
    kind = fields.get("type")
    allowed = _SERVER_FIELDS.get(kind) if isinstance(kind, str) else None
    if allowed is None:
        return f"its type {quoted(kind)} is unknown"
    if unknown := [field for field in fields if field not in allowed]:
        return f"{quoted(unknown[0])} is unknown"
    if not isinstance(fields.get("command" if kind == "stdio" else "url"), str):
        return "it has no `command`" if kind == "stdio" else "it has no `url`"
    cwd = fields.get("cwd", ".")
    if not isinstance(cwd, str) or inside(cwd.replace("${PLUGIN_DATA}", "${PLUGIN_ROOT}", 1)) is None:
        return "its `cwd` is not inside the plugin"
    if _SET_BY_CLIENT & mapping_of(fields.get("env")).keys():
        return "`env` may not set PLUGIN_ROOT and PLUGIN_DATA"
    return ""


class WheelPlugin(msgspec.Struct, frozen=True):
    """The plugin that a distribution brings.

    Attributes:
        root: its folder, relative to that with the distributions (`site-packages`).
        files: of the plugin, relative to `root`; others do not belong to it.
    """

    root: str
    files: frozenset[str]


def wheel_plugin_in(data: bytes) -> WheelPlugin:
    """Read `NAME-VERSION.dist-info/agent_plugins.json`.

    Raises:
        InvalidPluginError: it cannot be used.
    """
    try:
        content = object_in(data)
    except InvalidJsonError as error:
        raise InvalidPluginError(str(error)) from error
    root, files = content.get("root"), content.get("files")
    if not isinstance(root, str) or not _WHEEL_ROOT.fullmatch(root):
        raise InvalidPluginError("`root` is not NAME-VERSION.agent-plugin")
    if not isinstance(files, list) or len(files) > _MAX_WHEEL_FILES:
        raise InvalidPluginError(f"`files` is not a list of at most {_MAX_WHEEL_FILES} paths")
    paths = (path.removeprefix(f"{root}/") for one in files if isinstance(one, str) and (path := inside(one)))
    return WheelPlugin(root, frozenset(paths))


def wheel_folder(site: Listing, found: WheelPlugin) -> Listing:
    """The files of a distribution's plugin, as the folder of a plugin. `site`: has the distributions."""
    return Within(site, found.root, found.files)
