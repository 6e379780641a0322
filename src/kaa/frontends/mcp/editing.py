"""`kaa mcp add` and `kaa mcp remove`: servers in kaa's own files."""

import argparse
import sys
from pathlib import Path

from kaa.core.messages import Json
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.shell.home import PROJECT_FOLDER, Home
from kaa.shell.mcp.config.file import ServerFileError, add_server, remove_server
from kaa.tui.sanitize import sanitize


def add_add_arguments(parser: argparse.ArgumentParser) -> None:
    """Of `kaa mcp add`."""
    parser.usage = "kaa mcp add [options] NAME URL\n       kaa mcp add [options] NAME -- COMMAND [ARGUMENT ...]"
    parser.add_argument("name", metavar="NAME", help="what to call it: letters, digits, - and _")
    parser.add_argument("target", metavar="URL|COMMAND", nargs="+", help="its address, or the command that starts it")
    parser.add_argument(
        "-e", "--env", metavar="NAME=VALUE", action="append", default=[], help="a variable; ${VAR} stays a reference"
    )
    parser.add_argument(
        "-H", "--header", metavar="'NAME: VALUE'", action="append", default=[], help="a header of each request"
    )
    parser.add_argument("--required", action="store_true", help="scripts fail without it")
    parser.add_argument("--description", metavar="TEXT", default="", help="what it is for, for the model")
    _add_project(parser)


def add_remove_arguments(parser: argparse.ArgumentParser) -> None:
    """Of `kaa mcp remove`."""
    parser.add_argument("name", metavar="NAME", help="its name")
    _add_project(parser)


def run_add(parsed: argparse.Namespace, home: Home) -> int:
    """Add a server. Returns the exit code.

    Raises:
        ServerFileError: it cannot be added.
        SettingsError: the file has a mistake, or cannot be written.
    """
    target, *arguments = parsed.target
    fields: dict[str, Json] = {}
    if target.startswith(("http://", "https://")):
        if arguments:
            raise ServerFileError(f"an address has no arguments: {' '.join(arguments)}")
        fields["url"] = target
    else:
        fields |= {"command": target} | ({"args": arguments} if arguments else {})
    fields |= {"env": env} if (env := _pairs(parsed.env, "=", "--env")) else {}
    fields |= {"headers": headers} if (headers := _pairs(parsed.header, ":", "--header")) else {}
    fields |= {"description": parsed.description} if parsed.description else {}
    fields |= {"required": True} if parsed.required else {}
    path = _file(parsed, home)
    add_server(path, parsed.name, fields)
    then = (
        f"`kaa mcp approve {parsed.name}` approves it" if parsed.project else f"`kaa mcp test {parsed.name}` tests it"
    )
    deliver(sys.stdout, sanitize(f"Added {parsed.name} to {path}. {then}.\n"))
    return ExitCode.DONE


def run_remove(parsed: argparse.Namespace, home: Home) -> int:
    """Remove a server. Returns the exit code.

    Raises:
        ServerFileError: it is not in the file.
        SettingsError: the file has a mistake, or cannot be written.
    """
    path = _file(parsed, home)
    remove_server(path, parsed.name)
    deliver(sys.stdout, sanitize(f"Removed {parsed.name} from {path}.\n"))
    return ExitCode.DONE


def _add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", action="store_true", help=f"in the project's {PROJECT_FOLDER}/mcp.json")


def _file(parsed: argparse.Namespace, home: Home) -> Path:
    if not parsed.project:
        return home.path / "mcp.json"
    path = Path(parsed.directory, PROJECT_FOLDER, "mcp.json")
    if path.is_symlink() or path.parent.is_symlink():  # what was fetched could lead it anywhere
        raise ServerFileError(f"{path} is a link, or its folder is one: change what it leads to by hand")
    return path


def _pairs(given: list[str], separator: str, option: str) -> dict[str, Json]:
    pairs: dict[str, Json] = {}
    for one in given:
        name, found, value = one.partition(separator)
        if not found or not name.strip():
            raise ServerFileError(f"{option} {one!r} is not NAME{separator}VALUE")
        pairs[name.strip()] = value.strip() if separator == ":" else value
    return pairs
