"""The user's settings.json as a flat list of settings, to list and to change (`/settings`)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from kaa.core.messages import Json
from kaa.ext.choices import SettingScope, UserSetting
from kaa.ext.errors import CommandError
from kaa.shell.acting.settings import SECTION, problem_of
from kaa.shell.acting.settings import listed as of_extension
from kaa.shell.preferences import SETTINGS, load_preferences
from kaa.shell.project_choices import PROJECT_SECTIONS, project_key
from kaa.shell.session_values import SessionValues
from kaa.shell.setting_values import valid_values, with_valid_values
from kaa.shell.settings import Settings, SettingsError, read_values
from kaa.shell.settings_file import SettingsFile


class UserSettings:
    """Implements `kaa.ext.choices.SessionSettings`.

    Args:
        directory: the project, absolute.
        reload: reads the file again, and says what that did.
        of_session: what is in force of approvals and the sandbox.
        of_extensions: what declares the settings of extensions, by the name of the extension.
    """

    def __init__(
        self,
        file: Path,
        directory: str,
        in_force: Callable[[], Settings],
        reload: Callable[[], Awaitable[str]],
        of_session: SessionValues,
        of_extensions: Mapping[str, type[msgspec.Struct]],
    ) -> None:
        self._file = file
        self._directory = directory
        self._in_force = in_force
        self._reload = reload
        self._of_session = of_session
        self._of_extensions = of_extensions

    def listed(self) -> tuple[UserSetting, ...]:
        """Settings of the terminal, then all others of kaa, then those of extensions."""
        preferences = load_preferences(str(self._file.parent)).preferences
        of_terminal = [
            UserSetting(
                one.key, _as_json(getattr(preferences, one.field)), tuple(map(_typed, one.offered)), one.description
            )
            for one in SETTINGS
        ]
        known = {one.key for one in of_terminal}
        known |= {"projects", SECTION}
        others = [one for one in _leaves(self._in_force(), "") if one.key not in known]
        configured = self._in_force().extension_settings
        for name, kind in self._of_extensions.items():
            others += of_extension(name, kind, configured.get(name, {}))
        return (*of_terminal, *map(self._placed, others))

    def check(self, key: str, text: str) -> None:
        self._setting(key)
        _value(key, text, self._problem)

    async def set(self, key: str, text: str, scope: SettingScope = "global") -> str:
        setting = self._setting(key)
        if scope == "project" and scope not in setting.scopes:
            raise CommandError(f"{key} cannot be set for one project: only approvals, the sandbox and extensions can")
        if scope not in setting.scopes:
            raise CommandError(f"{key} cannot be set for this session: set it for this project or for all")
        value = _value(key, text, self._problem)
        if scope == "session":
            told = await self._of_session.put_in_force(key, value, is_configured=False)
            return f"{key}: {_as_json(value)} (this session)\n{told}"
        place = key.split(".")
        try:
            if scope == "project":
                place = ["projects", await asyncio.to_thread(self._project_key), *place]
            changes: Json = value
            for part in reversed(place):
                changes = {part: changes}
            assert isinstance(changes, dict)
            await asyncio.to_thread(SettingsFile(self._file).set, changes)
        except SettingsError as error:
            raise CommandError(str(error)) from error
        where = f" (in {self._directory})" if scope == "project" else ""
        reloaded = await self._reload()
        return f"{key}: {_as_json(value)}{where}\n{await self._follow(setting, value) or reloaded}"

    def _setting(self, key: str) -> UserSetting:
        setting = next((one for one in self.listed() if one.key == key), None)
        if setting is None:
            raise CommandError(f"there is no setting {key!r}: /settings lists all")
        return setting

    async def _follow(self, setting: UserSetting, value: Json) -> str:
        """Put in force what the file says of a setting now. Returns what that did; empty if it is another's task."""
        if "session" not in setting.scopes or (configured := _configured(self._in_force(), setting.key)) is None:
            return ""
        told = []
        if configured != value and not isinstance(value, list):
            told.append(f"this project has its own value: {_as_json(configured)}")
        try:
            told.append(await self._of_session.put_in_force(setting.key, configured, is_configured=True))
        except CommandError as error:
            told.append(str(error))
        return "\n".join(told)

    def _placed(self, setting: UserSetting) -> UserSetting:
        """A setting with the value that this conversation has, and where that comes from."""
        section, _, name = setting.key.partition(".")
        if section not in PROJECT_SECTIONS:
            return setting
        source = "default"
        extension, _, name_there = name.partition(".")
        for place, held in self._sections(section):
            values = held.get(extension) if section == SECTION else held
            is_there = isinstance(values, dict) and (name_there if section == SECTION else name) in values
            source = place if is_there else source
        known = self._of_session.known()
        if setting.key not in known:
            return msgspec.structs.replace(setting, source=source, scopes=("global", "project"))
        if not self._of_session.is_configured(setting.key, _configured(self._in_force(), setting.key)):
            source = "this session"
        return msgspec.structs.replace(
            setting, value=_as_json(known[setting.key]), source=source, scopes=("global", "project", "session")
        )

    def _sections(self, section: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
        """What the file has in a section: for all projects, then for this one."""
        try:
            values = read_values(self._file)
        except SettingsError:  # whoever changes a setting is told
            return
        own = values.get("projects")
        own = own.get(project_key(values, self._directory)) if isinstance(own, dict) else None
        for place, held in (("all projects", values), ("this project", own)):
            found = held.get(section) if isinstance(held, dict) else None
            if isinstance(found, dict):
                yield place, found

    def _problem(self, key: str, value: Json) -> str:
        """Why a setting cannot have a value; empty if it can."""
        section, _, place = key.partition(".")
        extension, _, name = place.partition(".")
        if section == SECTION and extension in self._of_extensions:
            return problem_of(self._of_extensions[extension], {name: value}).partition(" - at ")[0]
        return _problem(key, value)

    def _project_key(self) -> str:
        return project_key(read_values(self._file), self._directory)


def _value(key: str, text: str, problem_of: Callable[[str, Json], str]) -> Json:
    """The value that a text means for a setting: as JSON, or else as it stands.

    Raises:
        CommandError: the setting cannot have it.
    """
    readings: list[Json] = []
    try:
        readings.append(msgspec.json.decode(text))
    except msgspec.DecodeError:
        readings.append({"yes": True, "no": False}.get(text, text))
        readings.append([part.strip() for part in text.split(",")])
    readings.append(text)
    problems: list[str] = []
    for reading in readings:
        if not (problem := problem_of(key, reading)):
            return reading
        problems.append(problem)
    raise CommandError(f"{key} cannot be {text}: {problems[0]}")


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


def _configured(settings: Settings, key: str) -> Json:
    """The value of a setting, as the file would have it."""
    held: Json = msgspec.json.decode(msgspec.json.encode(settings))
    for part in key.split("."):
        held = held[part] if isinstance(held, dict) else None
    return held


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
