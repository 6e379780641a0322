"""The skills, commands and hooks of a conversation, as an extension; conversations with the same ones share it."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kaa.builtin.agents import agents_extension
from kaa.builtin.skills import skills_extension
from kaa.components.skill import Skill, SkillFile
from kaa.ext.api import ExtensionAPI
from kaa.ext.asking import Asker
from kaa.ext.extensions import Extensions
from kaa.ext.places import ExtensionId
from kaa.shell.components import Found, FoundFile, Place
from kaa.shell.components.finding import UserTree, find
from kaa.shell.components.known_fields import KnownFields
from kaa.shell.components.reading import Candidate, FoundComponent, components_in
from kaa.shell.home import Home
from kaa.shell.settings import Settings
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.builtin.command_files import UsableCommand
    from kaa.components.agent_definition import AgentDefinition, ModelRole
    from kaa.components.hooks import HookDefinition, HookFile
    from kaa.shell.mcp.config.entry import ConfiguredServer
    from kaa.shell.plugins.use import EnabledPlugins
    from kaa.shell.trust.own_in_projects import OwnParts

_MOST_TOLD = 3
# These are read apart.
_APART = ("hook", "language server")


class ComponentExtensions:
    def __init__(self, home: Home, extensions: Extensions) -> None:
        self._home = home
        self._extensions = extensions
        self._fields = KnownFields(home.cache)
        self._own_parts: OwnParts | None = None
        self._made: dict[object, ExtensionId] = {}  # by what they have

    async def of_conversation(
        self,
        root: str,
        files: Sequence[FoundFile],
        places: Sequence[Place],
        settings: Settings,
        plugins: "EnabledPlugins | None",
        servers: "Callable[[], Sequence[ConfiguredServer]]",
        notify: Callable[[str], None],
        asker: Asker,
    ) -> ExtensionId:
        """The extension for a conversation.

        Args:
            files: the files of the project's components that the user trusts.
            plugins: the user's; None if there are none.
            servers: gives the MCP servers of the conversation.
            notify: told, in a sentence each, what cannot be used.
            asker: asks the person about hooks of theirs that commands could write.
        """
        own = await _of_user([place for place in places if place.kind not in _APART])
        candidates = [
            *(Candidate(file, True) for file in files if file.place.kind not in _APART),
            *(Candidate(file, False) for file in own.files),
        ]
        if plugins is not None:
            of_plugins = plugins.files(root, notify)
            candidates += [Candidate(file, False, plugin=name) for name, file in of_plugins]
        components = components_in(candidates, settings.excluded, self._fields)
        self._fields.keep()
        hook_files = await self._hook_files(files, places, notify)
        foreign = await self._foreign(root, components, hook_files, notify, asker)
        components = [_judged(one, foreign) for one in components]
        unusable = [one for one in components if one.state == "unusable"]
        problems = tuple(f"{one.candidate.file.path}: {one.reason}" for one in unusable)
        for notice in (*own.notices, *_told(problems), *_relative(settings)):
            notify(notice)
        hooks, hook_problems = _hooks(root, hook_files, foreign, plugins)
        own_hooks, own_problems = _hooks_of_components(components)
        hooks, hook_problems = (*hooks, *own_hooks), (*hook_problems, *own_problems)
        if any(hook.handler == "mcp_tool" for hook in hooks):
            from kaa.shell.components.hook_servers import with_own_servers  # lazy: few hooks call tools

            hooks = with_own_servers(hooks, servers())
        parts = _Parts(
            tuple(skill for one in components if (skill := one.skill_file(root)) is not None),
            tuple(command for one in components if (command := _command(one)) is not None),
            problems,
            hooks,
            hook_problems,
            () if plugins is None else tuple(plugins.lines()),
            tuple(agent for one in components if one.state == "used" and (agent := one.agent) is not None),
            settings.agent_models,
            () if plugins is None else tuple(plugins.theme_folders()),
            await _language_servers(root, files, places, settings, plugins, notify),
        )
        if parts not in self._made:
            self._made[parts] = extension = ExtensionId.built_in(f"kaa.builtin.skills{len(self._made) or ''}")
            self._extensions.load(extension, parts.extend, built_in=True, beside=())
        return self._made[parts]

    async def _hook_files(
        self, files: Sequence[FoundFile], places: Sequence[Place], notify: Callable[[str], None]
    ) -> "_HookFiles":
        of_user = [place for place in places if place.kind == "hook"]
        of_project = tuple(file for file in files if file.place.kind == "hook")
        if not of_user:
            return _HookFiles(Found(), of_project)
        from kaa.shell.components.hook_files import find_hooks  # lazy: many users have no hooks

        own = await find_hooks(UserTree(), of_user, None)
        for notice in own.notices:
            notify(notice)
        return _HookFiles(own, of_project)

    async def _foreign(
        self,
        root: str,
        components: Sequence[FoundComponent],
        hook_files: "_HookFiles",
        notify: Callable[[str], None],
        asker: Asker,
    ) -> frozenset[str]:
        """Paths of the user's files whose hooks and grants count as a project's: commands could write them."""
        with_parts = [one for one in components if one.has_own_parts]
        if not with_parts and not hook_files.own.files:
            return frozenset()
        from kaa.shell.components.own_parts import part_of_component, part_of_hooks  # lazy, both: as above
        from kaa.shell.trust.own_in_projects import OwnParts

        self._own_parts = self._own_parts or OwnParts(self._home)
        parts = [part_of_component(one, root) for one in with_parts]
        parts += [part_of_hooks(file, root) for file in hook_files.own.files]
        return await self._own_parts.foreign(parts, asker, notify)


class _HookFiles(NamedTuple):
    """The files that define hooks: the user's, and the project's that the user trusts."""

    own: Found
    of_project: tuple[FoundFile, ...]


def _hooks(
    root: str, files: _HookFiles, foreign: frozenset[str], plugins: "EnabledPlugins | None"
) -> "tuple[tuple[HookDefinition, ...], tuple[str, ...]]":
    """The hooks of the user, the project and plugins, and what is not used of their files."""
    hooks, notes = ([], []) if plugins is None else plugins.hooks(root)
    if files.own.files or files.of_project:
        from kaa.shell.components.hook_files import hooks_of  # lazy: many users have no hooks

        read = [(file, _held(hooks_of(file, of_project=False), file.path in foreign)) for file in files.own.files]
        read += [(file, hooks_of(file, of_project=True)) for file in files.of_project]
        hooks = [*(hook for _, found in read for hook in found.hooks), *hooks]
        notes = [*(f"{file.path}: {note}" for file, found in read for note in found.notes), *notes]
    return tuple(hooks), (*files.own.notices, *notes)


def _held(found: "HookFile", is_foreign: bool) -> "HookFile":
    """The hooks of a file, without the user's rights if commands could write it. What they refuse stays refused."""
    if not is_foreign:
        return found
    why = "it reaches no more than a hook of a project: commands could write its file, which lies in one"
    hooks = (
        msgspec.structs.replace(
            hook,
            sandboxed=True,
            of_project=hook.of_project or hook.handler == "http",
            may_be_of_commands=True,
            notes=(*hook.notes, why),
        )
        for hook in found.hooks
    )
    return msgspec.structs.replace(found, hooks=tuple(hooks))


