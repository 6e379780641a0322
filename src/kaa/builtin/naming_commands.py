"""The slash command that names a session."""

from kaa.builtin.completing import flags
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply
from kaa.ext.errors import CommandError


def extend(api: ExtensionAPI) -> None:
    """Register the command."""
    api.register_command(
        "name",
        "Show or set the session's name; --suggest asks the model, --clear removes it",
        _name,
        argument_hint="[TEXT|--suggest|--clear]",
        complete=flags("--suggest", "--clear"),
        while_running=True,
    )


async def _name(arguments: str, context: CommandContext) -> CommandAction:
    naming = context.naming
    match arguments.strip():
        case "":
            if naming.name is None:
                return Reply("this session has no name; give it one: /name TEXT, or /name --suggest")
            return Reply(naming.name)
        case "--clear":
            naming.set_name("")
            return Reply("this session has no name any more")
        case "--suggest":
            name = naming.set_name(await naming.suggest())
        case option if option.startswith("--"):
            raise CommandError(f"{option} is no option of /name: use --suggest or --clear, or give a name")
        case text:
            name = naming.set_name(text)
    return Reply(f"named: {name}")
