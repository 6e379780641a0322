"""`kaa mcp add` and `kaa mcp remove`: servers in kaa's own files."""

import argparse
import asyncio
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import get_args

import msgspec

from kaa.core.messages import Json
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.mcp.logging_in import end_login
from kaa.frontends.mcp.telling import tell
from kaa.host.known_projects import known_projects
from kaa.llm.auth.oauth.config import is_confidential
from kaa.shell.home import PROJECT_FOLDER, Home
from kaa.shell.mcp.approvals import ApprovalRecordsError, Approvals
from kaa.shell.mcp.config.dialects import translated
from kaa.shell.mcp.config.entry import Transport
from kaa.shell.mcp.config.file import ServerArgumentsError, ServerFileError, add_server, remove_server, server_in
from kaa.shell.mcp.config.here import configured_here
from kaa.shell.mcp.manifests import ServerManifests
from kaa.shell.mcp.server_data import remove_data
from kaa.tui.sanitize import sanitize

_ADDRESSES = ("http://", "https://")
# `host.example/path`: nearly an address.
_HOST = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[a-z]{2,}(:\d+)?/\S*")
_WITH_VALUE = frozenset(
    (
        "-e",
        "--env",
        "-H",
        "--header",
        "-t",
        "--transport",
        "-s",
        "--scope",
        "--description",
        "--url",
        "--bearer-token-env-var",
        "--host",
    )
)


def add_add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "kaa mcp add [options] NAME URL\n       kaa mcp add [options] NAME -- COMMAND [ARGUMENT ...]"
    parser.add_argument("name", metavar="NAME", help="what to call it: letters, digits, - and _")
    parser.add_argument("target", metavar="URL|COMMAND", nargs="*", help="its address, or the command that starts it")
    parser.add_argument("--url", help=argparse.SUPPRESS)  # Codex writes the address like this
    parser.add_argument("--bearer-token-env-var", metavar="VAR", default="", help=argparse.SUPPRESS)  # Codex, too
    parser.add_argument(
        "-t", "--transport", choices=get_args(Transport), help="of an address; found out if it is not given"
    )
    parser.add_argument(
        "-e", "--env", metavar="NAME=VALUE", action="append", default=[], help="a variable; ${VAR} stays a reference"
    )
    parser.add_argument(
        "-H", "--header", metavar="'NAME: VALUE'", action="append", default=[], help="a header of each request"
    )
    parser.add_argument(
        "--host", metavar="HOST", action="append", default=[], help="a host that the command may connect to"
    )
    parser.add_argument("--required", action="store_true", help="scripts fail without it")
    parser.add_argument("--description", metavar="TEXT", default="", help="what it is for, for the model")
    _add_project(parser)


def add_add_json_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="what to call it: letters, digits, - and _")
    parser.add_argument("entry", metavar="JSON", help="its entry, as `.mcp.json` of Claude Code has it")
    _add_project(parser)


def arranged(arguments: Sequence[str]) -> list[str]:
    """The arguments of `kaa mcp add` with kaa's options first, so that those of the command stay its own.

    Instructions for other agents leave the `--` before the command out, and put options behind the name.
    """
    options: list[str] = []
    words: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word in _WITH_VALUE:
            options += [word, *islice(rest, 1)]
        elif word.startswith("-") and word != "--":
            options.append(word)
        elif word == "--" or (len(words) == 1 and not word.startswith(_ADDRESSES)):
            words += ["--", *([] if word == "--" else [word]), *rest]
        else:
            words.append(word)
    return [*options, "--", *words] if words else options


def add_remove_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="its name")
    _add_project(parser)


def run_add(parsed: argparse.Namespace, home: Home) -> int:
    """Add a server. Returns the exit code.

    Raises:
        ServerArgumentsError: it cannot be added.
        ServerFileError: the file cannot be changed.
        SettingsError: the file has a mistake, or cannot be written.
    """
    given = parsed.target[1:] if parsed.target[:1] == ["--"] else parsed.target
    words = [*([parsed.url] if parsed.url else []), *given]
    if not words:
        raise ServerArgumentsError(
            f"give the address of {parsed.name}, or the command that starts it: kaa mcp add {parsed.name} URL, or kaa"
            f" mcp add {parsed.name} -- COMMAND"
        )
    target, *arguments = words
    fields: dict[str, Json] = {}
    if target.startswith(_ADDRESSES):
        if not is_confidential(target) and "${" not in target:
            raise ServerArgumentsError(
                f"{target} has no encryption, so anybody on the way could read the keys: use https://"
            )
        if parsed.env:
            raise ServerArgumentsError(f"--env {parsed.env[0]} is for a command: an address has headers (--header)")
        if arguments:
            raise ServerArgumentsError(f"an address has no arguments: {' '.join(arguments)}")
        if parsed.transport == "stdio":
            raise ServerArgumentsError(f"{target} is an address: its transport is http or sse")
        fields |= {"url": target} | ({"type": parsed.transport} if parsed.transport else {})
    elif parsed.transport not in (None, "stdio"):
        raise ServerArgumentsError(f"{target} is no address: it begins with http:// or https://")
    elif parsed.header or parsed.bearer_token_env_var:
        raise ServerArgumentsError(f"a header is for an address: {target} is a command, which has variables (--env)")
    elif _HOST.fullmatch(target) and not shutil.which(target):
        raise ServerArgumentsError(f"there is no command {target}: write https://{target} if it is an address")
    else:
        fields |= {"command": target} | ({"args": arguments} if arguments else {})
    fields |= {"env": env} if (env := _pairs(parsed.env, "=", "--env")) else {}
    headers = _pairs(parsed.header, ":", "--header")
    if parsed.bearer_token_env_var:
        headers["Authorization"] = f"Bearer ${{{parsed.bearer_token_env_var}}}"
    fields |= {"headers": headers} if headers else {}
    fields |= {"description": parsed.description} if parsed.description else {}
    if parsed.host and "url" in fields:
        raise ServerArgumentsError("--host is for a command: an address is a host itself")
    fields |= {"permissions": {"hosts": list(parsed.host)}} if parsed.host else {}
    fields |= {"required": True} if parsed.required else {}
    return _add(parsed, home, fields)


