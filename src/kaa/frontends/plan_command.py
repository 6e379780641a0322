"""`kaa plan`: says how plans are made and carried out. `kaa plan run FILE` takes the options of a conversation."""

import os
from collections.abc import Sequence

from kaa.frontends.command_parser import CommandParser


def main(arguments: Sequence[str]) -> int:
    """Show the help, or tell what is missing. Returns the exit code; mistakes exit by themselves."""
    parser = CommandParser(
        "kaa plan",
        "Carry out plans. `kaa --plan FILE` makes one without changing anything, and writes it to FILE.",
        ('kaa --plan plan.md "split the parser"', "kaa plan run plan.md"),
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("run", help="carry out the plan in a file; kaa plan run --help has the options")
    if arguments and os.path.isfile(arguments[0]):
        parser.error(
            f"this takes a command: kaa plan run {arguments[0]} (To send this as a message: kaa -- plan {arguments[0]})"
        )
    parser.parse_args(arguments)
    return 0
