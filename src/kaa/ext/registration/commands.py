"""Registers slash commands, and keys that run them."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias, TypeVar, overload

import msgspec

from kaa.ext.command_context import CommandContext
from kaa.ext.commands import Command, CommandAction, CommandAvailability, CommandCompleter, CommandHandler
from kaa.ext.errors import RegistrationError
from kaa.ext.invocation import is_command_name
from kaa.ext.registration.base import Registrar, require_async, require_function

ShortcutHandler: TypeAlias = Callable[[CommandContext], Awaitable[CommandAction | None]]
HandlerT = TypeVar("HandlerT", bound=ShortcutHandler)
CommandHandlerT = TypeVar("CommandHandlerT", bound=CommandHandler)
CompleterT = TypeVar("CompleterT", bound=CommandCompleter)


class CommandRegistrations(Registrar):
    """Slash commands and shortcuts."""

    @overload
    def command(self, handler: CommandHandlerT, /) -> CommandHandlerT: ...

    @overload
    def command(
        self,
        /,
        *,
        name: str = "",
        description: str = "",
        argument_hint: str | None = "",
        complete: CommandCompleter | None = None,
        available: CommandAvailability | None = None,
        while_running: bool = False,
        key: str = "",
    ) -> Callable[[CommandHandlerT], CommandHandlerT]: ...

    def command(
        self,
        handler: CommandHandlerT | None = None,
        /,
        *,
        name: str = "",
        description: str = "",
        argument_hint: str | None = "",
        complete: CommandCompleter | None = None,
        available: CommandAvailability | None = None,
        while_running: bool = False,
        key: str = "",
    ) -> CommandHandlerT | Callable[[CommandHandlerT], CommandHandlerT]:
        """Add an async function as a slash command: `@kaa.command` or `@kaa.command(while_running=True)`.

        Args:
            handler: as for `register_command`, with the other parameters.
            name: empty for the name of the function.
            description: empty for the first paragraph of the docstring.
            argument_hint: as for `register_command`.
            complete: likewise.
            available: likewise.
            while_running: likewise.
            key: likewise.

        Raises:
            RegistrationError: as for `register_command`; there is no description.
        """

        def register(handler: CommandHandlerT) -> CommandHandlerT:
            require_async(handler)
            called = name or getattr(handler, "__name__", "")
            said = description or " ".join((handler.__doc__ or "").strip().partition("\n\n")[0].split())
            if not said:
                raise RegistrationError(f"command {called} has no description: add a docstring, which lists show")
            self.register_command(
                called,
                said,
                handler,
                argument_hint=argument_hint,
                complete=complete,
                available=available,
                while_running=while_running,
                key=key,
            )
            return handler

        return register if handler is None else register(handler)

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
        key: str = "",
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
                loop: it must return at once, or be async; then it has two seconds, and is cancelled when something
                else is typed. A failure completes nothing.
            available: gets a `CommandContext`, returns why the command cannot run now, or None. kaa calls it before
                `handler` and for lists. It must return at once.
            while_running: the command can run while the agent works.
            key: runs the command in the terminal, such as `ctrl+alt+t`. A key of kaa or of an extension loaded before
                stays what it is, which kaa reports; `ext.<name>` in the user's keybindings.json goes before all.

        Raises:
            RegistrationError: the name is taken, the name or the key is invalid, or a function is not callable.
        """
        self.replace_commands(
            (),
            [Command(name, description, handler, argument_hint, complete, available, while_running, key)],
        )

    def unregister_command(self, name: str) -> None:
        """Take back a slash command of this extension.

        Raises:
            RegistrationError: this extension has no command of this name.
        """
        scope = self._open_scope()
        if name not in scope.commands:
            raise RegistrationError(f"extension {scope.extension} has no command named {name!r}")
        self.replace_commands([name], ())

    def replace_commands(self, old: Iterable[str], new: Iterable[Command]) -> None:
        """Take back slash commands of this extension and add others, as one change, however many they are.

        Args:
            old: names; one that this extension does not have is ignored.
            new: what is added. The fields are the arguments of `register_command`.

        Raises:
            RegistrationError: as for `register_command`; then nothing has changed.
        """
        scope = self._open_scope()
        gone = set(old)
        commands = {name: command for name, command in scope.commands.items() if name not in gone}
        for command in new:
            added = _checked(command)
            if added.name in commands:
                raise RegistrationError(f"a command named {added.name!r} is already registered")
            if added.name not in scope.commands:
                self._registrations.require_free(scope, "command", added.name)
            commands[added.name] = added
        if commands != scope.commands or list(commands) != list(scope.commands):
            scope.commands = commands
            self._registrations.changed(scope)

    def complete_mentions(self, completer: CompleterT) -> CompleterT:
        """Complete what the user writes behind an `@`, besides files.

        Args:
            completer: gets the text after the `@` and a `CommandContext`, returns suggestions for the whole of it; one
                that ends with `:` or `/` can be completed further. As `complete` of `register_command`, it returns at
                once or is async. An `on_user_message` hook gives such a mention its meaning.
        """
        scope = self._open_scope()
        self._add(scope.mention_completers.append, completer)
        self._registrations.changed(scope)
        return completer

    def shortcut(
        self, key: str, description: str, *, name: str = "", while_running: bool = True
    ) -> Callable[[HandlerT], HandlerT]:
        """Run an async function by a key of the terminal; where there are no keys, by a slash command.

        Args:
            key: such as `ctrl+alt+t`; see `register_command`.
            description: one line for the help.
            name: of the slash command; without it the name of the function, with `-` for `_`.
            while_running: it can run while the agent works.

        Returns:
            A decorator. The function gets a `CommandContext` and returns a `CommandAction` or None.

        Raises:
            RegistrationError: the name is taken, or the name or the key is invalid.
        """
        if not key:
            raise RegistrationError("a shortcut needs a key, such as 'ctrl+alt+t'")

        def register(handler: HandlerT) -> HandlerT:
            require_async(handler)
            called = name or getattr(handler, "__name__", "").strip("_").replace("_", "-")

            async def run(_arguments: str, context: CommandContext) -> CommandAction | None:
                return await handler(context)

            self.register_command(called, description, run, argument_hint=None, while_running=while_running, key=key)
            return handler

        return register


def _checked(command: Command) -> Command:
    """The command with its key in the notation of keymaps.

    Raises:
        RegistrationError: the name or the key is invalid, or a function is not callable.
    """
    if not is_command_name(command.name):
        raise RegistrationError(
            f"invalid command name {command.name!r}: use letters, digits, : _ . and -, first a letter or digit"
        )
    require_async(command.handler)
    for function in (one for one in (command.complete, command.available) if one is not None):
        require_function(function)
    return msgspec.structs.replace(command, key=_checked_key(command.key)) if command.key else command


def _checked_key(key: object) -> str:
    """A key in the notation of keymaps.

    Raises:
        RegistrationError: it is none, or types text.
    """
    from kaa.tui.key_notation import KeyNotationError, parse_key  # lazy: few commands have keys

    if not isinstance(key, str):
        raise RegistrationError(f"invalid key {key!r}: use a text such as 'ctrl+alt+t'")
    try:
        parsed = parse_key(key)
    except KeyNotationError as error:
        raise RegistrationError(f"{error}; use a key such as 'ctrl+alt+t'") from error
    name = parsed.removeprefix("shift+")
    if len(name) == 1 or name == "space":
        raise RegistrationError(f"invalid key {key!r}: it types text; add ctrl or alt")
    return parsed
