"""/diff: what the session changed, as text: a line for each file, and a patch."""

import asyncio

from kaa.builtin.file_differences import shown, table
from kaa.ext.api import CommandAction, CommandContext, Reply
from kaa.ext.errors import CommandError

NOTHING_CHANGED = "this session has changed no files"


async def diff(arguments: str, context: CommandContext) -> CommandAction:
    """Run /diff.

    Args:
        arguments: a file or directory; empty for all.

    Raises:
        CommandError: nothing is known of the changes, or the session did not change the file.
    """
    changes = await context.navigation.changes()
    wanted = arguments.strip().removeprefix("./").rstrip("/")
    differences = [one for one in changes.files if not wanted or f"{one.path}/".startswith(f"{wanted}/")]
    if wanted and not differences:
        raise CommandError(f"this session has not changed {wanted}; /diff lists the files it changed")
    from kaa.builtin.git_patch import git_patch  # lazy: the terminal shows changes in another way

    files = await asyncio.to_thread(lambda: [shown(one, most_lines=None) for one in differences])
    patch = await asyncio.to_thread(git_patch, differences)
    lines = table(files) if files else [NOTHING_CHANGED]
    left_out = [f"not in the patch: {one}" for one in patch.left_out]
    return Reply(
        "\n".join([*lines, *changes.gaps, *left_out, *(["", patch.text.removesuffix("\n")] if patch.text else [])])
    )
