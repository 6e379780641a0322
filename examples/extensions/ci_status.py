"""CI status: a section in the footer with the state of a command, checked in the background.

The command runs in the sandbox; its exit code is the state. `/ci` shows its output.
"""

import asyncio

import msgspec

from kaa.ext.api import CommandContext, CommandRequest, ConversationContext, ExtensionAPI


class Ci(msgspec.Struct):
    """What tells the state, and how often it is asked."""

    command: str = "make --quiet ci-status"
    seconds: float = 60.0


class Last(msgspec.Struct):
    """The output of the last check in one conversation."""

    output: str = "CI was not checked yet."


def extend(kaa: ExtensionAPI) -> None:
    kaa.settings(Ci)

    @kaa.service
    async def watch(context: ConversationContext) -> None:
        while True:
            settings = context.settings(Ci)
            done = await context.workspace.run(CommandRequest(["bash", "-c", settings.command]))
            output = done.tail.decode(errors="replace").strip()
            context.state(Last, Last).output = output or f"No output, exit code {done.exit_code}"
            passes = done.exit_code == 0
            context.show.status("ci", "CI passes" if passes else "CI fails", "success" if passes else "error")
            await asyncio.sleep(settings.seconds)

    @kaa.command(argument_hint=None)
    async def ci(arguments: str, context: CommandContext) -> str:
        """Show the output of the last CI check"""
        return context.state(Last, Last).output
