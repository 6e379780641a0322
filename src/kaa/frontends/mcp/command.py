"""`kaa mcp`: its subcommands."""

from collections.abc import Sequence

from kaa.core.errors import ProviderError
from kaa.frontends.mcp.logging_in import add_login_arguments, add_logout_arguments, run_login, run_logout
from kaa.frontends.subcommands import Subcommand, run_subcommand
from kaa.llm.auth.errors import CredentialError
from kaa.shell.mcp.approvals import ApprovalRecordsError
from kaa.shell.mcp.config.here import UnknownServerError
from kaa.shell.trust.configuration import TrustError


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa mcp`. Returns the exit code."""
    failures = (ApprovalRecordsError, CredentialError, ProviderError, TrustError, UnknownServerError, OSError)
    return run_subcommand(
        "mcp",
        "Use MCP servers. `kaa mcp serve --help` describes kaa as such a server.",
        _SUBCOMMANDS,
        failures,
        arguments,
        directory,
    )


_SUBCOMMANDS = {
    "login": Subcommand("log in to a server, in the browser", add_login_arguments, run_login),
    "logout": Subcommand("forget the login at a server", add_logout_arguments, run_logout),
}
