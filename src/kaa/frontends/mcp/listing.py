"""`kaa mcp list`: the configured servers, without starting any."""

import argparse
import asyncio
import sys

from kaa.builtin.amounts import counted
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.json_text import json_line
from kaa.frontends.mcp.telling import configured
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import Approvals
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.here import server_named
from kaa.shell.mcp.manifests import ServerManifests
from kaa.tui.sanitize import sanitize


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(name="")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def add_get_arguments(parser: argparse.ArgumentParser) -> None:
    add_list_arguments(parser)
    parser.add_argument("name", metavar="NAME", help="its name")


def run_list(parsed: argparse.Namespace, home: Home) -> int:
    """List the servers. Returns the exit code.

    Raises:
        SettingsError: the user's settings have a mistake.
        ApprovalRecordsError: it is not known which servers are approved.
        TrustError: it is not known whether the project is trusted.
        UnknownServerError: no server has the name that was given.
    """
    found = asyncio.run(configured(parsed, home))
    approvals, manifests = Approvals(home), ServerManifests(home)
    for server in [server_named(parsed.name, found)] if parsed.name else found.servers:
        state = _state(server, approvals, manifests)
        if parsed.json:
            line = {"name": server.name, "state": state, "file": server.source.file, "scope": server.source.scope}
            deliver(sys.stdout, json_line(line | {"entry": server.entry}))
            continue
        deliver(sys.stdout, sanitize(f"{server.name}: {state}\n  {_target(server)}\n  {server.source.file}\n"))
        for sentence in (*filter(None, (server.entry.warning,)), *server.ignored):
            deliver(sys.stdout, sanitize(f"  {sentence}\n"))
    if not found.servers and not parsed.json:
        deliver(sys.stdout, "No MCP servers are configured. `kaa mcp add` adds one.\n")
    return ExitCode.DONE


def _state(server: ConfiguredServer, approvals: Approvals, manifests: ServerManifests) -> str:
    if not server.entry.enabled:
        return "disabled"
    if not approvals.is_approved(server):
        return f"not approved (`kaa mcp approve {server.name}`)"
    if (manifest := manifests.read(server)) is None:
        return "configured"
    if held := approvals.changes(server, manifest):
        changed = f"{len(held)} of them changed (`kaa mcp approve {server.name}`)"
        return f"known, {counted(len(manifest.tools), 'tool')}, {changed}"
    return f"known, {counted(len(manifest.tools), 'tool')}"


def _target(server: ConfiguredServer) -> str:
    return server.entry.url or " ".join((server.entry.command, *server.entry.args))
