"""What a server says when it refuses a request for want of a login: the header `WWW-Authenticate`."""

import re
from typing import Final

import msgspec

from kaa.llm.http.transport import HttpRequest, Transport

_LONGEST_HEADER: Final = 8 * 1024
_REFUSED: Final = (401, 403)
# What a server is asked to learn whether it wants a login.
_QUESTION: Final = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
# RFC 9110 11.6.1: schemes with parameters, all separated by commas. A scheme stands before its first parameter.
_PARAMETER: Final = re.compile(
    r"""(?<![\w-])(?:([\w-]++)[ ]++)?([\w-]++)[ ]*+=[ ]*+(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*+))""", re.ASCII
)


class Challenge(msgspec.Struct, frozen=True):
    """The challenge of the scheme `Bearer` (RFC 6750 3, RFC 9728 5.1); what is empty was not said.

    Attributes:
        resource_metadata: where the server describes itself as a protected resource.
        scope: what is needed for the request, separated by blanks.
        error: why the request was refused; `insufficient_scope` wants a login that permits more.
    """

    resource_metadata: str = ""
    scope: str = ""
    error: str = ""

    @property
    def wants_more(self) -> bool:
        """Whether there is a login already, and it permits too little."""
        return self.error == "insufficient_scope"


def parse_challenge(header: str) -> Challenge:
    """The challenge in the value of a header; what makes no sense counts as not said."""
    scheme, found = "", dict[str, str]()
    for named, name, quoted, plain in _PARAMETER.findall(header[:_LONGEST_HEADER]):
        scheme = named.lower() or scheme
        if scheme == "bearer":
            found.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
    return Challenge(found.get("resource_metadata", ""), found.get("scope", ""), found.get("error", ""))


async def challenge_of(url: str, transport: Transport) -> Challenge | None:
    """Ask a server what it says to a request without a token. Returns None if it does not refuse it.

    Raises:
        ProviderError: it cannot be reached, or must not be.
    """
    headers = (("content-type", "application/json"), ("accept", "application/json, text/event-stream"))
    async with transport.send(HttpRequest("POST", url, headers, msgspec.json.encode(_QUESTION))) as response:
        if response.status not in _REFUSED:
            return None
        return parse_challenge(response.headers.get("www-authenticate") or "")