def _judged(component: FoundComponent, foreign: frozenset[str]) -> FoundComponent:
    if component.candidate.file.path not in foreign or not component.has_own_parts:
        return component
    return component._replace(candidate=component.candidate._replace(may_be_of_commands=True))


async def _of_user(places: Sequence[Place]) -> Found:
    found = await find(UserTree(), [place for place in places if not place.is_file], None)
    if not (settings := [place for place in places if place.is_file]):
        return found
    from kaa.shell.components.agent_settings import find_agent_settings  # lazy: few users have such a file

    more = await find_agent_settings(UserTree(), settings, None)
    return Found((*found.files, *more.files), (*found.notices, *more.notices))


class _Parts(NamedTuple):
    """What an extension has.

    Attributes:
        problems: what is not used.
        hook_problems: likewise, of hooks.
        servers: the language servers, as JSON; empty for none.
    """

    skills: tuple[SkillFile, ...]
    commands: "tuple[UsableCommand, ...]"
    problems: tuple[str, ...]
    hooks: "tuple[HookDefinition, ...]"
    hook_problems: tuple[str, ...]
    plugins: tuple[str, ...]
    agents: "tuple[AgentDefinition, ...]"
    models: "tuple[tuple[ModelRole, str], ...]"
    themes: tuple[str, ...]
    servers: bytes

    def extend(self, api: ExtensionAPI) -> None:
        models = dict(self.models)
        agents_extension(self.agents, models, self.skills)(api)
        for folder in self.themes:
            api.add_themes(folder)
        if self.skills or self.problems:
            skills_extension(self.skills, self.problems, self.agents, models)(api)
        if self.hooks:
            from kaa.builtin.agent_hooks import agent_hooks_extension  # lazy: many users have no hooks

            hooks = self.hooks
            agent_hooks_extension(hooks, self.hook_problems, _users_rights, models, _kept_by_plugin, _with_scripts)(api)
        if self.commands:
            from kaa.builtin.command_files import commands_extension  # lazy: many users have no commands

            commands_extension(self.commands, [one.name for one in self.agents], models)(api)
        if self.plugins:
            from kaa.builtin.plugins_command import plugins_extension  # lazy: many users have no plugins

            plugins_extension(self.plugins)(api)
        if self.servers:
            # Lazy, both: many users have none.
            from kaa.builtin.diagnostics import language_servers_extension
            from kaa.components.plugins.lsp import LanguageServer

            servers = msgspec.json.decode(self.servers, type=tuple[LanguageServer, ...])
            language_servers_extension(servers)(api)


