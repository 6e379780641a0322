"""What `kaa plugin` prints about plugins, in lines: what a plugin would run and with which rights, and what changes."""

import filecmp
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.builtin.amounts import counted, listed
from kaa.builtin.columns import aligned
from kaa.components.plugins.folder import PluginDirectory
from kaa.components.plugins.manifest import Plugin, PluginFile
from kaa.components.plugins.variables import PluginFolders, environment_for
from kaa.core.messages import Json
from kaa.host.paths import is_below
from kaa.shell.home import Home
from kaa.shell.mcp.config.dialects import ConfigFieldError
from kaa.shell.mcp.config.entry import ConfiguredServer, Source
from kaa.shell.mcp.config.reading import server_of
from kaa.shell.mcp.config.variables import variables_in
from kaa.shell.mcp.describing import address_warning, login_details, login_there, variables_set
from kaa.shell.mcp.rights import permissions_of
from kaa.shell.plugins.obstacles import obstacles
from kaa.shell.plugins.records import InstalledPlugin
from kaa.shell.plugins.resolution import ResolvedPlugin
from kaa.shell.plugins.store import PreparedPlugin
from kaa.shell.plugins.use import has, plugin_hooks, servers_of
from kaa.shell.trust.configuration import ConfigurationFile
from kaa.shell.trust.difference import difference, known

_DIALECTS = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "pi": "pi",
    "agent-plugins": "Agent Plugins",
}
_MAX_NAMES = 20
_PIN_CHARACTERS = 12
# What placeholders are shown as: never as nothing, which would make another path of what follows.
_ROOT, _DATA, _PROJECT = "${PLUGIN}", "${PLUGIN_DATA}", "${workspaceFolder}"
_FOLDERS = PluginFolders(_ROOT, _DATA, _PROJECT)
_HOMES = ("~", "${userHome}", "${HOME}", "${env:HOME}")


def report_lines(preparation: ResolvedPlugin, home: Home) -> list[str]:
    """What will be installed: the plugin that the user wants, those that it needs, and what is not right with these."""
    lines = preview_lines(preparation.wanted, home)
    for one in preparation.needed:
        lines += ["", f"{preparation.reasons[one.plugin.name]} needs this plugin, which is installed too:"]
        lines += preview_lines(one, home)
    if preparation.problems:
        lines += ["", "Problems with the plugins that are needed:"]
        lines += [f"  {problem}" for problem in preparation.problems]
    return lines


def preview_lines(prepared: PreparedPlugin, home: Home) -> list[str]:
    """What will be installed, what it would run, and with which rights."""
    plugin, record = prepared.plugin, prepared.record
    pin = f", {shown_pin(record)}" if record.pin else ""
    title = " ".join(filter(None, (plugin.name, plugin.version)))
    lines = [f"{title}: plugin for {_DIALECTS[plugin.dialect]} from {record.source}{pin}"]
    lines += [f"  {text}" for text in (plugin.description, plugin.author and f"by {plugin.author}") if text]
    if prepared.previous is not None:
        lines.append(
            f"  replaces {plugin.name} {prepared.previous.plugin.version or shown_pin(prepared.previous)}".rstrip()
        )
        lines += _changes(prepared.previous.plugin, plugin)
        lines += _changed_files(prepared)
    lines += part_lines(plugin)
    lines += _logins(plugin, home)
    if found := obstacles(plugin, PluginDirectory(prepared.staged), os.environ):
        lines += ["  problems on this machine:", *(f"    {one}" for one in found)]
    return lines


def part_lines(plugin: Plugin) -> Iterator[str]:
    """What a plugin has: what runs, with which rights, and what is not used."""
    yield from _files("skill", plugin.skills, "the model reads them; their scripts run in the sandbox")
    yield from _files("command", plugin.commands, "you call them; their shell commands run in the sandbox")
    yield from _files("agent", plugin.agents, "the model runs them, with the rights of the conversation at most")
    if plugin.dialect == "pi":
        yield from _files("theme", plugin.themes, "/theme selects them")
    yield from _files("text", plugin.context_files, "the model gets them in every conversation")
    hooks, notes = _hooks(plugin)
    for found, how in ((hooks.programs, "run in the sandbox"), (hooks.others, "without a program")):
        if found:
            yield f"  {counted(len(found), 'hook')}, {how}:"
            yield from (f"    {line}" for line in found)
    if hooks.programs and any(option.secret for option in plugin.options):
        yield "    programs of the project that the plugin's own scripts start see its secret options, too"
    for name, line in _servers(plugin):
        yield f"  MCP server {name}: {line}"
    without = " (without the secret options)" if any(option.secret for option in plugin.options) else ""
    for server in plugin.lsp_servers:
        yield f"  language server {server.name}: {' '.join(server.command)}{without}"
    if plugin.dependencies:
        yield f"  needs other plugins: {listed([*map(str, plugin.dependencies)], _MAX_NAMES)}"
    for option in plugin.options:
        needed = " (needed)" if option.required and option.default is None else ""
        kind = "secret option" if option.secret else "option"
        yield f"  {kind} {option.name}{needed}: {option.description or option.title}".rstrip(": ")
    unused = [*plugin.notes, *notes]
    if plugin.dialect != "pi":
        unused += [f"{file.path} is not used: kaa has themes in the form of pi" for file in plugin.themes]
    if unused:
        yield "  not used or not understood:"
        yield from (f"    {note}" for note in unused)


