"""Reads the files that configure MCP servers: the user's, the project's in four agents' forms, and one for a run."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Literal

import msgspec

from kaa.builtin.mcp.names import server_part, tool_prefix
from kaa.core.messages import Json
from kaa.mcp.manifest import digest
from kaa.shell.components import enabled_plugins
from kaa.shell.home import PROJECT_FOLDER, Home
from kaa.shell.mcp.config.dialects import ConfigFieldError, Dialect, translated
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry, Source
from kaa.shell.project_files import ServerFile
from kaa.shell.user_file import UserFileError, read_json, wrong_encoding

MAX_FILE_BYTES = 256 * 1024
MAX_SERVERS = 200

# How a project's file is written, and the field that has the servers, if not as `.mcp.json`.
_USUAL_FORM: tuple[Dialect, str] = "claude", "mcpServers"
_FORMS: Mapping[str, tuple[Dialect, str]] = {
    ".vscode/mcp.json": ("claude", "servers"),
    ".pi/mcp.json": ("pi", "mcpServers"),
    f"{PROJECT_FOLDER}/mcp.json": ("kaa", "mcpServers"),
}

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
# What only describes a server, or says how its tools are shown, asks nobody again.
_DESCRIBING = frozenset(
    {"description", "exposure", "toolExposure", "enabled", "timeoutSeconds", "startupTimeoutSeconds"}
)
# What only the user's own files may say.
_USERS_OWN = ("sandbox", "approval", "headersHelper", "readable")
_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(ServerEntry))


class Configured(msgspec.Struct, frozen=True):
    """All configured servers, by name in the order of their files, and what is wrong with the files, in sentences."""

    servers: tuple[ConfiguredServer, ...] = ()
    notices: tuple[str, ...] = ()


def configured(home: Home, root: str, project: Sequence[ServerFile], extra: Path | None = None) -> Configured:
    """All servers that are configured for a project.

    A server of the project never takes the place of the user's: it is called `NAME-project`, and likewise a plugin's
    and one that a definition of an agent has.

    Args:
        home: has the user's own file.
        root: of the project.
        project: its files, as far as the user trusts them; later ones win.
        extra: a file for this run.
    """
    notices: list[str] = []
    found: dict[str, ConfiguredServer] = {}
    path = str(home.path / "mcp.json")
    given: list[tuple[Source, Dialect, Json]] = [
        (_source_of_user(path, "user", home), "kaa", _own(path, notices)),
        *_of_plugins(home, root, notices),
        *_of_agents(home),
        *(_of_project(root, name, data, notices) for name, data in project),
    ]
    if extra is not None:
        given.append((_source_of_user(str(extra), "run", home), "kaa", _own(str(extra), notices)))
    for source, dialect, servers in given:
        file, scope = source.file, source.scope
        for server in _entries(source, dialect, servers, notices):
            name = server.name
            rival = next((one for one in found.values() if alike(one.name) == alike(name)), None)
            if rival is None or rival.source.scope == scope == "project" or scope == "run":
                found.pop(rival.name if rival is not None else name, None)
                found[name] = server
                continue
            if scope == rival.source.scope:
                notices.append(f"MCP server {name} in {file} is ignored: {rival.name} has a name like it")
                continue
            renamed = f"{name}-{scope}"
            taken = next((one for one in found.values() if alike(one.name) == alike(renamed)), None)
            if taken is not None and not taken.source.scope == scope == "project":
                notices.append(f"MCP server {name} in {file} is ignored: {rival.name} and {taken.name} have its names")
                continue
            if taken is not None:
                del found[taken.name]
            found[renamed] = msgspec.structs.replace(server, name=renamed)
    return Configured(tuple(found.values()), tuple(notices))


def _source_of_user(path: str, scope: Literal["user", "run"], home: Home) -> Source:
    """A file of the user's, which commands could have written in this run or an earlier one, by any of its names."""
    if not os.path.exists(path):
        return Source(path, scope)
    from kaa.host.linked_settings import written_in  # lazy: many have no servers of their own

    return Source(path, scope, lies_in_project=bool(written_in(path, home.path)))


def _own(path: str, notices: list[str]) -> Json:
    try:
        return servers_in(read_json(path), "mcpServers", path)
    except (UserFileError, ConfigFieldError) as error:
        notices.append(str(error))
        return {}


def _of_plugins(home: Home, root: str, notices: list[str]) -> Iterator[tuple[Source, Dialect, Json]]:
    if (plugins := enabled_plugins(home, notices.append)) is None:
        return
    for folders, dialect, entries in plugins.servers(root):
        yield Source(str(home.plugin_records), "plugin", folders.root, folders.data), dialect, entries