async def _language_servers(
    root: str,
    files: Sequence[FoundFile],
    places: Sequence[Place],
    settings: Settings,
    plugins: "EnabledPlugins | None",
    notify: Callable[[str], None],
) -> bytes:
    """The language servers of the user, plugins and the project, the most important first; as JSON, none as nothing.

    Arguments as for `ComponentExtensions.of_conversation`.
    """
    of_user = [place for place in places if place.kind == "language server"]
    of_project = [file for file in files if file.place.kind == "language server"]
    if not (of_user or of_project or settings.lsp or plugins is not None):
        return b""
    from kaa.components.plugins.lsp import servers_in  # lazy, both: many users have none
    from kaa.shell.components.lsp_files import find_lsp, language_servers_of

    found = await find_lsp(UserTree(), of_user, None)
    own = servers_in(settings.lsp)
    for notice in (*found.notices, *(f"`lsp` in your settings: {note}" for note in own.notes)):
        notify(notice)
    servers = [
        *own.servers,
        *(server for file in found.files for server in language_servers_of(file).servers),
        *([] if plugins is None else plugins.language_servers(root)),
        *(server for file in of_project for server in language_servers_of(file).servers),
    ]
    return msgspec.json.encode(servers) if servers else b""


def _hooks_of_components(
    components: Sequence[FoundComponent],
) -> "tuple[tuple[HookDefinition, ...], tuple[str, ...]]":
    """The hooks of skills and agents that are used, and what is not used of them."""
    hooks: list[HookDefinition] = []
    notes: list[str] = []
    for one in components:
        kind = "skill" if isinstance(one.definition, Skill) else "agent"
        definition = one.definition if isinstance(one.definition, Skill) else one.agent
        if one.state != "used" or definition is None or not definition.hooks:
            continue
        from kaa.components.hooks.reading import scoped_hooks  # lazy: few components have hooks

        path, plugin = one.candidate.file.path, one.candidate.plugin
        of_project = one.candidate.is_of_project or bool(plugin)
        found = scoped_hooks(definition.hooks, f"{kind} {definition.name}", path, of_project=of_project, plugin=plugin)
        found = _held(found, one.candidate.may_be_of_commands)
        hooks += found.hooks
        notes += [f"{path}: {note}" for note in found.notes]
    return tuple(hooks), tuple(notes)


def _users_rights(workspace: Workspace) -> Workspace:
    """The project with the user's rights, and without programs that commands can write."""
    return workspace.of_user() if isinstance(workspace, LocalWorkspace) else workspace


def _kept_by_plugin(workspace: Workspace, folder: str) -> Workspace:
    """The project with what a plugin keeps, for the plugin's own hooks."""
    if not isinstance(workspace, LocalWorkspace):
        return workspace
    os.makedirs(folder, 0o700, exist_ok=True)
    return workspace.with_kept(folder)


def _with_scripts(workspace: Workspace, paths: Sequence[str]) -> Workspace:
    """The project with scripts of the user's that the sandbox hides, for hooks that execute them."""
    return workspace.with_shown(paths) if isinstance(workspace, LocalWorkspace) else workspace


def _command(component: FoundComponent) -> "UsableCommand | None":
    if component.state != "used" or isinstance(component.definition, Skill) or (command := component.command) is None:
        return None
    from kaa.builtin.command_files import UsableCommand  # lazy, as above

    file = component.candidate.file
    rules = component.grants.rules if component.grants else ()
    return UsableCommand(command, file.path, file.place.agent, rules)


def _relative(settings: Settings) -> list[str]:
    """Folders in the settings that are not used."""
    entries = [*settings.skills, *settings.prompts]
    relative = [
        entry for entry in entries if not entry.startswith("!") and not os.path.isabs(os.path.expanduser(entry))
    ]
    return [f"{entry!r} in your settings is not used: write an absolute path, or one with ~" for entry in relative]


def _told(problems: Sequence[str]) -> list[str]:
    """The first problems, each in a line of its own."""
    told = [f"Not used: {' '.join(problem.split())}" for problem in problems[:_MOST_TOLD]]
    more = len(problems) - _MOST_TOLD
    return [*told, f"{more} more skills and commands are not used: `kaa import` shows them"] if more > 0 else told
