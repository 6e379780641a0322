"""Commands with subcommands, such as `kaa ext` and `kaa mcp`: selects the subcommand, and reports what went wrong."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kaa.frontends.delivery import deliver, while_delivered
from kaa.frontends.exit_codes import ExitCode
from kaa.shell.home import Home
from kaa.shell.settings import SettingsError
from kaa.tui.sanitize import sanitize


class Subcommand(NamedTuple):
    """One of a command.

    Attributes:
        help: what it does.
        add_arguments: to its parser.
        run: does it, in the directory that its first argument has as `directory`. Returns the exit code.
    """

    help: str
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
        description: of the command, for its help.
        subcommands: by name.
        failures: errors whose message says what went wrong, besides `SettingsError`.
        arguments: those after the command's name.
        directory: in which kaa was started, absolute.
    """
    parser = argparse.ArgumentParser(prog=f"kaa {name}", description=description, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for word, command in subcommands.items():
        described = f"{command.help[:1].upper()}{command.help[1:]}."
        command.add_arguments(commands.add_parser(word, help=command.help, description=described, allow_abbrev=False))
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
    except SettingsError as error:
        deliver(sys.stderr, f"kaa: {sanitize(str(error))}\n")
        return ExitCode.USAGE
    except failures as error:
        deliver(sys.stderr, f"kaa: {sanitize(str(error))}\n")
        return ExitCode.FAILED
    finally:
        signal.signal(signal.SIGTERM, before)
