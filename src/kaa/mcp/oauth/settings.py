"""What a configured server says about its OAuth."""

from typing import Literal

import msgspec


class OAuthEntry(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The field `oauth` of a configured server. Everything that is empty is discovered.

    Attributes:
        registration: how kaa becomes known to the authorization server: `cimd` (client id metadata document), `dcr`
            (dynamic client registration, RFC 7591); `auto` takes what the server supports, `client_id` first.
        callback_port: port of the address on this machine to which the browser returns; 0 for any free one.
        auth_server_metadata_url: where the authorization server's metadata are, if not where they belong.
    """

    client_id: str = ""
    client_secret: str = ""
    client_name: str = ""
    scope: str = ""
    callback_port: int = 0
    callback_url: str = ""
    auth_server_metadata_url: str = ""
    registration: Literal["auto", "cimd", "dcr"] = "auto"
