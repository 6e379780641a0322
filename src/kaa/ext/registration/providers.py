"""Registers providers of models."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from kaa.core.messages import Json
from kaa.ext.errors import RegistrationError
from kaa.ext.providers import ProviderStream, RegisteredProvider
from kaa.ext.registration.base import Registrar, require_function

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

_StreamT = TypeVar("_StreamT", bound=ProviderStream)


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
