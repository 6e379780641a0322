"""An authorization server and the MCP server that it protects, over real HTTP on loopback.

The MCP server has a door, which says whether a request comes in, as the specification wants it said.
"""

import json
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from tests.support.mcp_server import ScriptedServer
from tests.support.oauth_server import Fields, OAuthServer, Reply, json_reply, refusal

_WITHOUT_PERSON = ("client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer")


@dataclass
class Conditions:
    """How the two behave; all of it can be changed while they run.

    Attributes:
        resource: what the server says it is; None for its address.
        issuers: who gives tokens for it; None for the server itself.
        has_resource_metadata: whether it describes itself (RFC 9728).
        scope: what the next request needs; empty for anything.
        scopes_supported: those of the protected resource.
        metadata: changes to the authorization server's metadata; None as a value removes the field.
        has_metadata: whether there are any.
        client: what a registration answers, besides an id.
        names_itself: the issuer in its answers to the browser; None for none.
        page: what calls of tools are answered with, with the status 500; empty for what they should be.
    """

    resource: str | None = None
    issuers: list[str] | None = None
    has_resource_metadata: bool = True
    scope: str = ""
    scopes_supported: list[str] = field(default_factory=list)
    metadata: dict[str, object] = field(default_factory=dict)
    has_metadata: bool = True
    client: dict[str, object] = field(default_factory=dict)
    names_itself: str | None = None
    page: str = ""


class McpOAuthServer(OAuthServer):
    """Both servers.

    Attributes:
        conditions: how they behave.
        clients: the clients it knows: their secrets by id.
        granted: the scope of each access token.
        behind: answers those who are let in.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conditions = Conditions()
        self.clients: dict[str, str] = {}
        self.granted: dict[str, str] = {}
        self.behind: ScriptedServer | None = None
        self._agreed = ""

    @property
    def mcp(self) -> str:
        """The URL of the MCP server."""
        return f"{self.url}/mcp"

    def agree(self, address: str, *, code: str = "code-1") -> str:
        """See `OAuthServer`. Answers may name their sender."""
        self._agreed = parse_qs(urlsplit(address).query).get("scope", [""])[0]
        named = self.conditions.names_itself
        return super().agree(address, code=code) + (f"&{urlencode({'iss': named})}" if named is not None else "")

    def endpoints(self) -> dict[str, Callable[[Fields], Reply]]:
        """See `OAuthServer`."""
        more: dict[str, Callable[[Fields], Reply]] = {
            "/mcp": self._mcp,
            "/register": self._register,
            "/revoke": self._revoke,
        }
        if self.conditions.has_resource_metadata:
            more["/.well-known/oauth-protected-resource/mcp"] = self._resource
        known = super().endpoints()
        if not self.conditions.has_metadata:
            del known["/.well-known/oauth-authorization-server"]
        return known | more

    def metadata(self) -> dict[str, object]:
        """See `OAuthServer`."""
        usual = {
            "registration_endpoint": f"{self.url}/register",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }
        changed = super().metadata() | usual | self.conditions.metadata
        return {name: value for name, value in changed.items() if value is not None}

    def knows(self, fields: Fields) -> bool:
        """See `OAuthServer`: the secret comes in a header or in the form."""
        kind, _, value = self.authorization.partition(" ")
        if kind == "Basic":
            name, _, secret = b64decode(value).decode().partition(":")
            return self.clients.get(unquote(name)) == unquote(secret) and "client_secret" not in fields
        return self.clients.get(fields.get("client_id", "")) == fields.get("client_secret", "")

    def _token(self, fields: Fields) -> Reply:
        if fields.get("grant_type") in _WITHOUT_PERSON and self.knows(fields):
            self._agreed = fields.get("scope", "")
            return self._tokens()
        return super()._token(fields)

    def _tokens(self) -> Reply:
        reply = super()._tokens()
        self.granted[self.access_token] = self._agreed
        return reply

    def _resource(self, _: Fields) -> Reply:
        said = {
            "resource": self.conditions.resource or self.mcp,
            "authorization_servers": self.conditions.issuers or [self.url],
            "scopes_supported": self.conditions.scopes_supported,
        }
        return json_reply(said)

    def _register(self, asked: Fields) -> Reply:
        name = f"client-{len(self.asked('/register'))}"
        method = asked["token_endpoint_auth_method"]
        self.clients[name] = str(self.conditions.client.get("client_secret", ""))
        return json_reply({"client_id": name, "token_endpoint_auth_method": method, **self.conditions.client}, 201)

    def _revoke(self, fields: Fields) -> Reply:
        return Reply(200, b"") if self.knows(fields) else refusal("invalid_client", status=401)

    def _mcp(self, fields: Fields) -> Reply:
        kind, _, token = self.authorization.partition(" ")
        if kind != "Bearer" or token != self.access_token:
            return self._refusal(401, "invalid_token" if token else "")
        missing = set(self.conditions.scope.split()) - set(self.granted.get(token, "").split())
        if missing:
            return self._refusal(403, "insufficient_scope")
        return self._behind_the_door(fields) if self.behind is not None else Reply()

    def _behind_the_door(self, message: Fields) -> Reply:
        assert self.behind is not None
        if not message:
            return Reply(405, b"")
        if self.conditions.page and message.get("method") == "tools/call":
            return Reply(500, self.conditions.page.encode(), {"content-type": "text/plain"})
        answers = self.behind.handle(message)
        return json_reply(answers[0]) if answers else Reply(202, b"")

    def _refusal(self, status: int, error: str) -> Reply:
        said = {
            "error": error,
            "scope": self.conditions.scope,
            "resource_metadata": f"{self.url}/.well-known/oauth-protected-resource/mcp"
            if self.conditions.has_resource_metadata
            else "",
        }
        parameters = ", ".join(f"{name}={json.dumps(value)}" for name, value in said.items() if value)
        return Reply(status, b"{}", {"www-authenticate": f"Bearer {parameters}"})