def _of_agents(home: Home) -> Iterator[tuple[Source, Dialect, Json]]:
    from kaa.shell.components.agent_servers import agent_servers  # lazy: it needs this package

    for file, dialect, entries in agent_servers(home):
        yield Source(file, "agent"), dialect, entries


def _of_project(root: str, name: str, data: bytes, notices: list[str]) -> tuple[Source, Dialect, Json]:
    path, (dialect, field) = os.path.join(root, name), _FORMS.get(name, _USUAL_FORM)
    return Source(path, "project"), dialect, _parsed(path, field, data, notices)


def _parsed(path: str, field: str, data: bytes, notices: list[str]) -> Json:
    if len(data) > MAX_FILE_BYTES:
        notices.append(f"{path} is ignored: it is larger than {MAX_FILE_BYTES // 1024} KiB")
        return {}
    try:
        from kaa.llm import jsonc  # lazy: only files with servers need it

        text = jsonc.to_json(data.decode("utf-8-sig"))
        return servers_in(json.loads(text) if text.strip() else None, field, path)
    except UnicodeDecodeError as error:
        notices.append(f"{path} is ignored: {wrong_encoding(error)}")
        return {}
    except (ValueError, RecursionError) as error:
        notices.append(str(error) if isinstance(error, ConfigFieldError) else f"{path} is not JSON: {error}")
        return {}


def servers_in(content: Json, field: str, path: str) -> dict[str, Json]:
    """The entries in the content of a file, by name.

    Args:
        content: None for an empty file.
        field: has them.
        path: of the file.

    Raises:
        ConfigFieldError: they are no object, or too many.
    """
    if content is None:
        return {}
    servers = content.get(field, {}) if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        raise ConfigFieldError(f"{path} is ignored: `{field}` is not an object of servers by name")
    if len(servers) > MAX_SERVERS:
        raise ConfigFieldError(f"{path} is ignored: it has more than {MAX_SERVERS} servers")
    return servers


def _entries(
    source: Source, dialect: Dialect, servers: Mapping[str, Json], notices: list[str]
) -> Iterator[ConfiguredServer]:
    for name, fields in servers.items():
        try:
            yield server_of(name, fields, source, dialect)
        except ValueError as error:
            notices.append(f"MCP server {name[:80]} in {source.file} is ignored: {error}")


def server_of(name: str, fields: Json, source: Source, dialect: Dialect) -> ConfiguredServer:
    """A server from its entry.

    Raises:
        ConfigFieldError: its name or a field cannot be used.
        ValidationError: a field has another type.
    """
    if not _NAME.fullmatch(name):
        raise ConfigFieldError("its name must have 1 to 40 letters, digits, - and _")
    if not isinstance(fields, dict):
        raise ConfigFieldError("it is not an object")
    known, ignored = translated(fields, dialect)
    if source.scope in ("project", "plugin", "agent"):
        refused = [field for field in _USERS_OWN if known.pop(field, None) is not None]
        ignored = (*ignored, *(f"`{field}` is ignored: only your own files can have it" for field in refused))
    known = _with_registry(known)
    unknown = sorted(set(known) - _FIELDS)
    entry = msgspec.convert({key: value for key, value in known.items() if key in _FIELDS}, ServerEntry)
    if bool(entry.command) == bool(entry.url):
        raise ConfigFieldError("it needs either `command` or `url`")
    startup = 1 if entry.startup_timeout_seconds is None else entry.startup_timeout_seconds
    if not all(0 < time < inf for time in (entry.timeout_seconds, startup, entry.idle_minutes)):
        raise ConfigFieldError("times must be positive numbers")
    told = tuple(f"`{one[:80]}` is no field that kaa knows" for one in unknown)
    if server_part(name) != name:
        told += (f"its tools are called `{tool_prefix(name)}…`: rules and hooks know them by these names",)
    decisive = {key: value for key, value in known.items() if key not in _DESCRIBING}
    return ConfiguredServer(name, entry, source, digest(decisive), (*ignored, *told))


def _with_registry(fields: dict[str, Json]) -> dict[str, Json]:
    """The fields with the hosts that a package runner needs where `permissions` says nothing of hosts."""
    permissions, command = fields.get("permissions"), fields.get("command")
    if not isinstance(permissions, dict) or "hosts" in permissions or not isinstance(command, str):
        return fields
    from kaa.shell.mcp.rights import registry_of  # lazy: few entries have permissions

    hosts: list[Json] = [*registry_of(command)]
    return fields | {"permissions": permissions | {"hosts": hosts}} if hosts else fields


def alike(name: str) -> str:
    """The name as models, and rules for its tools, tell it apart from others."""
    return server_part(name.replace("-", "_")).lower()
