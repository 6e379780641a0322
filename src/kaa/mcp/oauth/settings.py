"""What a configured server says about its OAuth."""

from typing import Literal

import msgspec


class OAuthEntry(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The field `oauth` of a configured server. Everything that is empty is discovered.

    Attributes:
        grant_type: how kaa gets tokens: with a person's agreement in the browser (`authorization_code`), or without a
            person, as the client itself (`client_credentials`, SEP-1046) or with the token of a workload (`jwt-bearer`,
            RFC 7523).
        private_key: in PEM; signs what proves who the client is, instead of a secret (`private_key_jwt`).
        private_key_file: where it is; of the user's own files only.
        key_id: how the authorization server calls the public key.
        assertion: the token of the workload, for `jwt-bearer`.
        assertion_file: where it is, read at each login; of the user's own files only.
        idp_token_url: the token endpoint of an identity provider that gives the token for `jwt-bearer` (SEP-990); of
            the user's own files only. `idp_client_id` and `idp_client_secret` are kaa's client there.
        id_token: the user's identity token from there.
        id_token_file: where it is, read at each login; of the user's own files only.
        registration: how kaa becomes known to the authorization server: `cimd` (client id metadata document), `dcr`
            (dynamic client registration, RFC 7591); `auto` takes what the server supports, `client_id` first.
        dpop: whether tokens are bound to a key of kaa's (RFC 9449): `auto` where the server takes such tokens and the
            authorization server binds them, `required` always, `off` never.
        callback_port: port of the address on this machine to which the browser returns; 0 for any free one.
        auth_server_metadata_url: where the authorization server's metadata are, if not where they belong.
    """

    client_id: str = ""
    client_secret: str = ""
    client_name: str = ""
    grant_type: Literal["authorization_code", "client_credentials", "jwt-bearer"] = "authorization_code"
    private_key: str = ""
    private_key_file: str = ""
    key_id: str = ""
    assertion: str = ""
    assertion_file: str = ""
    idp_token_url: str = ""
    idp_client_id: str = ""
    idp_client_secret: str = ""
    id_token: str = ""
    id_token_file: str = ""
    scope: str = ""
    callback_port: int = 0
    callback_url: str = ""
    auth_server_metadata_url: str = ""
    registration: Literal["auto", "cimd", "dcr"] = "auto"
    dpop: Literal["auto", "required", "off"] = "auto"
