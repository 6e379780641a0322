"""Choosing one of some things, for slash commands that were called without saying which."""

from collections.abc import Mapping

from kaa.ext.asking import Asker
from kaa.ext.errors import CommandError


async def pick(
    asker: Asker, title: str, options: Mapping[str, str], usage: str, current: str | None = None
) -> str | None:
    """Let the person choose. None: nothing was chosen.

    Args:
        options: what there is to choose from, each with what it means; the meaning may be empty.
        usage: the command with the choice as its argument, for where nobody can be asked.

    Raises:
        CommandError: nobody can be asked; the message lists the options.
    """
    from kaa.ext.questions import Choice, Chosen  # lazy: few conversations ask

    if not asker.can_ask:
        listed = "\n".join(
            f"{'*' if option == current else ' '} {option}{f'  {meaning}' if meaning else ''}"
            for option, meaning in options.items()
        )
        raise CommandError(f"{title} Nobody can be asked here: use {usage} with one of these:\n{listed}")
    descriptions = tuple(options.values()) if any(options.values()) else ()
    question = Choice(title, tuple(options), descriptions=descriptions, current=current, requested=True)
    answer = await asker.ask(question)
    return answer.option if isinstance(answer, Chosen) else None
