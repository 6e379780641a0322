"""The user's settings.json as a flat list of settings, to list and to change (`/settings`)."""

import asyncio
import types
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Literal, Union, get_args, get_origin

import msgspec

from kaa.core.messages import Json
from kaa.ext.choices import UserSetting
from kaa.ext.errors import CommandError
from kaa.shell.preferences import SETTINGS, load_preferences
from kaa.shell.settings import Settings, SettingsError
from kaa.shell.settings_file import SettingsFile


class UserSettings:
    """See `kaa.ext.choices.SessionSettings`.

    Args:
        file: the user's settings.json.
        in_force: gives the settings of the conversation.
        reload: reads the file again, and says what that did.
    """

    def __init__(self, file: Path, in_force: Callable[[], Settings], reload: Callable[[], Awaitable[str]]) -> None:
        self._file = file
        self._in_force = in_force
        self._reload = reload

    def listed(self) -> tuple[UserSetting, ...]:
        """Settings of the terminal, then all others."""
        preferences = load_preferences(str(self._file.parent)).preferences
        of_terminal = [
            UserSetting(
                one.key, _as_json(getattr(preferences, one.field)), tuple(map(_typed, one.offered)), one.description
            )
            for one in SETTINGS
        ]
        known = {one.key for one in of_terminal}
        others = (one for one in _leaves(self._in_force(), "") if one.key not in known)
        return (*of_terminal, *others)

    async def set(self, key: str, text: str) -> str:
        """See `kaa.ext.choices.SessionSettings.set`.

        Raises:
            CommandError: there is no such setting, it cannot have this value, or the file cannot be changed.
        """
        if all(one.key != key for one in self.listed()):
            raise CommandError(f"there is no setting {key!r}: /settings lists all")
        changes: Json = _value(key, text)
        value = _as_json(changes)
        for part in reversed(key.split(".")):
            changes = {part: changes}
        assert isinstance(changes, dict)
        try:
            await asyncio.to_thread(SettingsFile(self._file).set, changes)
        except SettingsError as error:
            raise CommandError(str(error)) from error
        return f"{key}: {value}\n{await self._reload()}"


def _value(key: str, text: str) -> Json:
    """The value that a text means for a setting: as JSON, or else as it stands.

    Raises:
        CommandError: the setting cannot have it.
    """
    readings: list[Json] = []
    try:
        readings.append(msgspec.json.decode(text))
    except msgspec.DecodeError:
        readings.append({"yes": True, "no": False}.get(text, text))
    readings.append(text)
    problem = ""
    for reading in readings:
        problem = _problem(key, reading)
        if not problem:
            return reading
    raise CommandError(f"{key} cannot be {text}: {problem}")


def _problem(key: str, value: Json) -> str:
    """Why a setting cannot have a value; empty if it can."""
    preference = next((one for one in SETTINGS if one.key == key), None)
    if preference is not None:
        return "" if preference.accepts(value) else f"it must be {preference.expectation()}"
    nested: Json = value
    for part in reversed(key.split(".")):
        nested = {part: nested}
    try:
        msgspec.convert(nested, Settings)
    except msgspec.ValidationError as error:
        return str(error).partition(" - at ")[0]
    return ""


def _leaves(value: object, prefix: str) -> Iterator[UserSetting]:
    """The settings in a struct, with their places in the file."""
    assert isinstance(value, msgspec.Struct)
    for field in msgspec.structs.fields(type(value)):
        key, held = f"{prefix}{field.encode_name}", getattr(value, field.name)
        if isinstance(held, msgspec.Struct):
            yield from _leaves(held, f"{key}.")
        else:
            yield UserSetting(key, _as_json(held), _allowed(field.type))


def _allowed(kind: object) -> tuple[str, ...]:
    """The values of a type that are few."""
    if kind is bool:
        return ("true", "false")
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(text for one in get_args(kind) for text in _allowed(one))
    return ()


def _typed(value: object) -> str:
    return value if isinstance(value, str) else _as_json(value)


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
