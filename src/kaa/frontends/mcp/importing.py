"""`kaa mcp import`: copies servers from another agent's files into the user's own, after a question."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kaa.frontends.confirming import confirmed
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.mcp.telling import tell
from kaa.shell.home import Home
from kaa.shell.mcp.config.file import ServerArgumentsError, ServerFileError, add_server, entries_in, rival_of
from kaa.shell.mcp.config.importing import AGENTS, ImportedServer, imported
from kaa.tui.sanitize import sanitize


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", choices=sorted(AGENTS), help=", ".join(sorted(AGENTS)))
    parser.add_argument("names", metavar="SERVER", nargs="*", help="only these servers")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def run_import(parsed: argparse.Namespace, home: Home) -> int:
    """Import servers. Returns the exit code.

    Raises:
        ImportedServersError: the agent's file cannot be read.
        ServerFileError: the agent has no server of a name that was given, or kaa's file cannot be read.
        NobodyAnswersError: nobody can be asked.
        SettingsError: kaa's file has a mistake, or cannot be written.
    """
    found = imported(parsed.agent, Path.home(), parsed.directory)
    for problem in found.problems:
        tell(problem)
    servers = [one for one in found.servers if not parsed.names or one.name in parsed.names]
    if missing := sorted(set(parsed.names) - {one.name for one in servers}):
        others = [name for name in missing if name in AGENTS]
        each = f". For the servers of another agent, run `kaa mcp import {others[0]}`" if others else ""
        raise ServerArgumentsError(f"{parsed.agent} has no server {', '.join(missing)} that kaa can use{each}")
    if not servers:
        deliver(sys.stdout, f"{parsed.agent} has no MCP servers.\n")
        return ExitCode.DONE
    path = home.path / "mcp.json"
    new, failed = _sorted_out(servers, path)
    if not new:
        return ExitCode.FAILED if failed else ExitCode.DONE
    for server in new:
        entry = msgspec.json.format(msgspec.json.encode(server.fields), indent=2).decode()
        deliver(sys.stdout, sanitize(f"{server.name}, from {server.file}:\n{entry}\n"))
        for remark in server.remarks:
            deliver(sys.stdout, sanitize(f"  {remark}\n"))
    if not parsed.yes and not confirmed(f"Add {len(new)} to {path}?"):
        deliver(sys.stderr, "nothing is added\n")
        return ExitCode.DENIED
    for server in new:
        try:
            add_server(path, server.name, server.fields)
            deliver(sys.stdout, sanitize(f"Added {server.name}.\n"))
        except ServerFileError as error:
            failed = True
            tell(str(error))
    return ExitCode.FAILED if failed else ExitCode.DONE


def _sorted_out(servers: Sequence[ImportedServer], path: Path) -> tuple[list[ImportedServer], bool]:
    """Those that kaa's file has room for, and whether it has another server for one; both are told.

    Raises:
        ServerFileError: the file cannot be read.
    """
    present, new, failed = entries_in(path), list[ImportedServer](), False
    for server in servers:
        if not (rival := rival_of(server.name, present)):
            new.append(server)
        elif present[rival] == msgspec.json.decode(msgspec.json.encode(server.fields)):
            deliver(sys.stdout, sanitize(f"{path} has the server {rival} already.\n"))
        else:
            failed = True
            tell(f"{server.name} is left out: {path} has another server {rival}. `kaa mcp remove {rival}` removes it")
    return new, failed
