"""Commands that take the options of kaa: what their parsers say, also where options stand before the command."""

import argparse
from collections.abc import Collection, Sequence

_SHORTEST_SLIP = 5  # `next` and `text` are no slips of `ext`
_TAKE_THE_OPTIONS_OF_KAA = (["plan", "run"], ["mcp", "serve"], ["agents", "start"])


def like_a_conversation(
    command: str, parser: argparse.ArgumentParser, messages: argparse.Action
) -> argparse.ArgumentParser:
    """Make the parser of kaa into one of a command.

    Args:
        command: the second word of one of these commands.
    """
    match command:
        case "serve":
            parser.prog, parser.usage = "kaa mcp serve", "%(prog)s [options]"
            messages.help = argparse.SUPPRESS
            parser.description = "Serve kaa's tools to an MCP client over the standard streams."
            parser.epilog = (
                "examples:\n  kaa mcp serve --tools read,grep\n  kaa mcp serve --agent --sandbox read-only\n"
            )
            parser.add_argument("--agent", action="store_true", help="serve one tool instead that carries out tasks")
        case "start":
            parser.prog, parser.usage = "kaa agents start", "%(prog)s [options] TASK"
            messages.metavar = "TASK"
            parser.description = "Work on a task in a background process that keeps running when this terminal closes."
            parser.epilog = 'example:\n  kaa agents start --worktree feat "write the tests of the parser"\n'
            parser.add_argument("--json", action="store_true", help="print the started conversation as a JSON object")
        case _:
            parser.prog, parser.usage = "kaa plan run", "%(prog)s [options] FILE"
            parser.description = "Carry out a plan that `kaa --plan FILE` wrote: step by step, with its checks."
            messages.metavar, messages.help = "FILE", "the plan"
            parser.epilog = 'examples:\n  kaa --plan plan.md "split the parser"\n  kaa plan run plan.md\n'
    return parser


def command_first(
    arguments: Sequence[str], words: Collection[str], informing: Collection[str], parser: argparse.ArgumentParser
) -> Sequence[str]:
    """Return the arguments with a command before the options of kaa that were given before it.

    Args:
        words: the first words of commands.
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


# Words behind `kaa agents`, with a process or the beginning of an id: no sentence has only these two words.
_OF_AGENTS = frozenset({"attach", "show", "stop"})
_SHORTEST_ID = 6


def misspelled(arguments: Sequence[str], words: Collection[str]) -> str:
    """Return the command that the first argument is one letter away from, or whose first word is missing; or "".

    With further words, the name of a command without its last letter may begin a sentence: `model the domain`.
    """
    word, *rest = arguments
    if word in _OF_AGENTS and (_is_reference(rest) or (word == "attach" and not rest)):
        return f"agents {word}"
    near = sorted(one for one in words if min(len(word), len(one)) >= _SHORTEST_SLIP and _is_slip(word, one))
    if rest and not rest[0].startswith("-"):
        near = [one for one in near if word != one[:-1]]
    return near[0] if near else ""


def _is_reference(words: Sequence[str]) -> bool:
    """Whether there is one word, the number of a process or the beginning of a session's id."""
    if len(words) != 1:
        return False
    [word] = words
    is_id = len(word) >= _SHORTEST_ID and word.strip("0123456789abcdef-") == "" and any(map(str.isdigit, word))
    return word.isdecimal() or is_id


def _is_slip(word: str, other: str) -> bool:
    """Whether two words differ in one letter: another one, one more, one less, or two that are exchanged."""
    start = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    one, two = word[start:], other[start:]
    exchanged = one[:2] == two[:2][::-1] and one[2:] == two[2:]
    return word != other and (one[1:] == two[1:] or one[1:] == two or one == two[1:] or exchanged)
