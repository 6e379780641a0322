"""Prompt templates and custom commands, of kaa and of other agents, as slash commands."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kaa.builtin.agents import AGENT_TOOL, BUILT_IN
from kaa.builtin.expanding import expanded
from kaa.builtin.skills.commands import in_run, tell_of_grants
from kaa.components.templates.command_file import CommandFile
from kaa.ext.api import (
    Command,
    CommandContext,
    CommandError,
    ConversationContext,
    Extension,
    ExtensionAPI,
    SessionStart,
    Submit,
)
from kaa.ext.errors import RegistrationError

if TYPE_CHECKING:
    from kaa.components.agent_definition import ModelRole

_DESCRIPTION_CHARACTERS = 200
# What Claude Code calls its own agents.
_OF_CLAUDE = {"Explore": "explore", "general-purpose": "general"}


class UsableCommand(NamedTuple):
    """A command.

    Attributes:
        path: where it is, for people.
        agent: whose it is; its prefix where its name belongs to another command.
        grants: allow rules for the run that it starts.
    """

    file: CommandFile
    path: str
    agent: str
    grants: tuple[str, ...] = ()


class _Surroundings(NamedTuple):
    """What commands can ask for. `agents`: names of definitions; `models`: the user's, by what they are for."""

    agents: frozenset[str]
    models: "Mapping[ModelRole, str]"


def commands_extension(
    commands: Sequence[UsableCommand], agents: Iterable[str], models: "Mapping[ModelRole, str]"
) -> Extension:
    """The extension for the commands of a conversation.

    Args:
        commands: each name once.
        agents: names of the definitions of agents that there are, besides kaa's own.
        models: the user's, as `--model` takes them, by what they are for.
    """
    around = _Surroundings(frozenset((*agents, *BUILT_IN)), models)

    def extend(api: ExtensionAPI) -> None:
        registered: set[str] = set()

        async def register(_start: SessionStart, context: ConversationContext) -> None:
            # Not before all extensions are loaded: a name that one of them has would keep this one out.
            for command in commands:
                if command.path in registered:
                    continue
                registered.add(command.path)
                prefixed = f"{command.agent}:{command.file.name}"
                for name in (command.file.name, prefixed):
                    with suppress(RegistrationError):  # kaa, or an extension, has a command of this name
                        api.replace_commands((), [_command(command, name, around)])
                        break
                else:
                    context.show.notice(f"{command.path} is not used: there is a command /{prefixed}", "warning")

        api.on_session_start(register)

    return extend


def _command(command: UsableCommand, name: str, around: _Surroundings) -> Command:
    file = command.file
    about = f"{file.description} ({command.path})" if file.description else command.path
    return Command(name, about[:_DESCRIPTION_CHARACTERS], partial(_run, command, around), file.argument_hint)


async def _run(command: UsableCommand, around: _Surroundings, arguments: str, context: CommandContext) -> Submit:
    file = command.file
    text = await expanded(file.body, arguments, file.dialect, context, source=command.path, names=file.argument_names)
    if not text.strip():
        raise CommandError(f"{command.path} makes an empty message of these arguments")
    if file.subtask and AGENT_TOOL in context.active_tools:
        agent = _OF_CLAUDE.get(file.agent, file.agent) or "general"
        if agent in around.agents:
            return Submit(f"Have the agent {agent} do this task, as it is, and tell me what it reports:\n\n{text}")
        context.show.notice(
            f"{command.path} wants an agent {agent}, which does not exist: this conversation does the task"
        )
    tell_of_grants(command.grants, context)
    return in_run(Submit(text, allow=command.grants), file.model, file.effort, around.models)
