"""What the enabled plugins give to a conversation: skills, commands and agents, hooks, and MCP servers."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import msgspec

from kaa.builtin.amounts import counted
from kaa.builtin.mcp.names import tool_prefix
from kaa.components.hooks import HookDefinition, HookDialect
from kaa.components.hooks.reading import hooks_in
from kaa.components.plugins.folder import PluginDirectory
from kaa.components.plugins.lsp import LanguageServer
from kaa.components.plugins.manifest import Plugin, PluginDialect, PluginFile
from kaa.components.plugins.variables import PluginFolders, environment_for, expanded, keeps_data, values_for
from kaa.core.messages import Json
from kaa.shell.components import Agent, FoundFile, Kind, Place
from kaa.shell.components.finding import MAX_FILE_BYTES
from kaa.shell.home import Home
from kaa.shell.mcp.config.dialects import Dialect
from kaa.shell.plugins.own_programs import starts_own_programs
from kaa.shell.plugins.records import PluginRecords, unmet

_AGENTS: Final[Mapping[PluginDialect, Agent]] = {
    "claude": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "pi": "pi",
    "agent-plugins": "agents",
}
_HOOKS: Final[Mapping[PluginDialect, HookDialect]] = {"codex": "codex", "gemini": "gemini"}
_MCP: Final[Mapping[PluginDialect, Dialect]] = {"pi": "pi"}
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_SERVER_NAME = 40

_ServerFields: TypeAlias = tuple[tuple[str, ...], dict[str, str], Json, Json, str]


class PluginServers(NamedTuple):
    """The MCP servers of a plugin: entries by name, without placeholders for its folders."""

    folders: PluginFolders
    dialect: Dialect
    entries: dict[str, Json]


class EnabledPlugins:
    """The plugins that conversations use.

    Raises:
        InstallationError: the records cannot be read.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._all = PluginRecords(home).read()
        self._records = [one for one in self._all.plugins.values() if one.enabled]

    def files(self, project: str, report: Callable[[str], None]) -> Iterator[tuple[str, FoundFile]]:
        """The files of skills, commands and agents, each with the name of the plugin.

        Args:
            report: told, in a sentence each, what is left out.
        """
        for record in self._records:
            plugin, folders = record.plugin, record.folders(self._home, project)
            shown = [option for option in plugin.options if not option.secret]  # the model reads these files
            values = values_for(plugin.dialect, folders, shown, record.values)
            listing = PluginDirectory(self._home.plugins / record.folder)
            kinds: Sequence[tuple[Kind, tuple[PluginFile, ...]]] = (
                ("skill", plugin.skills),
                ("command", plugin.commands),
                ("agent", plugin.agents),
            )
            for kind, file in ((kind, file) for kind, files in kinds for file in files):
                path = os.path.join(folders.root, file.path)
                data = listing.read(file.path)
                if data is None or len(data) > MAX_FILE_BYTES:
                    report(f"{path}: not used, because it is missing or larger than {MAX_FILE_BYTES // 1024} KiB")
                    continue
                text = _with_own_names(expanded(data.decode("utf-8", "replace"), values).value, plugin)
                place = Place(folders.root, kind, _AGENTS[plugin.dialect])
                yield plugin.name, FoundFile(path, file.name, text.encode(), place, os.path.realpath(path))

    def instructions(self) -> Iterator[tuple[Path, bytes]]:
        """The instructions for every conversation, with their files."""
        for record in self._records:
            root = self._home.plugins / record.folder
            listing = PluginDirectory(root)
            for file in record.plugin.context_files:
                if (data := listing.read(file.path)) is not None:
                    yield root / file.path, data

    def hooks(self, project: str) -> tuple[list[HookDefinition], list[str]]:
        """The hooks, and what kaa does not use of them, in sentences. `project`: as above."""
        hooks: list[HookDefinition] = []
        notes: list[str] = []
        for record in self._records:
            read, said = plugin_hooks(record.plugin, record.folders(self._home, project), record.values)
            hooks += read
            notes += said
        return hooks, notes

    def theme_folders(self) -> list[str]:
        """The folders with themes in the form of pi, which is kaa's."""
        folders = (
            os.path.dirname(os.path.join(self._home.plugins, record.folder, file.path))
            for record in self._records
            if record.plugin.dialect == "pi"
            for file in record.plugin.themes
        )
        return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]

    def lines(self) -> list[str]:
        """A line about each, for people."""
        lines: list[str] = []
        for one in self._records:
            title = " ".join(filter(None, (one.plugin.name, one.plugin.version)))
            lines.append(f"{title} ({one.source}): {has(one.plugin) or 'nothing'}")
            lines += [f"  {sentence}" for sentence in unmet(one, self._all)]
        return lines

    def language_servers(self, project: str) -> list[LanguageServer]:
        """The language servers. `project`: as above."""
        return [
            server
            for one in self._records
            for server in language_servers_of(one.plugin, one.folders(self._home, project), one.values)
        ]

    def servers(self, project: str) -> list[PluginServers]:
        """The MCP servers. `project`: as above."""
        return [servers_of(one.plugin, one.folders(self._home, project), one.values) for one in self._records]


