"""/diff: what the session changed, as text."""

import asyncio

from kaa.builtin.file_differences import ShownDifference, shown, table
from kaa.ext.api import CommandAction, CommandContext, Reply
from kaa.ext.errors import CommandError

NOTHING_CHANGED = "this session has changed no files"


async def diff(arguments: str, context: CommandContext) -> CommandAction:
    """Run /diff.

    Args:
        arguments: a file or directory; empty for all.
        context: the conversation.

    Raises:
        CommandError: nothing is known of the changes, or the session did not change the file.
    """
    changes = await context.navigation.changes()
    wanted = arguments.strip().removeprefix("./").rstrip("/")
    differences = [one for one in changes.files if not wanted or f"{one.path}/".startswith(f"{wanted}/")]
    if wanted and not differences:
        raise CommandError(f"this session has not changed {wanted}; /diff lists the files it changed")
    files = await asyncio.to_thread(lambda: [shown(one) for one in differences])
    lines = table(files) if files else [NOTHING_CHANGED]
    return Reply("\n".join([*lines, *changes.gaps, *(line for file in files for line in _written(file))]))


def _written(file: ShownDifference) -> list[str]:
    return ["", f"--- {file.path}: {file.summary}", *([file.diff] if file.diff else [])]
