"""`kaa mcp approve`: shows what a server is and may do, or how its tools changed, asks once, and keeps the answer."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Mapping

from kaa.frontends.confirming import confirmed
from kaa.frontends.delivery import deliver
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.mcp.telling import configured
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import Approvals
from kaa.shell.mcp.code import UnknownCodeError
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.here import server_named
from kaa.shell.mcp.config.variables import VariableError
from kaa.shell.mcp.describing import described, described_code
from kaa.shell.mcp.manifests import ServerManifests
from kaa.shell.mcp.place import ServerPlace
from kaa.shell.mcp.starting import code_to_admit
from kaa.shell.safety import SandboxFlags, sandbox_options
from kaa.tui.sanitize import sanitize


class CodeError(Exception):
    """It cannot be found out what a server executes; the message says why and what to do."""


def add_approve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", metavar="SERVER", help="its name in the project's file")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def run_approve(parsed: argparse.Namespace, home: Home) -> int:
    """Approve. Returns the exit code.

    Raises:
        UnknownServerError: no server has this name.
        NobodyAnswersError: nobody can be asked.
        CodeError: it cannot be found out what the server executes.
        ApprovalRecordsError: the answer cannot be kept.
        SettingsError: the user's settings have a mistake.
        TrustError: it is not known whether the project is trusted.
    """
    server = server_named(parsed.server, asyncio.run(configured(parsed, home, untrusted=True)))
    approvals = Approvals(home)
    place = _place(os.path.realpath(parsed.directory), home)
    code = _code_of(server, place)
    accepted = approvals.code(server, place.project, code)
    lines = described_code(accepted, code) if code else []
    if not approvals.is_approved(server):
        text = "\n".join((described(server, place), *lines))
        whose = {"project": "of this project", "agent": "of your definition of an agent"}.get(
            server.source.scope, "of yours, whose file lies in a project or is a hard link,"
        )
        question = f"Start MCP server {server.name} {whose}?"
        return _asked(parsed, text, question, lambda: approvals.approve(server, place.project, code))
    if code and code != accepted:
        question = f"Start MCP server {server.name} with this code?"
        return _asked(parsed, "\n".join(lines), question, lambda: approvals.accept_code(server, place.project, code))
    manifest = ServerManifests(home).read(server)
    changes = {} if manifest is None else approvals.changes(server, manifest)
    if manifest is None or not changes:
        yours = f"{server.name} is configured in {server.source.file}, which is yours, and needs no approval."
        yours = f"{yours} {server.entry.warning}".rstrip()
        approved = f"{server.name} is approved, and so are its tools."
        deliver(sys.stdout, sanitize(f"{yours if not server.source.needs_approval else approved}\n"))
        return ExitCode.DONE
    text = "\n\n".join(f"{name} changed:\n{change}" for name, change in changes.items())
    return _asked(parsed, text, f"Use the changed tools of {server.name}?", lambda: approvals.accept(server, manifest))


def _code_of(server: ConfiguredServer, place: ServerPlace) -> Mapping[str, str]:
    try:
        return code_to_admit(server, place) if server.entry.command else {}
    except (VariableError, UnknownCodeError) as error:
        raise CodeError(f"MCP server {server.name} cannot be approved: {error}") from error


def _place(project: str, home: Home) -> ServerPlace:
    options = sandbox_options(home, SandboxFlags(), project)
    return ServerPlace(home, os.environ, project, lambda: options)


def _asked(parsed: argparse.Namespace, text: str, question: str, approve: Callable[[], None]) -> int:
    deliver(sys.stdout, f"{sanitize(text)}\n")
    if not parsed.yes and not confirmed(question):
        deliver(sys.stderr, "nothing is approved\n")
        return ExitCode.DENIED
    approve()
    deliver(sys.stdout, sanitize(f"Approved {parsed.server}.\n"))
    return ExitCode.DONE
