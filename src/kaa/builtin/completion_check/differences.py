"""Which of the files that calls changed differ from what they were before the person's message."""

from kaa.builtin.command_kinds import targets_of
from kaa.builtin.completion_check import Work
from kaa.builtin.completion_check.proof import UNTESTED, inside
from kaa.ext.api import ConversationContext
from kaa.ext.errors import CommandError


async def unproven_files(work: Work, context: ConversationContext) -> list[str]:
    """Return the files that there is something to verify of; an empty name stands for some that are not known.

    A file that was restored is no change, and what a running command appends to is its output.

    Args:
        work: what calls changed.
        context: of the conversation, whose checkpoints know what differs.
    """
    try:
        changes = await context.changes(since="message")
    except CommandError:
        return list(work.changed)
    if changes.gaps:
        return list(work.changed)
    outputs = _outputs_of_running(context)
    differing = set(inside((one.path for one in changes.files), context.workspace.root)) - outputs
    known = [path for path in work.changed if path in differing]
    is_unknown = "" in work.changed and any(UNTESTED.fullmatch(path) is None for path in differing)
    found = [*known, *([""] if is_unknown else [])]
    return found if any(UNTESTED.fullmatch(path) is None for path in found) else []


def _outputs_of_running(context: ConversationContext) -> set[str]:
    """The files that redirections of commands in the background write."""
    running = [one.command.argv[-1] for one in context.workspace.processes.list() if one.state == "running"]
    targets = [target for command in running for target in targets_of(context.read_command(command))]
    return set(inside(targets, context.workspace.root))
