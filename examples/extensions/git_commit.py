"""Git commit: `/commit` writes a message for what is staged, lets the user edit it, and commits."""

from typing import Annotated

import msgspec

from kaa.ext.api import CommandContext, CommandError, CommandRequest, Editing, Entered, ExtensionAPI

_SYSTEM = "Write the message of a git commit."


class Draft(msgspec.Struct):
    """The message."""

    subject: Annotated[str, msgspec.Meta(max_length=72, description="in the imperative")]
    reason: Annotated[str, msgspec.Meta(description="a short paragraph, if the reason is not obvious")] = ""


async def git(context: CommandContext, *words: str) -> str:
    """Run git in the project.

    Raises:
        CommandError: it failed.
    """
    done = await context.workspace.run(CommandRequest(["git", *words]))
    output = done.tail.decode(errors="replace").strip()
    if done.exit_code != 0:
        raise CommandError(f"git {words[0]} failed: {output}")
    return output


def extend(kaa: ExtensionAPI) -> None:
    @kaa.command(argument_hint="[HINT]")
    async def commit(arguments: str, context: CommandContext) -> str:
        """Commit what is staged, with a message of the model's"""
        staged = await git(context, "diff", "--cached", "--stat", "--patch")
        if not staged:
            raise CommandError("nothing is staged: use git add")
        hint = f"The user says: {arguments}\n\n" if arguments else ""
        draft = await context.complete(f"{hint}{staged[:50_000]}", system=_SYSTEM, max_tokens=500, schema=Draft)
        message = f"{draft.subject}\n\n{draft.reason}".strip()
        answer = await context.asker.ask(Editing("Commit message", message))
        if not isinstance(answer, Entered) or not answer.text.strip():
            return "Nothing was committed."
        return await git(context, "commit", "--message", answer.text.strip())
