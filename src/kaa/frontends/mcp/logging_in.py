"""`kaa mcp login` and `kaa mcp logout`."""

import argparse
import os
import sys

from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.login_screen import TerminalLoginScreen
from kaa.frontends.mcp.telling import configured
from kaa.llm.auth.errors import LoginError
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import Approvals
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.here import configured_here, server_named
from kaa.shell.mcp.logins import McpLogins
from kaa.tui.sanitize import sanitize


def add_login_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", metavar="SERVER", help="its name in mcp.json")


add_logout_arguments = add_login_arguments


def run_login(parsed: argparse.Namespace, home: Home) -> int:
    """Log in to a server. Returns the exit code.

    Raises:
        UnknownServerError: no server has this name.
        LoginError: it failed.
        ProviderError: somebody cannot be reached, or must not be.
        ApprovalRecordsError: it is not known whether the server is approved.
        TrustError: it is not known whether the project is trusted.
    """

    async def log_in() -> int:
        server = await _server(parsed, home)
        if not Approvals(home).is_approved(server):
            raise LoginError(
                f"MCP server {server.name} is configured by the project, in {server.source.file}, and you have not"
                f" approved it: `kaa mcp approve {server.name}` approves it"
            )
        await _logins(parsed, home).log_in(server, TerminalLoginScreen())
        deliver(sys.stdout, sanitize(f"You are logged in to {server.name}.\n"))
        return ExitCode.DONE

    return run_to_exit_code(log_in())


def run_logout(parsed: argparse.Namespace, home: Home) -> int:
    """Forget the login at a server. Returns the exit code.

    Raises:
        UnknownServerError: no server has this name.
        LoginError: the logins cannot be read or written.
        TrustError: it is not known whether the project is trusted.
    """

    async def log_out() -> int:
        server = await _server(parsed, home)
        tokens = await _logins(parsed, home).log_out(server)
        if tokens is None:
            raise LoginError(f"there is no login at {server.name}")
        deliver(sys.stdout, sanitize(f"The login at {server.name} was removed. {tokens}\n"))
        return ExitCode.DONE

    return run_to_exit_code(log_out())


def end_login(removed: ConfiguredServer, parsed: argparse.Namespace, home: Home) -> int:
    """Forget the login at a server that is not configured any more, unless another one has its address.

    Args:
        parsed: has the directory whose servers are the others.

    Returns:
        The exit code.

    Raises:
        LoginError: the logins cannot be read or written.
        SettingsError: the user's settings have a mistake.
        TrustError: it is not known which other servers there are.
    """

    async def end() -> int:
        logins = _logins(parsed, home)
        if not await logins.has(removed):
            return ExitCode.DONE
        others = (await configured_here(parsed.directory, home, os.environ)).servers
        if sharing := next((one.name for one in others if logins.share(one, removed)), ""):
            deliver(sys.stdout, sanitize(f"The login at it stays: {sharing} has the same address.\n"))
        elif tokens := await logins.log_out(removed):
            deliver(sys.stdout, sanitize(f"The login at it was removed. {tokens}\n"))
        return ExitCode.DONE

    return run_to_exit_code(end())


async def _server(parsed: argparse.Namespace, home: Home) -> ConfiguredServer:
    return server_named(parsed.server, await configured(parsed, home))


def _logins(parsed: argparse.Namespace, home: Home) -> McpLogins:
    return McpLogins.of(home, os.environ, os.path.realpath(parsed.directory))
