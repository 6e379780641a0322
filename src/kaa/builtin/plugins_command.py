"""`/plugins`: the plugins of a conversation."""

from collections.abc import Sequence

from kaa.ext.api import CommandContext, Extension, ExtensionAPI, Reply


def plugins_extension(lines: Sequence[str]) -> Extension:
    """The extension."""

    def extend(api: ExtensionAPI) -> None:
        async def plugins(_arguments: str, _context: CommandContext) -> Reply:
            how = "`kaa plugin` in a shell installs, updates, disables and removes plugins."
            return Reply("\n".join((*lines, "", how)))

        about = "Show the installed plugins, and what they have"
        api.register_command("plugins", about, plugins, argument_hint=None, while_running=True)

    return extend
