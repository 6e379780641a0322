"""Finds a command behind options of kaa, as in `kaa --model X plan run FILE`."""

import argparse
from collections.abc import Collection, Sequence

_TAKE_THE_OPTIONS_OF_KAA = (["plan", "run"], ["mcp", "serve"], ["agents", "start"])


def command_first(
    arguments: Sequence[str], words: Collection[str], informing: Collection[str], parser: argparse.ArgumentParser
) -> Sequence[str]:
    """Return the arguments with a command before the options of kaa that were given before it.

    Args:
        arguments: of kaa.
        words: the first words of commands.
        informing: options after which nothing else counts.
        parser: of the options of kaa; its errors are exceptions.

    Raises:
        Exception: that of the parser: the command takes no such options.
    """
    if "-p" in arguments or "--print" in arguments:
        return arguments
    for place, word in enumerate(arguments):
        if word == "--" or word in informing:
            break
        if word not in words or not _is_first_message(arguments[: place + 1], parser):
            continue
        command, options = list(arguments[place : place + 2]), arguments[:place]
        if command in _TAKE_THE_OPTIONS_OF_KAA:
            return [*command, *options, *arguments[place + 2 :]]
        if word == "sandbox":
            return [word, *options, *arguments[place + 1 :]]
        if word == "plan":  # without `run` it is no command
            break
        given = " ".join(options)
        parser.error(
            f"{word} is a command, and its options come after it: kaa {word} …"
            f" (To send this as a message: kaa {given} -- {word} …)"
        )
    return arguments


def _is_first_message(arguments: Sequence[str], parser: argparse.ArgumentParser) -> bool:
    """Whether the last argument would be the first message: it is no value of an option."""
    try:
        parsed, unknown = parser.parse_known_args(arguments)
    except Exception:  # noqa: BLE001 - whatever is wrong with the options is told when all arguments are parsed
        return False
    return not unknown and bool(parsed.messages == [arguments[-1]])
