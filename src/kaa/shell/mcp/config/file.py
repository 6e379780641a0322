"""Adds servers to the files of kaa's own, and removes them: comments and all else in the files stay."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from kaa.core.messages import Json
from kaa.shell.mcp.config.entry import ConfiguredServer, Scope, Source
from kaa.shell.mcp.config.reading import alike, server_of, servers_in
from kaa.shell.mistakes import MistakeError
from kaa.shell.settings_file import SettingsFile
from kaa.shell.user_file import read_json

_FIELD = "mcpServers"


class ServerFileError(Exception):
    """A file of servers cannot be changed as the user wants; the message says why and what to do."""


class ServerArgumentsError(ServerFileError, MistakeError):
    """The arguments name a server that is not there, or do not say what to add."""


def entries_in(path: Path) -> dict[str, Json]:
    """The entries of a file, by name.

    Raises:
        ServerFileError: it cannot be read.
    """
    try:
        return servers_in(read_json(str(path)), _FIELD, str(path))
    except ValueError as error:
        raise ServerFileError(str(error)) from error


def rival_of(name: str, names: Iterable[str]) -> str:
    """The one of `names` that leaves no room for another server of this name; empty for none."""
    return next((one for one in names if alike(one) == alike(name)), "")


def add_server(path: Path, name: str, fields: dict[str, Json]) -> None:
    """Add a server to a file.

    Args:
        path: the file; it need not exist.

    Raises:
        ServerArgumentsError: there is a server with a name like this, or the entry is wrong.
        SettingsError: the file has a mistake, or cannot be written.
    """
    try:
        server_of(name, fields, Source(str(path), "user"), "kaa")
    except ValueError as error:
        raise ServerArgumentsError(f"MCP server {name} was not added: {error}") from error
    if rival := rival_of(name, entries_in(path)):
        raise ServerArgumentsError(f"{path} has a server {rival} already: `kaa mcp remove {rival}` removes it")
    SettingsFile(path).set({_FIELD: {name: fields}})


def server_in(path: Path, name: str, scope: Scope) -> ConfiguredServer | None:
    """The server of this name in a file of kaa's own; None if there is none, or its entry has a mistake."""
    with suppress(ValueError, KeyError, ServerFileError):
        return server_of(name, entries_in(path)[name], Source(str(path), scope), "kaa")
    return None


def remove_server(path: Path, name: str) -> None:
    """Remove a server from a file.

    Raises:
        ServerArgumentsError: the file has no server of this name.
        SettingsError: the file has a mistake, or cannot be written.
    """
    try:
        SettingsFile(path).remove((_FIELD, name))
    except KeyError:
        raise ServerArgumentsError(f"{path} has no server {name!r}") from None
