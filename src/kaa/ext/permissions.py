"""What an extension outside kaa's process may do: named in its manifest, granted by the user."""

import re
from typing import Literal, TypeAlias

import msgspec

Access: TypeAlias = Literal["none", "read", "write"]
"""`write` includes `read`."""

# A host name, or `*.` and a domain, with an optional port.
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[0-9]{1,5})?")
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Permissions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an extension may do. Without an argument: nothing.

    Attributes:
        project: the files of the project.
        session: the messages and entries of the conversation.
        hosts: hosts it may connect to: `example.com`, `*.example.com`, each with an optional `:port`.
        keys: providers whose keys it may read, such as `openai`.
        models: whether it may call models at the user's cost.
    """

    project: Access = "none"
    session: Access = "none"
    hosts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    models: bool = False

    def __post_init__(self) -> None:
        for host in self.hosts:
            if not _HOST.fullmatch(host):
                raise ValueError(f"invalid host {host!r} in `hosts`: use a name such as example.com or *.example.com")
        for key in self.keys:
            if not _KEY.fullmatch(key):
                raise ValueError(f"invalid key {key!r} in `keys`: use the name of a provider, such as openai")