def has(plugin: Plugin) -> str:
    """How many parts of which kind a plugin has; empty for none."""
    kinds = (
        ("skill", plugin.skills),
        ("command", plugin.commands),
        ("agent", plugin.agents),
        ("hook file", plugin.hooks),
        ("MCP server", plugin.mcp_servers),
        ("language server", plugin.lsp_servers),
    )
    return ", ".join(counted(len(found), kind) for kind, found in kinds if found)


def plugin_hooks(
    plugin: Plugin, folders: PluginFolders, values: Mapping[str, Json] = {}
) -> tuple[list[HookDefinition], list[str]]:
    """The hooks of a plugin, which run in the sandbox, and what kaa does not use of them, in sentences."""
    dialect = _HOOKS.get(plugin.dialect, "claude")
    hooks: list[HookDefinition] = []
    notes: list[str] = []
    for one in plugin.hooks:
        read = hooks_in(one.content.get("hooks"), dialect, f"plugin {plugin.name}", of_project=True)
        notes += [f"plugin {plugin.name}: {note}" for note in read.notes]
        for hook in read.hooks:
            named = msgspec.structs.replace(
                hook,
                command=hook.command.replace("${/}", "/"),
                matcher=_with_own_names(hook.matcher, plugin),
                plugin=plugin.name,
            )
            hooks.append(_prepared(named, plugin, folders, values))
    return hooks, notes


def _prepared(
    hook: HookDefinition, plugin: Plugin, folders: PluginFolders, values: Mapping[str, Json]
) -> HookDefinition:
    """Add variables to a hook, and if it starts only the plugin's programs, secrets and the plugin's folder."""
    folders_only = values_for(plugin.dialect, folders)
    own_command, arguments = hook.command, hook.args
    if arguments is not None:
        own_command, *rest = expanded([own_command, *arguments], folders_only).value
        arguments = tuple(rest)
    is_own = hook.handler == "command" and starts_own_programs(own_command, arguments, folders)
    options = [option for option in plugin.options if is_own or not option.secret]
    named = values_for(plugin.dialect, folders, options, values)
    # A shell finds them as variables, so that what the user gave never becomes a part of a command line.
    variables = {**_shell_names(named), **environment_for(plugin.dialect, folders, options, values)}
    command = hook.command
    if arguments is not None:
        command, *rest = expanded([command, *(hook.args or ())], named).value
        arguments = tuple(rest)
    return msgspec.structs.replace(
        hook,
        command=command,
        args=arguments,
        variables=tuple(variables.items()),
        has_secrets=any(option.secret for option in options),
        data=folders.data if is_own and keeps_data(plugin.dialect) else "",
    )


def servers_of(plugin: Plugin, folders: PluginFolders, values: Mapping[str, Json] = {}) -> PluginServers:
    """The MCP servers of a plugin. Arguments as in `plugin_hooks`."""
    named = values_for(plugin.dialect, folders, plugin.options, values)
    environment = environment_for(plugin.dialect, folders, plugin.options, values)
    entries: dict[str, Json] = {}
    for name, fields in plugin.mcp_servers.items():
        entry = expanded(fields, named).value
        if isinstance(entry, dict) and entry.get("command"):
            given = entry.get("env")
            entry = {**entry, "env": {**environment, **(given if isinstance(given, dict) else {})}}
        entries[server_name(plugin.name, name)] = entry
    return PluginServers(folders, _MCP.get(plugin.dialect, "claude"), entries)


def language_servers_of(
    plugin: Plugin, folders: PluginFolders, values: Mapping[str, Json] = {}
) -> list[LanguageServer]:
    """The language servers of a plugin, without its secrets: they load code of the project, which commands write.

    Arguments as in `plugin_hooks`.
    """
    options = [option for option in plugin.options if not option.secret]
    named = values_for(plugin.dialect, folders, options, values)
    environment = environment_for(plugin.dialect, folders, options, values)
    servers: list[LanguageServer] = []
    for one in plugin.lsp_servers:
        fields = expanded(
            [list(one.command), one.environment, one.initialization, one.settings, one.workspace_folder], named
        )
        command, own, initialization, settings, folder = msgspec.convert(fields.value, _ServerFields)
        servers.append(
            msgspec.structs.replace(
                one,
                command=command,
                environment={**environment, **own},
                initialization=initialization,
                settings=settings,
                workspace_folder=folder,
            )
        )
    return servers


def _shell_names(named: Mapping[str, str]) -> dict[str, str]:
    """Placeholders that a shell understands, too: `${extensionPath}`, but not `${user_config.key}`."""
    return {name: value for name, value in named.items() if name.isidentifier()}


def _with_own_names(text: str, plugin: Plugin) -> str:
    """A text with kaa's names of the servers' tools. Those of Claude Code are `mcp__plugin_PLUGIN_SERVER__TOOL`."""
    for server in plugin.mcp_servers:
        theirs = _NO_NAME.sub("_", f"mcp__plugin_{plugin.name}_{server}")
        ours = tool_prefix(server_name(plugin.name, server)).removesuffix("__")
        text = re.sub(rf"\b{re.escape(theirs)}(?=__|[^\w-]|$)", ours, text)
    return text


def server_name(plugin: str, server: str) -> str:
    """Kaa's name of a server of a plugin."""
    name = server if server == plugin else f"{plugin}-{server}"
    return _NO_NAME.sub("-", name)[:_MAX_SERVER_NAME].strip("-")
