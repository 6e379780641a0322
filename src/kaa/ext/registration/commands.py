"""Registers slash commands."""

from kaa.ext.commands import Command, CommandAvailability, CommandCompleter, CommandHandler
from kaa.ext.errors import RegistrationError
from kaa.ext.invocation import is_command_name
from kaa.ext.registration.base import Registrar, require_function


class CommandRegistrations(Registrar):
    """Slash commands."""

    def register_command(
        self,
        name: str,
        description: str,
        handler: CommandHandler,
        *,
        argument_hint: str | None = "",
        complete: CommandCompleter | None = None,
        available: CommandAvailability | None = None,
        while_running: bool = False,
    ) -> None:
        """Add a slash command.

        Args:
            name: without the slash. `kaa.ext.invocation` has the grammar.
            description: one line for lists.
            handler: async; gets the text after the name and a `CommandContext`, returns a `CommandAction` or None. It
                has no time limit, but the user can stop it. `CommandError` refuses the command with its message;
                another exception is a failure.
            argument_hint: the arguments, for example `[PATH]`. None: the command takes no arguments, and kaa refuses
                a call with some.
            complete: gets the text after the name and a `CommandContext`, returns suggestions. It runs on the event
                loop and must return at once. A failure completes nothing.
            available: gets a `CommandContext`, returns why the command cannot run now, or None. kaa calls it before
                `handler` and for lists. It must return at once.
            while_running: the command can run while the agent works.

        Raises:
            RegistrationError: the name is taken or invalid, or a function is not callable.
        """
        scope = self._open_scope()
        if not is_command_name(name):
            raise RegistrationError(
                f"invalid command name {name!r}: use letters, digits, : _ . and -, first a letter or digit"
            )
        for function in (handler, *(one for one in (complete, available) if one is not None)):
            require_function(function)
        if name in scope.commands:
            raise RegistrationError(f"a command named {name!r} is already registered")
        self._registrations.require_free(scope, "command", name)
        scope.commands[name] = Command(name, description, handler, argument_hint, complete, available, while_running)
        self._registrations.changed(scope)

    def unregister_command(self, name: str) -> None:
        """Take back a slash command of this extension.

        Raises:
            RegistrationError: this extension has no command of this name.
        """
        scope = self._open_scope()
        if name not in scope.commands:
            raise RegistrationError(f"extension {scope.owner} has no command named {name!r}")
        del scope.commands[name]
        self._registrations.changed(scope)
