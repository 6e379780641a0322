"""Which messages are slash commands."""

from collections.abc import Container

from kaa.core.messages import TextContent, UserMessage


def command_in(message: UserMessage, known: Container[str]) -> tuple[str, str] | None:
    """Name and arguments, if the message is a slash command that exists; one with images is none.

    Args:
        message: the user's.
        known: names of the commands there are, without the slash.
    """
    match message.content:
        case str(text) | (TextContent(text=text),):
            name, *arguments = text.split(maxsplit=1) or [""]
        case _:
            return None
    if not name.startswith("/") or name[1:] not in known:
        return None
    return name[1:], "".join(arguments).strip()
