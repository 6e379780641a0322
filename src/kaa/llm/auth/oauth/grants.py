"""Servers that give API keys to whoever their user agrees to. They need no client id, so kaa uses nobody else's."""

from typing import Final, NamedTuple


class KeyGrant(NamedTuple):
    """Such a server.

    Attributes:
        authorization_url: where the browser is sent, with a `callback_url` and a challenge, but without a state.
        key_url: where the code that comes back becomes a key; asked in JSON.
    """

    authorization_url: str
    key_url: str


# Source: https://openrouter.ai/docs/guides/overview/auth/oauth, read in 2026.
KEY_GRANTS: Final = {
    "openrouter": KeyGrant("https://openrouter.ai/auth", "https://openrouter.ai/api/v1/auth/keys"),
}