def list_lines(plugins: Sequence[InstalledPlugin]) -> list[str]:
    rows = [("name", "state", "version", "pin", "has", "source")]
    for one in plugins:
        state = "enabled" if one.enabled else "disabled"
        rows.append(
            (
                one.plugin.name,
                state,
                one.plugin.version or "-",
                shown_pin(one) or "-",
                has(one.plugin) or "-",
                one.source,
            )
        )
    return list(aligned(rows, left=6))


def facts(one: InstalledPlugin) -> dict[str, Json]:
    """A plugin as a JSON object; without the values of its options, which may be secrets."""
    plugin: dict[str, Json] = msgspec.to_builtins(one.plugin)
    return {
        **plugin,
        "enabled": one.enabled,
        "source": one.source,
        "pin": one.pin,
        "tree": one.tree,
        "since": one.since,
        "configured": sorted(one.values),
    }


def shown_pin(record: InstalledPlugin) -> str:
    """Which version of its files it is."""
    is_commit = len(record.pin) >= 40 and " " not in record.pin
    return f"commit {record.pin[:_PIN_CHARACTERS]}" if is_commit else record.pin


def _files(kind: str, files: Sequence[PluginFile], rights: str) -> Iterator[str]:
    if files:
        yield f"  {counted(len(files), kind)} ({rights}): {listed([file.name for file in files], _MAX_NAMES)}"


class _Hooks(NamedTuple):
    """A line for each hook: those that are programs, and those that ask models or servers."""

    programs: list[str]
    others: list[str]


def _hooks(plugin: Plugin) -> tuple[_Hooks, list[str]]:
    hooks, notes = plugin_hooks(plugin, _FOLDERS)
    has_secrets = any(option.secret for option in plugin.options)
    found = _Hooks([], [])
    for hook in hooks:
        without = has_secrets and hook.handler == "command" and not hook.has_secrets
        told = " (without the secret options: it starts programs that are not of the plugin)" if without else ""
        if hook.handler == "mcp_tool" and hook.server not in plugin.mcp_servers:
            told = " (is not run: that is no server of the plugin)"
        lines = found.programs if hook.handler == "command" else found.others
        lines.append(f"{hook.named_event} {hook.matcher}".rstrip() + f": {hook.handler} {hook.title}{told}")
    return found, [*notes, *dict.fromkeys(note for hook in hooks for note in hook.notes)]


def _servers(plugin: Plugin) -> Iterator[tuple[str, str]]:
    found = servers_of(plugin, _FOLDERS)
    given = environment_for(plugin.dialect, _FOLDERS, plugin.options)
    for name, fields in found.entries.items():
        try:
            server = server_of(name, fields, Source("", "plugin"), found.dialect)
        except (ConfigFieldError, ValueError) as error:  # which those of msgspec are
            yield name, f"not used: {error}"
        else:
            yield name, _rights(server, given)


def _logins(plugin: Plugin, home: Home) -> Iterator[str]:
    found = servers_of(plugin, _FOLDERS)
    for name, fields in found.entries.items():
        with suppress(ConfigFieldError, ValueError):  # such a server is not used
            server = server_of(name, fields, Source("", "plugin"), found.dialect)
            if told := login_there(server, home, os.environ, _PROJECT):
                yield f"  MCP server {name}: {told}"


