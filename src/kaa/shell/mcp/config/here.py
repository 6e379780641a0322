"""The servers that are configured for a directory, for commands that open no conversation."""

from collections.abc import Mapping

from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.reading import Configured, configured
from kaa.shell.mistakes import MistakeError
from kaa.shell.project_files import server_files
from kaa.shell.safety import SandboxFlags, start_workspace
from kaa.shell.trust.configuration import survey
from kaa.shell.trust.verdict import judge


class UnknownServerError(MistakeError):
    """No server has the name that was given."""


async def configured_here(
    directory: str, home: Home, environ: Mapping[str, str], *, untrusted: bool = False
) -> Configured:
    """All servers that are configured for a directory: the user's, and the project's if the user trusts it.

    Args:
        directory: absolute.
        untrusted: the project's in any case. None of them starts before the user trusts it.

    Raises:
        SettingsError: the user's settings have a mistake.
        TrustError: earlier decisions about the project cannot be read.
        OSError: the directory cannot be opened.
    """
    workspace = start_workspace(directory, SandboxFlags(only_surveys=True), home, environ)
    try:
        project = await survey(workspace, home)
    finally:
        await workspace.close()
    verdict = judge("stored", project, home)
    seen = judge("yes", project, home) if untrusted and project.problem is None else verdict
    here = configured(home, project.root, server_files(project, seen))
    remedy = "Start kaa in this directory: /trust shows it and asks" if verdict.remedy else ""
    unused = "no server of this project starts before you trust it" if untrusted else verdict.unused
    notices = [". ".join(filter(None, (unused, remedy)))] if verdict.unused else []
    return Configured(here.servers, (*notices, *here.notices))


def server_named(name: str, found: Configured) -> ConfiguredServer:
    """The server of this name.

    Raises:
        UnknownServerError: there is none.
    """
    for server in found.servers:
        if server.name == name:
            return server
    names = ", ".join(server.name for server in found.servers) or "none"
    raise UnknownServerError(f"there is no MCP server {name!r} here. Configured: {names}")
