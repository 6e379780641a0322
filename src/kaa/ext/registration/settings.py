"""Registers the settings of an extension, and its options of the command line."""

import re
from typing import TYPE_CHECKING, TypeVar

import msgspec

from kaa.ext.errors import RegistrationError
from kaa.ext.registration.base import Registrar

if TYPE_CHECKING:
    from kaa.ext.flags import FlagKind, FlagValue

_OPTION = re.compile(r"[a-z][a-z0-9-]*")

SettingsT = TypeVar("SettingsT", bound=msgspec.Struct)


class SettingsRegistrations(Registrar):
    """Settings and options."""

    def settings(self, kind: type[SettingsT]) -> type[SettingsT]:
        """Declare the settings of the extension: the fields of a `msgspec.Struct`, each with a default. A decorator.

        The values are below `extensionSettings.NAME` in settings.json, and `/settings` shows and changes them.
        `context.settings(kind)` reads them.

        Raises:
            RegistrationError: `kind` is no such class, or the extension has declared settings already.
        """
        scope = self._open_scope()
        declared: object = kind
        if not (isinstance(declared, type) and issubclass(declared, msgspec.Struct)):
            raise RegistrationError(f"invalid settings {kind!r}: use a subclass of msgspec.Struct")
        if required := [field.encode_name for field in msgspec.structs.fields(kind) if field.required]:
            raise RegistrationError(f"the settings {kind.__name__} need a default for {', '.join(required)}")
        if scope.settings is not None:
            raise RegistrationError("the extension has declared settings already: use one class for all")
        scope.settings = kind
        return kind

    def flag(self, name: str, description: str, kind: "FlagKind" = bool, default: "FlagValue | None" = None) -> None:
        """Add an option to the command line of kaa: `--name`, or `--name=VALUE` for other types than bool.

        Call it in `extend`. `context.flag(name)` reads the value. kaa's own options take precedence.

        Args:
            name: without the dashes.
            description: one line.
            kind: bool, str, int or float.
            default: the value without the option; for bool it is False.

        Raises:
            RegistrationError: the name or the type is invalid, or the extension has such an option already.
        """
        from kaa.ext.flags import FLAG_KINDS, Flag  # lazy: few extensions have options

        scope = self._open_scope()
        if not _OPTION.fullmatch(name):
            raise RegistrationError(f"invalid option name {name!r}: use lower-case letters, digits and -")
        if kind not in FLAG_KINDS:
            raise RegistrationError(f"invalid type {kind!r} of --{name}: use bool, str, int or float")
        if name in scope.flags:
            raise RegistrationError(f"an option --{name} is already registered")
        scope.flags[name] = Flag(name, description, kind, False if kind is bool and default is None else default)
