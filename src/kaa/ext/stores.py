"""Data that an extension keeps, as JSON values by key."""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from kaa.core.messages import Json
from kaa.ext.errors import CommandError

StoreScope: TypeAlias = Literal["user", "project", "session"]
"""For whom data is kept: everywhere, in this project, or in this session and on the branches that contain it."""


class StoreError(CommandError):
    """Data cannot be read or kept; the message names the file and says what to do."""


class Store(Protocol):
    """The data of one extension in one scope. The data of the user and the project is in the user's home."""

    async def get(self, key: str, default: Json = None) -> Json:
        """The value of a key.

        Raises:
            StoreError: the file cannot be read, or is damaged. It stays as it is.
        """

    async def set(self, key: str, value: Json) -> None:
        """Keep a JSON value.

        Raises:
            StoreError: as `get` does; the key is empty or too long, the value is not JSON, or there is too much data.
        """

    async def delete(self, key: str) -> None:
        """Remove a key; nothing if there is none.

        Raises:
            StoreError: as `get` does.
        """

    async def keys(self) -> Sequence[str]:
        """All keys.

        Raises:
            StoreError: as `get` does.
        """