def run_add_json(parsed: argparse.Namespace, home: Home) -> int:
    """Add a server whose entry is given as JSON. Returns the exit code.

    Raises:
        ServerArgumentsError: it cannot be added.
        ServerFileError: the file cannot be changed.
        SettingsError: the file has a mistake, or cannot be written.
    """
    try:
        given = msgspec.json.decode(parsed.entry, type=dict[str, Json])
        fields, notes = translated(given, "claude")
    except (ValueError, msgspec.DecodeError) as error:
        raise ServerArgumentsError(
            f"MCP server {parsed.name} was not added, because its entry is not right: {error}"
        ) from error
    for note in notes:
        tell(note)
    return _add(parsed, home, fields)


def _add(parsed: argparse.Namespace, home: Home, fields: dict[str, Json]) -> int:
    path, name = _file(parsed, home), parsed.name
    is_trusted = _changed(parsed, home, lambda: add_server(path, name, fields))
    then = f"`kaa mcp test {name}` tests it"
    if parsed.scope == "project":
        then = f"`kaa mcp approve {name}` approves it"
        then = then if is_trusted else f"Start kaa here to trust the change; then {then}"
    deliver(sys.stdout, sanitize(f"Added {name} to {path}. {then}. A running kaa uses it after /new.\n"))
    added = server_in(path, name, parsed.scope)
    if added is not None and added.entry.warning:
        deliver(sys.stdout, f"{added.entry.warning}\n")
    return ExitCode.DONE


def _changed(parsed: argparse.Namespace, home: Home, change: Callable[[], None]) -> bool:
    """Change a file; whether the user trusts the project with it."""
    if parsed.scope == "user":
        change()
        return True
    from kaa.shell.trust.own_change import change_trusted  # lazy: most servers are the user's own

    root = os.path.realpath(parsed.directory)
    return change_trusted(root, f"{PROJECT_FOLDER}/mcp.json", home, os.environ, change)


def run_remove(parsed: argparse.Namespace, home: Home) -> int:
    """Remove a server, with the login at it. Returns the exit code.

    Raises:
        ServerFileError: it is not in the file.
        SettingsError: the file has a mistake, or cannot be written.
        LoginError: the logins cannot be read or written.
        TrustError: it is not known which other servers there are.
    """
    path, name = _file(parsed, home), parsed.name
    removed = server_in(path, name, parsed.scope)
    try:
        _changed(parsed, home, lambda: remove_server(path, name))
    except ServerFileError as error:
        here = asyncio.run(configured_here(parsed.directory, home, os.environ))
        sources = [server.source for server in here.servers if server.name in (name, f"{name}-project")]
        option = ", which --project edits" if sources and sources[0].scope == "project" else ""
        where = f". It is in {sources[0].file}{option}" if sources else ": kaa mcp list shows those there are"
        raise ServerArgumentsError(f"{error}{where}") from error
    ServerManifests(home).forget(path, parsed.name)
    approvals, may_have_login = Approvals(home), False
    try:
        may_have_login = removed is not None and bool(removed.entry.url) and approvals.is_approved(removed)
        approvals.forget(str(path), name, of_project=parsed.scope == "project")
    except ApprovalRecordsError as error:
        tell(str(error))
    if removed is not None:
        project = os.path.realpath(parsed.directory)
        projects = known_projects(os.environ, project) if parsed.scope == "user" else ()
        heir = f"another server {name}" if parsed.scope == "user" else "the same entry"
        for data in remove_data(home, removed, (project, *projects)):
            tell(f"its own files stay in {data}: {heir} would get them")
    deliver(sys.stdout, sanitize(f"Removed {parsed.name} from {path}.\n"))
    return end_login(removed, parsed, home) if removed is not None and may_have_login else ExitCode.DONE


def _add_project(parser: argparse.ArgumentParser) -> None:
    place = f"in the project's {PROJECT_FOLDER}/mcp.json"
    parser.set_defaults(scope="user")
    parser.add_argument("--project", dest="scope", action="store_const", const="project", help=place)
    parser.add_argument("-s", "--scope", choices=("user", "project"), help="the same, as others say it")


def _file(parsed: argparse.Namespace, home: Home) -> Path:
    if parsed.scope == "user":
        return home.path / "mcp.json"
    path = Path(os.path.realpath(parsed.directory), PROJECT_FOLDER, "mcp.json")
    if path.is_symlink() or path.parent.is_symlink():  # what was fetched could lead it anywhere
        raise ServerFileError(f"{path} is a link, or its folder is one: change what it leads to by hand")
    return path


def _pairs(given: list[str], separator: str, option: str) -> dict[str, Json]:
    pairs: dict[str, Json] = {}
    for one in given:
        name, found, value = one.partition(separator)
        if not found or not name.strip():
            raise ServerArgumentsError(f"{option} {one!r} is not NAME{separator}VALUE")
        pairs[name.strip()] = value.strip() if separator == ":" else value
    return pairs
