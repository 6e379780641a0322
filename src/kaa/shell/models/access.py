"""The way of a process to models: one registry and one pool of connections, which conversations borrow."""

from collections.abc import Mapping

from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import Transport
from kaa.llm.models.registry import ModelRegistry
from kaa.shell.home import Home
from kaa.shell.settings import Settings


class ModelAccess:
    """Made with the first conversation, closed with the process.

    How requests travel (proxy, time limits of connections) stays as it was then, until the next start of kaa.

    Args:
        home: has models.json and auth.json.
        environ: the user's environment variables.
    """

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._home = home
        self._environ = environ
        self._registry: ModelRegistry | None = None
        self._transport: LiveTransport | None = None

    def registry(self, settings: Settings) -> ModelRegistry:
        """What models there are, asked as the settings say from now on."""
        if self._registry is None:
            self._registry = ModelRegistry(self._home.path, self._environ, settings.tuning, proxy=settings.http_proxy)
        else:
            self._registry.reload()
            self._registry.tune(settings.tuning)
        return self._registry.borrowed()

    def transport(self, settings: Settings) -> Transport:
        """Carries requests to servers. Closing it closes no connection."""
        if self._transport is None:
            self._transport = LiveTransport(
                idle_timeout=settings.http_idle_timeout_ms / 1000, proxy=settings.http_proxy
            )
        return _Borrowed(self._transport)

    async def close(self) -> None:
        """Close all connections."""
        if self._transport is not None:
            await self._transport.close()


class _Borrowed:
    """A transport that somebody else closes."""

    def __init__(self, transport: Transport) -> None:
        self.send = transport.send

    async def close(self) -> None:
        """Nothing: others use it."""
