"""The skills, commands and hooks of a conversation, as an extension; conversations with the same ones share it."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kaa.builtin.skills import skills_extension
from kaa.components.skill import Skill, SkillFile
from kaa.ext.api import Extension, ExtensionAPI
from kaa.ext.extensions import Extensions
from kaa.ext.places import ExtensionId
from kaa.shell.components import FoundFile, Place
from kaa.shell.components.finding import UserTree, find
from kaa.shell.components.known_fields import KnownFields
from kaa.shell.components.reading import Candidate, Component, components_in
from kaa.shell.home import Home
from kaa.shell.settings import Settings
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.builtin.command_files import UsableCommand
    from kaa.components.hooks import HookDefinition

_MOST_TOLD = 3


class ComponentExtensions:
    """Makes such extensions.

    Args:
        home: the user's folder.
        extensions: those that are loaded.
    """

    def __init__(self, home: Home, extensions: Extensions) -> None:
        self._extensions = extensions
        self._fields = KnownFields(home.cache)
        self._made: dict[object, ExtensionId] = {}  # by what they have

    async def of_conversation(
        self,
        root: str,
        files: Sequence[FoundFile],
        places: Sequence[Place],
        settings: Settings,
        notify: Callable[[str], None],
    ) -> ExtensionId | None:
        """The extension for a conversation; None if it has no skills and no commands.

        Args:
            root: the project's directory.
            files: the files of the project's components that the user trusts.
            places: where the user has components.
            settings: of the conversation.
            notify: told, in a sentence each, what cannot be used.
        """
        # No conversation runs agents of definitions; only `kaa import` shows them.
        own = await find(UserTree(), [place for place in places if place.kind not in ("hook", "agent")], None)
        hooks, hook_problems = await self._hooks(files, [place for place in places if place.kind == "hook"], notify)
        of_project = (file for file in files if file.place.kind not in ("hook", "agent"))
        both = [*(Candidate(file, True) for file in of_project), *(Candidate(file, False) for file in own.files)]
        components = components_in(both, settings.excluded, self._fields)
        self._fields.keep()
        unusable = [one for one in components if one.state == "unusable"]
        problems = tuple(f"{one.candidate.file.path}: {one.reason}" for one in unusable)
        for notice in (*own.notices, *_told(problems), *_relative(settings)):
            notify(notice)
        skills = tuple(skill for one in components if (skill := one.skill_file(root)) is not None)
        commands = tuple(command for one in components if (command := _command(one)) is not None)
        if not skills and not commands and not hooks:
            return None
        key = skills, commands, problems, hooks, hook_problems
        if key not in self._made:
            self._made[key] = extension = ExtensionId.built_in(f"kaa.builtin.skills{len(self._made) or ''}")
            self._extensions.load(
                extension, _extension(skills, commands, problems, hooks, hook_problems), built_in=True, beside=()
            )
        return self._made[key]

    async def _hooks(
        self, files: Sequence[FoundFile], places: Sequence[Place], notify: Callable[[str], None]
    ) -> "tuple[tuple[HookDefinition, ...], tuple[str, ...]]":
        """The hooks of the project and the user, and what is not used of their files."""
        if not places and not any(file.place.kind == "hook" for file in files):
            return (), ()
        from kaa.shell.components.hook_files import find_hooks, hooks_of  # lazy: many users have no hooks

        own = await find_hooks(UserTree(), places, None)
        read = [(file, hooks_of(file, of_project=False)) for file in own.files]
        read += [(file, hooks_of(file, of_project=True)) for file in files if file.place.kind == "hook"]
        for notice in own.notices:
            notify(notice)
        notes = tuple(f"{file.path}: {note}" for file, found in read for note in found.notes)
        return tuple(hook for _, found in read for hook in found.hooks), (*own.notices, *notes)


def _extension(
    skills: Sequence[SkillFile],
    commands: "Sequence[UsableCommand]",
    problems: Sequence[str],
    hooks: "Sequence[HookDefinition]",
    hook_problems: Sequence[str],
) -> Extension:
    def extend(api: ExtensionAPI) -> None:
        if skills or commands or not hooks:
            skills_extension(skills, problems)(api)
        if hooks:
            from kaa.builtin.agent_hooks import agent_hooks_extension  # lazy, as above

            agent_hooks_extension(hooks, hook_problems, _users_rights)(api)
        if commands:
            from kaa.builtin.command_files import commands_extension  # lazy: many users have no commands

            commands_extension(commands)(api)

    return extend


def _users_rights(workspace: Workspace) -> Workspace:
    """The project with the user's rights, and without programs that commands can write.

    Raises:
        PermissionError: it was narrowed for an agent, and has no outside.
    """
    return workspace.unattended() if isinstance(workspace, LocalWorkspace) else workspace


def _command(component: Component) -> "UsableCommand | None":
    if component.state != "used" or isinstance(component.definition, Skill) or (command := component.command) is None:
        return None
    from kaa.builtin.command_files import UsableCommand  # lazy, as above

    file = component.candidate.file
    return UsableCommand(command, file.path, file.place.agent)


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
