"""Commands with subcommands, such as `kaa ext` and `kaa mcp`: selects the subcommand, and reports what went wrong."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kaa.frontends.command_parser import CommandParser
from kaa.frontends.delivery import deliver, while_delivered
from kaa.frontends.exit_codes import ExitCode
from kaa.shell.home import Home
from kaa.shell.mistakes import MistakeError
from kaa.shell.settings import SettingsError
from kaa.tui.sanitize import sanitize

_MOST_EXAMPLES = 4  # of a command, which has subcommands


class Subcommand(NamedTuple):
    """One of a command.

    Attributes:
        run: does it, in the directory that its first argument has as `directory`. Returns the exit code.
    """

    help: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Home], int]


def run_subcommand(
    name: str,
    description: str,
    subcommands: Mapping[str, Subcommand],
    failures: tuple[type[Exception], ...],
    arguments: Sequence[str],
    directory: str,
) -> int:
    """Run the subcommand that the arguments name; without any, `list` if there is one. Returns the exit code.

    Args:
        name: of the command, such as `ext`.
        failures: errors whose message says what went wrong, besides `SettingsError` and `MistakeError`.
        directory: in which kaa was started, absolute.
    """
    lines = {word: f"kaa {name} {word} {command.example}".rstrip() for word, command in subcommands.items()}
    parser = CommandParser(f"kaa {name}", description, list(lines.values())[:_MOST_EXAMPLES])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for word, command in subcommands.items():
        described = f"{command.help[:1].upper()}{command.help[1:]}."
        command.add_arguments(
            commands.add_parser(word, help=command.help, description=described, examples=(lines[word],))
        )
    parsed = parser.parse_args(arguments or (["list"] if "list" in subcommands else []))
    parsed.directory = directory
    return while_delivered(lambda: _ran(subcommands[parsed.command], failures, parsed))


class _TerminatedError(BaseException):
    """SIGTERM: what was begun is cleaned up, and programs that kaa waits for end."""


def _ran(command: Subcommand, failures: tuple[type[Exception], ...], parsed: argparse.Namespace) -> int:
    def terminated(*_: object) -> None:
        raise _TerminatedError

    before = signal.signal(signal.SIGTERM, terminated)
    try:
        return command.run(parsed, Home.of(os.environ))
    except _TerminatedError:
        return 128 + signal.SIGTERM
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except (SettingsError, MistakeError) as error:
        deliver(sys.stderr, f"kaa: {sanitize(str(error))}\n")
        return ExitCode.USAGE
    except failures as error:
        deliver(sys.stderr, f"kaa: {sanitize(str(error))}\n")
        return ExitCode.FAILED
    finally:
        signal.signal(signal.SIGTERM, before)
