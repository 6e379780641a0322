"""The slash commands that go elsewhere in the session without asking anything, for every frontend."""

from kaa.builtin.completing import among
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply
from kaa.ext.errors import CommandError


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    api.register_command(
        "undo",
        "Take back your last message and what it did to files",
        _undo,
        argument_hint="[--all|--conversation]",
        complete=among("--all", "--conversation"),
    )
    api.register_command(
        "redo",
        "Return to where the conversation and its files were",
        _redo,
        argument_hint="[--conversation]",
        complete=among("--conversation"),
    )
    api.register_command(
        "label",
        "Name the last thing said, to find it in the tree",
        _label,
        argument_hint="[NAME]",
        while_running=True,
    )


async def _undo(arguments: str, context: CommandContext) -> CommandAction:
    if arguments == "--all":
        return Reply(await context.navigation.undo(uncertain="restore"))
    if arguments == "--conversation":
        return Reply(await context.navigation.undo(restore="conversation"))
    _want_nothing("undo", arguments)
    return Reply(await context.navigation.undo())


async def _redo(arguments: str, context: CommandContext) -> CommandAction:
    if arguments == "--conversation":
        return Reply(await context.navigation.redo(restore="conversation"))
    _want_nothing("redo", arguments)
    return Reply(await context.navigation.redo())


async def _label(arguments: str, context: CommandContext) -> CommandAction:
    context.navigation.label_here(arguments)
    return Reply(f"named it {arguments}" if arguments else "it has no name now")


def _want_nothing(name: str, arguments: str) -> None:
    """Refuse a number of steps, instead of going one and saying nothing of the others."""
    if arguments:
        raise CommandError(
            f"/{name} takes no {arguments!r}: it goes one step, and the next one when it is entered again"
        )
