"""What the user can do about a server at an address that lets kaa in only with a login or a key."""

import re

from kaa.mcp.oauth.challenge import Challenge
from kaa.shell.mcp.config.entry import ConfiguredServer


def refused(server: ConfiguredServer, challenge: Challenge) -> str:
    """Why a server refused a request, and what to do."""
    login = f"Log in with `kaa mcp login {server.name}`, or with `/mcp login {server.name}` in the terminal"
    if has_key(server):
        return (
            f"MCP server {server.name} refused the headers that are configured in {server.source.file}. Correct them,"
            f" or remove them and log in with `kaa mcp login {server.name}`"
        )
    if challenge.wants_more:
        return f"MCP server {server.name} wants a login that permits more for this. {login}"
    if challenge.resource_metadata:
        return f"MCP server {server.name} needs a login. {login}"
    return f"MCP server {server.name} needs a login or a key, and does not say which. {login}. {key_setting(server)}"


def key_setting(server: ConfiguredServer) -> str:
    """How to give a server a key, in a sentence without a full stop."""
    variable = f"{re.sub('[^A-Za-z0-9]', '_', server.name).upper()}_TOKEN"
    example = f'"headers": {{"Authorization": "Bearer ${{{variable}}}"}}'
    return f"If it takes a key, set `headers` for {server.name} in {server.source.file}, for example {example}"


def has_key(server: ConfiguredServer) -> bool:
    """Whether the user configured what lets kaa in: then kaa sends no token of a login."""
    entry = server.entry
    return bool(entry.headers_helper) or any(name.lower() == "authorization" for name in entry.headers)
