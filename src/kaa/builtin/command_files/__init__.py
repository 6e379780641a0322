"""Prompt templates and custom commands, of kaa and of other agents, as slash commands."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from kaa.builtin.expanding import expanded
from kaa.builtin.skills.commands import tell_of_grants
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

_DESCRIPTION_CHARACTERS = 200


class UsableCommand(NamedTuple):
    """A command.

    Attributes:
        file: what it does.
        path: where it is, for people.
        agent: whose it is; its prefix where its name belongs to another command.
        grants: allow rules for the run that it starts.
    """

    file: CommandFile
    path: str
    agent: str
    grants: tuple[str, ...] = ()


def commands_extension(commands: Sequence[UsableCommand]) -> Extension:
    """The extension for the commands of a conversation. `commands`: each name once."""

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
                        api.replace_commands((), [_command(command, name)])
                        break
                else:
                    context.show.notice(f"{command.path} is not used: there is a command /{prefixed}", "warning")

        api.on_session_start(register)

    return extend


def _command(command: UsableCommand, name: str) -> Command:
    file = command.file
    about = f"{file.description} ({command.path})" if file.description else command.path
    return Command(name, about[:_DESCRIPTION_CHARACTERS], partial(_run, command), file.argument_hint)


async def _run(command: UsableCommand, arguments: str, context: CommandContext) -> Submit:
    file = command.file
    text = await expanded(file.body, arguments, file.dialect, context, source=command.path, names=file.argument_names)
    if not text.strip():
        raise CommandError(f"{command.path} makes an empty message of these arguments")
    tell_of_grants(command.grants, context)
    return Submit(text, allow=command.grants)
