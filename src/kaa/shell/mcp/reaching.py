"""Reaches servers at an address: their URL and headers with variables, the login, and the network."""

import asyncio

import msgspec

from kaa.host.hard_links import has_other_name
from kaa.host.helper_lines import named_path, why_not_run
from kaa.host.hiding import hidden_from_program
from kaa.host.known_projects import known_projects
from kaa.host.paths import is_below
from kaa.host.writers import without_toolchains
from kaa.llm.auth.config_values import ConfigValues
from kaa.llm.auth.errors import CredentialError, LoginError
from kaa.llm.auth.oauth.config import is_confidential
from kaa.llm.http.transport import Transport, host_of
from kaa.mcp.connection import ServerConnection
from kaa.mcp.errors import McpError, ServerGoneError
from kaa.mcp.http.discreet import DiscreetTransport
from kaa.mcp.http.sse import SseConnection
from kaa.mcp.http.streamable import StreamableHttpConnection
from kaa.mcp.oauth.bound import let_in
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.variables import VariableError, filler
from kaa.shell.mcp.logins import McpLogins
from kaa.shell.mcp.place import ServerPlace


def connection_to(
    server: ConfiguredServer, place: ServerPlace, transport: Transport, logins: McpLogins
) -> ServerConnection:
    """A connection to a server that has an address.

    Args:
        transport: to the network; it stays open.

    Raises:
        ServerGoneError: the address or a header cannot be used; the message says why and what to do.
    """
    entry = server.entry
    fill = filler(server, place.home, place.environ, place.project)
    try:
        url = fill(entry.url)
        headers = {name: fill(value) for name, value in entry.headers.items()}
        authorized = let_in(DiscreetTransport(transport), logins.authorizer(server))
    except (VariableError, LoginError) as error:
        raise ServerGoneError(f"it cannot be reached: {error}") from error
    if not is_confidential(url):
        raise ServerGoneError(
            f"its URL leads to {host_of(url) or 'no host'} without encryption, or is no URL: kaa connects to addresses"
            " that begin with https://, and with http:// on this machine only"
        )

    async def given() -> tuple[tuple[str, str], ...]:
        helped = await asyncio.to_thread(_helped, server, place) if entry.headers_helper else {}
        return tuple((headers | helped).items())

    return (SseConnection if entry.type == "sse" else StreamableHttpConnection)(url, authorized, given)


def _helped(server: ConfiguredServer, place: ServerPlace) -> dict[str, str]:
    """The headers that a command of the user's own file prints. Blocks while it runs.

    It has the user's rights, but sees what commands of the model can write as empty, so it executes nothing of that in
    whichever way its line names it. What the line names plainly is refused with a reason.
    """
    where = f"`headersHelper` of MCP server {server.name} in {server.source.file}"
    home = place.environ.get("HOME", "/")
    added = known_projects(place.environ, place.project, added=True)

    def is_written(one: str) -> bool:
        return place.commands_can_write(one) or is_below(one, added) or has_other_name(one)

    if (path := named_path(server.entry.headers_helper, place.environ, home, is_written)) is not None:
        raise ServerGoneError(f"{where} names {path}, {why_not_run(path, place.environ)}")
    try:
        hidden = without_toolchains((*place.writable(), *added), place.environ)
        wrap = () if place.is_full_access() else hidden_from_program(hidden)
        printed = ConfigValues(place.environ, wrap).evaluate(f"!{server.entry.headers_helper}", where)
        return msgspec.json.decode(printed, type=dict[str, str])
    except CredentialError as error:
        raise ServerGoneError(str(error)) from error
    except (msgspec.DecodeError, RecursionError):
        raise McpError(f"{where}: the command must print an object of JSON with texts, and nothing else") from None
