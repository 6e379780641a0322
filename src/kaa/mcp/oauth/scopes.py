"""The scopes that a login asks for."""

from typing import Final

from kaa.mcp.oauth.challenge import Challenge
from kaa.mcp.oauth.discovery import Discovered
from kaa.mcp.oauth.settings import OAuthEntry
from kaa.mcp.oauth.tokens import McpLogin

OFFLINE: Final = "offline_access"
"""The scope for which OpenID Connect servers give refresh tokens."""


def scopes_to_ask(settings: OAuthEntry, asked: Challenge | None, found: Discovered, before: McpLogin | None) -> str:
    """Return what the user or the server wants, and what the login permitted before if that was too little."""
    wanted = settings.scope or (asked.scope if asked else "") or " ".join(found.scopes)
    if asked is not None and asked.wants_more:
        wanted = f"{wanted} {asked.scope}"
    if before is not None and (before.missing or (asked is not None and asked.wants_more)):
        wanted = f"{before.scope} {wanted} {before.missing}"
    scopes = dict.fromkeys(wanted.split())
    if scopes and OFFLINE in found.server.scopes and settings.grant_type == "authorization_code":
        scopes[OFFLINE] = None  # servers that know it give refresh tokens for it alone
    return " ".join(scopes)
