"""The settings of extensions: values of settings.json below `extensionSettings`, by the classes that declare them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, TypeVar, get_args, get_origin

import msgspec

from kaa.core.messages import Json
from kaa.ext.choices import UserSetting
from kaa.ext.errors import CommandError
from kaa.shell.setting_values import valid_values, with_valid_values

SECTION = "extensionSettings"

SettingsT = TypeVar("SettingsT", bound=msgspec.Struct)


def converted(
    kind: type[SettingsT], extension: str, configured: Mapping[str, Mapping[str, Json]], file: Path
) -> SettingsT:
    """The settings of an extension.

    Raises:
        CommandError: a value or a key is wrong; the message names the file and the key.
    """
    values = configured.get(extension, {})
    if problem := problem_of(kind, values):
        raise CommandError(f"{file}: {problem.replace('`$', f'`$.{SECTION}.{extension}')}")
    return msgspec.convert(values, kind)


def problem_of(kind: type[msgspec.Struct], values: Mapping[str, Json]) -> str:
    """Why an extension cannot have these settings; empty if it can."""
    known = kind.__struct_encode_fields__
    if unknown := [key for key in values if key not in known]:
        return f"unknown setting {unknown[0]!r}: use {', '.join(known)} - at `$`"
    try:
        msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        return with_valid_values(error, kind)
    return ""


def listed(extension: str, kind: type[msgspec.Struct], values: Mapping[str, Json]) -> Iterator[UserSetting]:
    """The settings of an extension with the values in force, as `/settings` shows them."""
    for field in msgspec.structs.fields(kind):
        value = values.get(field.encode_name, field.default)
        if value is msgspec.NODEFAULT:
            value = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else None
        key = f"{SECTION}.{extension}.{field.encode_name}"
        yield UserSetting(
            key, msgspec.json.encode(value).decode(), valid_values(_bare(field.type)), _described(field.type)
        )


def _bare(kind: object) -> object:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _described(kind: object) -> str:
    notes = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((note.description for note in notes if isinstance(note, msgspec.Meta) and note.description), "")
