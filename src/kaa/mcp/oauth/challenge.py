"""What a server says when it refuses a request for want of a login: the header `WWW-Authenticate`."""

import re
from typing import Final

import msgspec

from kaa.llm.http.transport import Headers, HttpRequest, Transport

_LONGEST_HEADER: Final = 8 * 1024
_REFUSED: Final = (401, 403)
# What a server is asked to learn whether it wants a login.
_QUESTION: Final = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_WITH_TOKENS: Final = ("bearer", "dpop")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
# Each begins the header or follows a comma, and no `=` follows it.
_SCHEMES: Final = re.compile(r"(?:^|,)[ ]*+([\w-]++)(?![ ]*+=)", re.ASCII)
# RFC 9110 11.6.1: schemes with parameters, all separated by commas. A scheme stands before its first parameter.
_PARAMETER: Final = re.compile(
    r"""(?<![\w-])(?:([\w-]++)[ ]++)?([\w-]++)[ ]*+=[ ]*+(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*+))""", re.ASCII
)


class Challenge(msgspec.Struct, frozen=True):
    """The challenge of the schemes `Bearer` and `DPoP` (RFC 6750 3, RFC 9728 5.1, RFC 9449 7.1).

    What is empty was not said. Where both say something, `Bearer` counts.

    Attributes:
        resource_metadata: where the server describes itself as a protected resource.
        scope: what is needed for the request, separated by blanks.
        error: why the request was refused; `insufficient_scope` wants a login that permits more.
        schemes: those of the two that the server takes, in small letters and in this order.
    """

    resource_metadata: str = ""
    scope: str = ""
    error: str = ""
    schemes: tuple[str, ...] = ()

    @property
    def wants_more(self) -> bool:
        """Whether there is a login already, and it permits too little."""
        return self.error == "insufficient_scope"


def parse_challenge(header: str) -> Challenge:
    """The challenge in the value of a header; what makes no sense counts as not said."""
    header = header[:_LONGEST_HEADER]
    scheme, said = "", {known: dict[str, str]() for known in _WITH_TOKENS}
    for named, name, quoted, plain in _PARAMETER.findall(header):
        scheme = named.lower() or scheme
        if scheme in said:
            said[scheme].setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
    named_alone = {one.lower() for one in _SCHEMES.findall(_QUOTED.sub('""', header))}
    schemes = tuple(known for known in _WITH_TOKENS if known in named_alone)
    found = said["dpop"] | said["bearer"]
    return Challenge(found.get("resource_metadata", ""), found.get("scope", ""), found.get("error", ""), schemes)


def challenge_header(headers: Headers) -> str:
    """The value of the header `WWW-Authenticate`; servers send one for each scheme, or one for all (RFC 9110 5.3)."""
    return ", ".join(value for name, value in headers.items if name.lower() == "www-authenticate")


async def challenge_of(url: str, transport: Transport) -> Challenge | None:
    """Ask a server what it says to a request without a token. Returns None if it does not refuse it.

    Raises:
        ProviderError: it cannot be reached, or must not be.
    """
    headers = (("content-type", "application/json"), ("accept", "application/json, text/event-stream"))
    async with transport.send(HttpRequest("POST", url, headers, msgspec.json.encode(_QUESTION))) as response:
        if response.status not in _REFUSED:
            return None
        return parse_challenge(challenge_header(response.headers))
