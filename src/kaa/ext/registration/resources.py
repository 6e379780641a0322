"""Registers sections of the prompt, providers of models, settings and themes."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, overload

import msgspec

from kaa.core.messages import Json
from kaa.ext.errors import RegistrationError
from kaa.ext.prompt_sections import PromptSection
from kaa.ext.providers import ProviderStream, RegisteredProvider
from kaa.ext.registration.base import Registrar, require_function

if TYPE_CHECKING:
    from kaa.ext.flags import FlagKind, FlagValue

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_StreamT = TypeVar("_StreamT", bound=ProviderStream)
PromptSectionT = TypeVar("PromptSectionT", bound=PromptSection)
_OPTION = re.compile(r"[a-z][a-z0-9-]*")
SettingsT = TypeVar("SettingsT", bound=msgspec.Struct)


class ProviderRegistrations(Registrar):
    """Providers of models."""

    def provider(self, name: str, entry: Mapping[str, Json]) -> Callable[[_StreamT], _StreamT]:
        """Decorate an async generator function that gets the replies of a provider's models.

        It gets the `Request` and a `ProviderAccess`, yields `StreamEvent`s and ends with `StreamDone`. Errors that kaa
        should tell apart are `ProviderError`s; after an `OSError` or a `NetworkError` kaa tries again. The generator is
        closed if the user stops the run.

        Args:
            name: of the provider; `name/model` names a model.
            entry: as in models.json: `models` with `id`, `contextWindow`, `maxTokens`, `cost` and so on; `apiKey` and
                `baseUrl` if there are any.

        Raises:
            RegistrationError: as `register_provider`.
        """

        def register(stream: _StreamT) -> _StreamT:
            self.register_provider(name, entry, stream)
            return stream

        return register

    def register_provider(self, name: str, entry: Mapping[str, Json], stream: ProviderStream | None = None) -> None:
        """Add a provider of models, at any time.

        What the user's models.json and kaa itself say of this name counts before it. A mistake in the entry is
        reported, and the provider is not there.

        Args:
            name: as for `provider`.
            entry: likewise; without `stream` it has `baseUrl` and `api`, one of the wire formats that kaa speaks.
            stream: gets the replies; None if kaa does.

        Raises:
            RegistrationError: the name is taken or invalid, or `stream` is not callable.
        """
        scope = self._open_scope()
        if not _NAME.fullmatch(name):
            raise RegistrationError(f"invalid provider name {name!r}: use 1 to 64 of a-z, 0-9, . _ and -")
        if name in scope.providers:
            raise RegistrationError(f"a provider named {name!r} is already registered")
        if stream is not None:
            require_function(stream)
        self._registrations.require_free(scope, "provider", name)
        scope.providers[name] = RegisteredProvider(scope.extension.path, dict(entry), stream)
        self._registrations.changed(scope)

    def unregister_provider(self, name: str) -> None:
        """Take back a provider of this extension. Conversations that use a model of it keep it until they switch.

        Raises:
            RegistrationError: this extension has no provider of this name.
        """
        scope = self._open_scope()
        if name not in scope.providers:
            raise RegistrationError(f"extension {scope.extension} has no provider named {name!r}")
        del scope.providers[name]
        self._registrations.changed(scope)


class PromptRegistrations(Registrar):
    """The system prompt."""

    @overload
    def add_prompt_section(self, name: str, section: PromptSectionT) -> PromptSectionT: ...

    @overload
    def add_prompt_section(self, name: str) -> Callable[[PromptSectionT], PromptSectionT]: ...

    def add_prompt_section(
        self, name: str, section: PromptSectionT | None = None
    ) -> PromptSectionT | Callable[[PromptSectionT], PromptSectionT]:
        """Add a section to the system prompt, or replace the section of this name. Without `section`, a decorator.

        `section` gets a `PromptContext` and returns a text, or None for nothing. It runs when kaa opens a conversation,
        and when extensions or their tools came or went; the new prompt is in force from the next run on. Sections
        appear in the order of registration. It has no time limit and must return at once. If it raises, kaa does not
        open the conversation, or keeps the prompt as it was.
        """

        def register(section: PromptSectionT) -> PromptSectionT:
            require_function(section)
            scope = self._open_scope()
            scope.sections[name] = section
            self._registrations.changed(scope)
            return section

        return register if section is None else register(section)


class ThemeRegistrations(Registrar):
    """Themes."""

    def add_themes(self, folder: str) -> None:
        """Add the themes of a folder, `NAME.json`, to those of the user and kaa, which take precedence.

        Args:
            folder: relative to the file that calls this.

        Raises:
            RegistrationError: there is no such folder.
        """
        scope = self._open_scope()
        file = sys._getframe(1).f_globals.get("__file__")
        path = os.path.join(os.path.dirname(os.path.abspath(file)) if isinstance(file, str) else "", folder)
        if not os.path.isabs(path) or not os.path.isdir(path):
            raise RegistrationError(f"no such folder of themes: {path}: name one relative to the extension's file")
        scope.theme_folders.append(os.path.normpath(path))
        self._registrations.changed(scope)


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
