"""Registers the settings of an extension."""

from typing import TypeVar

import msgspec

from kaa.ext.errors import RegistrationError
from kaa.ext.registration.base import Registrar

SettingsT = TypeVar("SettingsT", bound=msgspec.Struct)


class SettingsRegistrations(Registrar):
    """Settings."""

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
