"""The way of a process to models: one registry and one pool of connections, which conversations borrow."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kaa.ext.extensions import Extensions
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import Transport
from kaa.llm.models.registry import ModelRegistry
from kaa.shell.home import Home
from kaa.shell.settings import Settings

if TYPE_CHECKING:
    from kaa.ext.providers import RegisteredProvider


class ModelAccess:
    """Made with the first conversation, closed with the process.

    How requests travel (proxy, time limits of connections) stays as it was then, until the next start of kaa.

    Args:
        report: told, in a sentence, what is wrong with those.
    """

    def __init__(
        self, home: Home, environ: Mapping[str, str], extensions: Extensions, report: Callable[[str], None]
    ) -> None:
        self._home = home
        self._environ = environ
        self._extensions = extensions
        self._report = report
        self._provided: dict[str, RegisteredProvider] = {}
        extensions.subscribe(self._provide)
        self._registry: ModelRegistry | None = None
        self._transport: LiveTransport | None = None

    def registry(self, settings: Settings) -> ModelRegistry:
        """What models there are, asked as the settings say from now on."""
        if self._registry is None:
            self._registry = ModelRegistry(self._home.path, self._environ, settings.tuning, proxy=settings.http_proxy)
            self._provide()
        else:
            self._registry.reload()
            self._registry.tune(settings.tuning)
        return self._registry.borrowed()

    def _provide(self) -> None:
        """Let the registry know the providers that extensions have registered by now."""
        registered = {name: one for scope in self._extensions.scopes() for name, one in scope.providers.items()}
        if self._registry is None or registered == self._provided:
            return
        from kaa.shell.models.provided import provided  # lazy: few extensions add a provider

        self._provided = registered
        providers, problems = provided(registered)
        self._registry.provide(providers)
        for problem in problems:
            self._report(problem)

    def transport(self, settings: Settings) -> Transport:
        """Carries requests to servers. Closing it closes no connection."""
        if self._transport is None:
            self._transport = LiveTransport(
                idle_timeout=settings.http_idle_timeout_ms / 1000, proxy=settings.http_proxy
            )
        return _Borrowed(self._transport)

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.close()


class _Borrowed:
    """A transport that somebody else closes."""

    def __init__(self, transport: Transport) -> None:
        self.send = transport.send

    async def close(self) -> None:
        """Nothing: others use it."""
