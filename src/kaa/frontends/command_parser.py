"""The parser of a command such as `kaa mcp add`: help with examples, and a mistake in one line that says what to do."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from kaa.frontends.exit_codes import ExitCode
from kaa.tui.sanitize import sanitize

_CHOICE = re.compile(r"argument (\S+): invalid choice: (.+?) \(choose from (.+?)(?:, maybe you meant .*)?\)", re.DOTALL)
_MISSING = "the following arguments are required: "
_UNKNOWN = "unrecognized arguments: "


class CommandParser(argparse.ArgumentParser):
    """A parser of a command, or of one of its subcommands (`add_subparsers` makes parsers of the same class).

    Args:
        prog: the command, such as `kaa mcp`.
        others: further arguments of `ArgumentParser`.
    """

    def __init__(self, prog: str, description: str = "", examples: Sequence[str] = (), **others: Any) -> None:
        # `others`, and what is parsed: any, as argparse has it
        super().__init__(prog=prog, description=description or None, allow_abbrev=False, **others)
        self._examples = examples
        self._given: Sequence[str] = ()

    def format_help(self) -> str:
        """The help of argparse, with the examples at its end."""
        if not self._examples:
            return super().format_help()
        heading = "examples" if len(self._examples) > 1 else "example"
        return "\n".join([super().format_help(), f"{heading}:", *(f"  {one}" for one in self._examples), ""])

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse; what is not known is a mistake of this command, and not of the one that it is a subcommand of."""
        self._given = sys.argv[1:] if args is None else list(args)
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"{_UNKNOWN}{' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Exit with 2 and one line."""
        self.exit(ExitCode.USAGE, f"kaa: {sanitize(self._told(message))}\n")

    def _told(self, message: str) -> str:
        see = f"See {self.prog} --help."
        if message.startswith((_MISSING, _UNKNOWN)):
            if unknown := self._unknown_option(message):
                return f"{self.prog} has no option {unknown}. {see}"
            if message.startswith(_UNKNOWN):
                return f"{self.prog} takes no argument {message.removeprefix(_UNKNOWN)!r}. {see}"
            return self._told_missing(message.removeprefix(_MISSING).split(", "))
        if found := _CHOICE.fullmatch(message):
            kind = "command" if found[1] == "COMMAND" else found[1]
            return f"{self.prog} has no {kind} {found[2]}. Choose from: {found[3].replace(chr(39), '')}."
        return f"{self.prog}: {message}. {see}"

    def _unknown_option(self, message: str) -> str:
        """The first option that is not known; empty if all are: then something else is wrong."""
        before, _, _ = " ".join(self._given).partition(" -- ")
        words = before.split() if message.startswith(_MISSING) else message.removeprefix(_UNKNOWN).split()
        options = (word.partition("=")[0] for word in words if word.startswith("-") and word != "-")
        return next((one for one in options if one not in self._option_string_actions), "")

    def _told_missing(self, names: list[str]) -> str:
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and action.metavar in names:
                return f"{self.prog} needs a command: {', '.join(action.choices)}. See {self.prog} --help."
            if action.nargs in ("*", "?") and action.metavar in names:  # argparse names these, too
                names = [name for name in names if name != action.metavar]
        usage = " ".join(self.format_usage().removeprefix("usage: ").split()).replace(" [-h]", "")
        return f"{self.prog} needs {' and '.join(names)}. Usage: {usage}"
