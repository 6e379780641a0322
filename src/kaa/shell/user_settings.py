"""The user's settings.json as a flat list of settings, to list and to change (`/settings`)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import msgspec

from kaa.core.messages import Json
from kaa.ext.choices import UserSetting
from kaa.ext.errors import CommandError
from kaa.shell.preferences import SETTINGS, load_preferences
from kaa.shell.project_choices import PROJECT_SECTIONS, project_key
from kaa.shell.setting_values import valid_values, with_valid_values
from kaa.shell.settings import Settings, SettingsError, read_values
from kaa.shell.settings_file import SettingsFile


class UserSettings:
    """See `kaa.ext.choices.SessionSettings`.

    Args:
        file: the user's settings.json.
        directory: the project, absolute.
        in_force: gives the settings of the conversation.
        reload: reads the file again, and says what that did.
    """

    def __init__(
        self, file: Path, directory: str, in_force: Callable[[], Settings], reload: Callable[[], Awaitable[str]]
    ) -> None:
        self._file = file
        self._directory = directory
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
        others = (one for one in _leaves(self._in_force(), "") if one.key not in known and one.key != "projects")
        return (*of_terminal, *others)

    def is_per_project(self, key: str) -> bool:
        """See `kaa.ext.choices.SessionSettings.is_per_project`."""
        return key.partition(".")[0] in PROJECT_SECTIONS

    async def set(self, key: str, text: str, *, for_project: bool = False) -> str:
        """See `kaa.ext.choices.SessionSettings.set`.

        Raises:
            CommandError: there is no such setting, it cannot have this value, or the file cannot be changed.
        """
        if all(one.key != key for one in self.listed()):
            raise CommandError(f"there is no setting {key!r}: /settings lists all")
        if for_project and not self.is_per_project(key):
            raise CommandError(f"{key} cannot be set for one project: only approvals and sandbox settings can")
        value = _value(key, text)
        place = key.split(".")
        try:
            if for_project:
                place = ["projects", await asyncio.to_thread(self._project_key), *place]
            changes: Json = value
            for part in reversed(place):
                changes = {part: changes}
            assert isinstance(changes, dict)
            await asyncio.to_thread(SettingsFile(self._file).set, changes)
        except SettingsError as error:
            raise CommandError(str(error)) from error
        where = f" (in {self._directory})" if for_project else ""
        return f"{key}: {_as_json(value)}{where}\n{await self._reload()}"

    def _project_key(self) -> str:
        return project_key(read_values(self._file), self._directory)


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
        return with_valid_values(error, Settings).partition(" - at ")[0]
    return ""


def _leaves(value: object, prefix: str) -> Iterator[UserSetting]:
    """The settings in a struct, with their places in the file."""
    assert isinstance(value, msgspec.Struct)
    for field in msgspec.structs.fields(type(value)):
        key, held = f"{prefix}{field.encode_name}", getattr(value, field.name)
        if isinstance(held, msgspec.Struct):
            yield from _leaves(held, f"{key}.")
        else:
            yield UserSetting(key, _as_json(held), valid_values(field.type))


def _typed(value: object) -> str:
    return value if isinstance(value, str) else _as_json(value)


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
