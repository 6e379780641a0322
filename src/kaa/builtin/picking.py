"""Choosing one of some things, for slash commands that were called without saying which."""

from collections.abc import Sequence

from kaa.ext.asking import Asker
from kaa.ext.errors import CommandError


async def pick(
    asker: Asker, title: str, options: Sequence[str], current: str | None = None, details: str = ""
) -> str | None:
    """Let the person choose. None: nothing was chosen.

    Args:
        asker: asks.
        title: the question, in one line.
        options: what there is to choose from.
        current: the option in force.
        details: what the options mean, in lines.

    Raises:
        CommandError: nobody can be asked; the message lists the options.
    """
    from kaa.ext.questions import Choice, Chosen  # lazy: few conversations ask

    if not asker.can_ask:
        listed = "\n".join(f"{'*' if option == current else ' '} {option}" for option in options)
        raise CommandError(f"{title} Nobody can be asked here: write it behind the command.\n{listed}")
    said = "\n".join(filter(None, [f"now: {current}" if current else "", details]))
    answer = await asker.ask(Choice(title, tuple(options), said))
    return answer.option if isinstance(answer, Chosen) else None
