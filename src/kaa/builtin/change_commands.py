"""The slash commands about changes to files: what the session changed."""

import asyncio
from typing import TYPE_CHECKING

from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply
from kaa.ext.errors import CommandError

if TYPE_CHECKING:
    from kaa.builtin.file_differences import ShownDifference

NOTHING_CHANGED = "this session has changed no files"


def extend(api: ExtensionAPI) -> None:
    """Register the commands."""
    api.register_command(
        "diff", "Show what this session changed, by file", _diff, argument_hint="[PATH]", while_running=True
    )


async def _diff(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.file_differences import shown, table  # lazy: only for who asks

    changes = await context.navigation.changes()
    wanted = arguments.strip().removeprefix("./").rstrip("/")
    differences = [one for one in changes.files if not wanted or f"{one.path}/".startswith(f"{wanted}/")]
    if wanted and not differences:
        raise CommandError(f"this session has not changed {wanted}; /diff lists the files it changed")
    files = await asyncio.to_thread(lambda: [shown(one) for one in differences])
    lines = table(files) if files else [NOTHING_CHANGED]
    return Reply("\n".join([*lines, *changes.gaps, *(line for file in files for line in _written(file))]))


def _written(file: "ShownDifference") -> list[str]:
    return ["", f"--- {file.path}: {file.summary}", *([file.diff] if file.diff else [])]
