"""The slash commands that go elsewhere in the session without asking anything, for every frontend."""

from kaa.builtin.completing import among
from kaa.builtin.step_options import STEP_OPTIONS, step_option
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    api.register_command(
        "undo",
        "Take back your last message and what it did to files",
        _undo,
        argument_hint="[--all|--conversation]",
        complete=among(*STEP_OPTIONS["undo"]),
    )
    api.register_command(
        "redo",
        "Return to where the conversation and its files were",
        _redo,
        argument_hint="[--conversation]",
        complete=among(*STEP_OPTIONS["redo"]),
    )
    api.register_command(
        "label",
        "Name the last thing said, to find it in the tree",
        _label,
        argument_hint="[NAME]",
        while_running=True,
    )


async def _undo(arguments: str, context: CommandContext) -> CommandAction:
    match step_option("undo", arguments):
        case "--all":
            return Reply(await context.navigation.undo(uncertain="restore"))
        case "--conversation":
            return Reply(await context.navigation.undo(restore="conversation"))
        case "":
            return Reply(await context.navigation.undo())


async def _redo(arguments: str, context: CommandContext) -> CommandAction:
    if step_option("redo", arguments) == "--conversation":
        return Reply(await context.navigation.redo(restore="conversation"))
    return Reply(await context.navigation.redo())


async def _label(arguments: str, context: CommandContext) -> CommandAction:
    context.navigation.label_here(arguments)
    return Reply(f"named it {arguments}" if arguments else "it has no name now")
