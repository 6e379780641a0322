"""`kaa mcp`: its subcommands."""

from collections.abc import Sequence

from kaa.core.errors import ProviderError
from kaa.frontends.confirming import NobodyAnswersError
from kaa.frontends.mcp import listing_later
from kaa.frontends.mcp.approving import CodeError, add_approve_arguments, run_approve
from kaa.frontends.mcp.editing import (
    add_add_arguments,
    add_add_json_arguments,
    add_remove_arguments,
    arranged,
    run_add,
    run_add_json,
    run_remove,
)
from kaa.frontends.mcp.importing import add_import_arguments, run_import
from kaa.frontends.mcp.listing import add_get_arguments, add_list_arguments, run_list
from kaa.frontends.mcp.listing_later import LIST_LATER
from kaa.frontends.mcp.logging_in import add_login_arguments, add_logout_arguments, run_login, run_logout
from kaa.frontends.mcp.testing import add_test_arguments, run_test
from kaa.frontends.subcommands import Subcommand, run_subcommand
from kaa.llm.auth.errors import CredentialError
from kaa.shell.mcp.approvals import ApprovalRecordsError
from kaa.shell.mcp.config.file import ServerFileError
from kaa.shell.mcp.config.importing import ImportedServersError
from kaa.shell.trust.configuration import TrustError


def main(arguments: Sequence[str], directory: str) -> int:
    """Run `kaa mcp`. Returns the exit code."""
    if list(arguments) == [LIST_LATER]:  # for kaa itself
        return listing_later.main()
    failures = (
        ApprovalRecordsError,
        CodeError,
        CredentialError,
        ImportedServersError,
        NobodyAnswersError,
        ProviderError,
        ServerFileError,
        TrustError,
        OSError,
    )
    return run_subcommand(
        "mcp",
        "Use MCP servers. `kaa mcp serve --help` describes kaa as such a server.",
        SUBCOMMANDS,
        failures,
        ["add", *arranged(arguments[1:])] if arguments[:1] == ["add"] else arguments,
        directory,
    )


SUBCOMMANDS = {
    "list": Subcommand("list the configured servers", "--json", add_list_arguments, run_list),
    "get": Subcommand("show one server", "github", add_get_arguments, run_list),
    "add": Subcommand(
        "add a server", "files -- npx -y @modelcontextprotocol/server-filesystem .", add_add_arguments, run_add
    ),
    "add-json": Subcommand(
        "add a server whose entry is given as JSON",
        'lab \'{"url": "https://lab.example.com/mcp"}\'',
        add_add_json_arguments,
        run_add_json,
    ),
    "remove": Subcommand("remove a server", "github", add_remove_arguments, run_remove),
    "import": Subcommand(
        "copy servers from another agent's configuration", "claude github", add_import_arguments, run_import
    ),
    "approve": Subcommand(
        "permit a server of the project, or changed tools", "github", add_approve_arguments, run_approve
    ),
    "test": Subcommand("start servers and tell what they offer", "github", add_test_arguments, run_test),
    "login": Subcommand("log in to a server, in the browser", "github", add_login_arguments, run_login),
    "logout": Subcommand("forget the login at a server", "github", add_logout_arguments, run_logout),
}
