"""`kaa mcp test`: starts servers as conversations do, and tells what they offer or why they fail."""

import argparse
import os
import sys
import time

from kaa.builtin.amounts import counted
from kaa.builtin.mcp.host import ServerUnavailableError
from kaa.ext.asking import NOBODY
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.mcp.telling import configured, tell
from kaa.mcp.manifest import ServerManifest
from kaa.shell.home import Home
from kaa.shell.mcp.config.here import server_named
from kaa.shell.mcp.following import LINES, followed
from kaa.shell.mcp.server import Server
from kaa.shell.mcp.servers import ServerMaker
from kaa.shell.safety import SandboxFlags, sandbox_options
from kaa.tui.sanitize import sanitize

# How often a start that takes long says so: in a file, and on a terminal.
_QUIET_SECONDS = (15.0, 3.0)


def add_test_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", metavar="SERVER", nargs="?", help="its name; without one, all are tested")


def run_test(parsed: argparse.Namespace, home: Home) -> int:
    """Test servers. Returns the exit code.

    Raises:
        UnknownServerError: no server has this name.
        SettingsError: the user's settings have a mistake.
        TrustError: it is not known whether the project is trusted.
    """
    return run_to_exit_code(_test(parsed, os.path.realpath(parsed.directory), home))


async def _test(parsed: argparse.Namespace, project: str, home: Home) -> int:
    found = await configured(parsed, home)
    wanted = found.servers if parsed.server is None else (server_named(parsed.server, found),)
    if not wanted:
        deliver(sys.stdout, "No MCP servers are configured. `kaa mcp add` adds one.\n")
    options = sandbox_options(home, SandboxFlags(), parsed.directory)
    maker = ServerMaker(home, os.environ, tell, lambda: options.mode == "full-access", lambda _: options)
    servers = maker.servers(wanted, project)
    failed = False
    try:

        def show(said: str) -> None:
            deliver(sys.stderr, sanitize(said))

        for one in wanted:
            server = servers.server(one.name)
            began = time.monotonic()
            deliver(sys.stderr, sanitize(f"{server.first_start or f'Starting {one.name}'}\n"))
            try:
                await server.offer.approve(NOBODY)
                client = await followed(server, show, quiet_seconds=_QUIET_SECONDS[sys.stderr.isatty()])
                manifest = client.manifest
            except ServerUnavailableError as error:
                failed = True
                deliver(sys.stdout, sanitize(f"{error}\n"))
                _show_log(server)
            else:
                _show(one.name, manifest, time.monotonic() - began)
    finally:
        await servers.close()
        await maker.close()
    return ExitCode.FAILED if failed else ExitCode.DONE


def _show(name: str, manifest: ServerManifest, seconds: float) -> None:
    who = " ".join(filter(None, (manifest.server.title or manifest.server.name, manifest.server.version)))
    kinds = (("tool", manifest.tools), ("prompt", manifest.prompts), ("resource", manifest.resources))
    counts = ", ".join(counted(len(found), kind) for kind, found in kinds)
    deliver(
        sys.stdout,
        sanitize(f"{name} works: {who or 'no name'}, revision {manifest.protocol}, {seconds:.1f} s\n  {counts}\n"),
    )
    for tool in manifest.tools:
        deliver(sys.stdout, sanitize(f"  {tool.name}{' (reads only)' if tool.hints.read_only else ''}\n"))
    for problem in manifest.left_out:
        deliver(sys.stdout, sanitize(f"  {' '.join(problem.split())}\n"))  # a name in it begins no line of its own


def _show_log(server: Server) -> None:
    for line in list(server.log)[-LINES:]:
        deliver(sys.stdout, sanitize(f"  {line}\n"))