def _rights(server: ConfiguredServer, environment: Mapping[str, str]) -> str:
    """What a server runs and may do. `environment`: what every server of the plugin gets."""
    entry = server.entry
    variables = sorted({name for text in entry.texts for name in variables_in(text)} - {"PLUGIN", "PLUGIN_DATA"})
    given = f"; gets your variables {', '.join(variables)}" if variables else ""
    if entry.url:
        told = (f"{entry.url}, called by kaa itself", address_warning(entry.url), *login_details(entry))
        return "; ".join(filter(None, told)) + given
    words = tuple(os.path.normpath(word) if word.startswith(_PROJECT) else word for word in entry.args)
    permissions = permissions_of(msgspec.structs.replace(entry, args=words), "")
    asked = "; ".join((*permissions.sentences, *_outside((entry.command, *entry.args))))
    details = [
        *([f"in {entry.cwd}"] if entry.cwd else []),
        *(f"with {one}" for one in variables_set(entry, environment)),
    ]
    command = " ".join([entry.command, *entry.args, *(f"({one})" for one in details)])
    rights = f"may {asked}" if asked else "permits nothing"
    return f"{command}, in its own sandbox that {rights}{given}"


def _outside(words: Sequence[str]) -> Iterator[str]:
    """What words of a command line make readable besides the project and the plugin, whatever variables mean."""
    outside = [word for word in words if word.startswith(("/", "~/", "${")) and not _is_inside(word)]
    if homes := [word for word in outside if os.path.normpath(word) in _HOMES]:
        yield f"read your home as commands read it, since its command line names {', '.join(homes)}"
    if others := [word for word in outside if word not in homes]:
        yield f"read {', '.join(others)} (except secrets), since its command line names it"
    if paths := [word for word in others if word.startswith("/") and not word.startswith("/proc/")]:
        yield f"write the files of the project, if that is {' or '.join(paths)}"


def _is_inside(word: str) -> bool:
    """Whether a word certainly leads into the plugin or the project."""
    top = next((one for one in (_ROOT, _DATA, _PROJECT) if is_below(os.path.normpath(word), (one,))), None)
    return top is not None and "${" not in word.removeprefix(top)


def _changes(before: Plugin, now: Plugin) -> Iterator[str]:
    old, new = set(_parts(before)), set(_parts(now))
    for word, parts in (("adds", new - old), ("no longer has", old - new)):
        if parts:
            yield f"  {word}: {listed(sorted(parts), _MAX_NAMES)}"
    were_secret = {option.name for option in before.options if option.secret}
    for option in now.options:
        if option.name in were_secret and not option.secret:
            yield f"  would show its option {option.name} to the model: its value was a secret and is not kept"


def _parts(plugin: Plugin) -> Iterator[str]:
    for kind, files in _texts_of_plugin(plugin):
        yield from (f"{kind} {file.name}" for file in files)
    yield from (f"hook {line}" for lines in _hooks(plugin)[0] for line in lines)
    yield from (f"MCP server {name}: {line}" for name, line in _servers(plugin))


def _texts_of_plugin(plugin: Plugin) -> Sequence[tuple[str, Sequence[PluginFile]]]:
    """The texts for the model, by their kind."""
    return (
        ("skill", plugin.skills),
        ("command", plugin.commands),
        ("agent", plugin.agents),
        ("instructions", plugin.context_files),
    )


def _changed_files(prepared: PreparedPlugin) -> Iterator[str]:
    """What changes in the files that stay, in lines."""
    if prepared.previous is None or prepared.replaced is None:
        return
    before, now = PluginDirectory(prepared.replaced), PluginDirectory(prepared.staged)
    changed = {path for path in now.files("") if _differ(prepared.replaced / path, prepared.staged / path)}
    had = {(kind, one.path) for kind, files in _texts_of_plugin(prepared.previous.plugin) for one in files}
    texts = {
        one.path: f"{kind} {one.name}"
        for kind, files in _texts_of_plugin(prepared.plugin)
        for one in files
        if one.path in changed and (kind, one.path) in had
    }
    if texts:
        yield f"  changes the text of: {listed(sorted(texts.values()), _MAX_NAMES)}"
    if others := sorted(changed - texts.keys()):
        yield f"  changes other files: {listed(others, _MAX_NAMES)}"
    shown = [path for path in sorted(texts) if before.read(path) is not None and now.read(path) is not None]
    old = {path: known(ConfigurationFile(path, "file", before.read(path) or b"")) for path in shown}
    new = tuple(ConfigurationFile(path, "file", now.read(path) or b"") for path in shown)
    yield from (f"    {line}" for line in difference(old, new).diff.splitlines())


def _differ(one: Path, other: Path) -> bool:
    """Whether both are files, with different contents."""
    try:
        return not filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False
