"""The data that extensions keep: files in the user's home, and entries of the session. JSON, and not too much of it."""

import asyncio
import math
import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import get_args

import msgspec

from kaa.core.messages import Json
from kaa.ext.conversation_session import ConversationSession
from kaa.ext.errors import CommandError
from kaa.ext.stores import Store, StoreError, StoreScope
from kaa.host.private_file import PrivateFile, PrivateFileError
from kaa.session.naming import folder_name
from kaa.shell.home import Home

_MOST_VALUE_BYTES = 256 * 1024
_MOST_FILE_BYTES = 4 * 1024 * 1024
_MOST_KEY_CHARACTERS = 256
# The kind of the entries that are the data of a session.
_ENTRY_KIND = "store"
# Of the name of a project in the name of its file; a hash tells projects apart.
_NAME_CHARACTERS = 80
_DEEPEST = 100


def open_store(extension: str, scope: StoreScope, session: ConversationSession, home: Home, project: str) -> Store:
    """The store of an extension.

    Args:
        extension: its name; it has no characters that mean anything in a path.

    Raises:
        StoreError: there is no such scope.
    """
    match scope:
        case "user":
            return UserFileStore(home.extension_data / extension / "user.json")
        case "project":
            digest = sha256(os.fsencode(project)).hexdigest()[:16]
            name = f"{folder_name(project)[:_NAME_CHARACTERS].strip('-')}-{digest}.json"
            return UserFileStore(home.extension_data / extension / "projects" / name)
        case "session":
            return EntryStore(session)
        case _:
            raise StoreError(f"there is no store {scope!r}: use {', '.join(get_args(StoreScope))}")


class UserFileStore:
    """Data in a file of the user's, which other processes of kaa may change too.

    Args:
        path: the file; neither it nor its folder need exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = PrivateFile(path)

    async def get(self, key: str, default: Json = None) -> Json:
        return (await asyncio.to_thread(self._values)).get(_key(key), default)

    async def set(self, key: str, value: Json) -> None:
        kept = _value(key, value)
        await asyncio.to_thread(self._change, lambda values: {**values, key: kept})

    async def delete(self, key: str) -> None:
        _key(key)
        await asyncio.to_thread(
            self._change, lambda values: {name: value for name, value in values.items() if name != key}
        )

    async def keys(self) -> Sequence[str]:
        return tuple(await asyncio.to_thread(self._values))

    def _values(self) -> dict[str, Json]:
        try:
            return self._decoded(self._file.read())
        except PrivateFileError as error:
            raise StoreError(str(error)) from error

    def _change(self, change: Callable[[dict[str, Json]], dict[str, Json]]) -> None:
        try:
            with self._file.rewriting() as content:
                before = self._decoded(content)
                after = change(before)
                encoded = msgspec.json.encode(after)
                if len(encoded) > max(_MOST_FILE_BYTES, len(content or b"")):
                    raise StoreError(
                        f"the data has {len(encoded):,} bytes: the limit of a store is {_MOST_FILE_BYTES:,}"
                    )
                self._file.replace(encoded)
        except PrivateFileError as error:
            raise StoreError(str(error)) from error

    def _decoded(self, content: bytes | None) -> dict[str, Json]:
        try:
            return msgspec.json.decode(content, type=dict[str, Json]) if content is not None else {}
        except msgspec.DecodeError as error:
            raise StoreError(
                f"{self._path} is damaged and stays as it is: {error}. Repair the file, or remove it to begin with no"
                " data"
            ) from error


class EntryStore:
    """Data in entries of the session: of several for one key the last on the branch counts."""

    def __init__(self, session: ConversationSession) -> None:
        self._session = session

    async def get(self, key: str, default: Json = None) -> Json:
        return self._values().get(_key(key), default)

    async def set(self, key: str, value: Json) -> None:
        self._append({"key": key, "value": _value(key, value)})

    async def delete(self, key: str) -> None:
        if _key(key) in self._values():
            self._append({"key": key})

    async def keys(self) -> Sequence[str]:
        return tuple(self._values())

    def _append(self, change: Json) -> None:
        try:
            self._session.append(change, _ENTRY_KIND)
        except CommandError as error:
            raise StoreError(str(error)) from error

    def _values(self) -> dict[str, Json]:
        values: dict[str, Json] = {}
        for entry in self._session.entries(_ENTRY_KIND):
            match entry.data:
                case {"key": str(key), "value": value}:
                    values[key] = value
                case {"key": str(key)}:
                    values.pop(key, None)
                case _:
                    continue  # of another version of the extension
        return values


def _key(key: object) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= _MOST_KEY_CHARACTERS:
        raise StoreError(f"invalid key {key!r:.80}: use a text of 1 to {_MOST_KEY_CHARACTERS} characters")
    return key


def _value(key: str, value: Json) -> Json:
    try:
        return msgspec.json.decode(as_json(value, _MOST_VALUE_BYTES, f"the value of {_key(key)!r}"))
    except CommandError as error:
        raise error if isinstance(error, StoreError) else StoreError(str(error)) from error


def as_json(value: Json, most_bytes: int, what: str) -> bytes:
    """A value of an extension, encoded.

    Args:
        value: should be a JSON value: None, a truth value, a number, a text, or lists and dicts with texts as keys.

    Raises:
        CommandError: it is something else, or too large.
    """
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        for one in level:
            if problem := _problem(one):
                raise CommandError(f"{what} is not JSON: {problem}")
        level = list(chain.from_iterable(one.values() if isinstance(one, dict) else one for one in _containers(level)))
        if not level:
            break
    else:
        raise CommandError(f"{what} is not JSON: it is nested more than {_DEEPEST} levels deep")
    try:
        encoded = msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError) as error:
        raise CommandError(f"{what} cannot be written as JSON: {error}") from error
    if len(encoded) > most_bytes:
        raise CommandError(f"{what} has {len(encoded):,} bytes: the limit is {most_bytes:,}")
    return encoded


def _containers(level: list[object]) -> list[dict[str, object] | list[object]]:
    return [list(one) if isinstance(one, tuple) else one for one in level if isinstance(one, dict | list | tuple)]


def _problem(value: object) -> str:
    match value:
        case float() if not math.isfinite(value):
            return f"{value} is no JSON number"
        case dict():
            wrong = next((key for key in value if not isinstance(key, str)), None)
            return "" if wrong is None else f"the key {wrong!r} is no text"
        case None | bool() | int() | float() | str() | list() | tuple():
            return ""
        case _:
            return f"{type(value).__name__} {value!r:.80} has no form in JSON"
