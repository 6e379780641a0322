"""The servers of a project, for all of its conversations: `kaa.builtin.mcp.host.McpHost`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kaa.builtin.mcp.host import ServerSession, ServerUnavailableError, ServerView
from kaa.core.errors import ProviderError
from kaa.ext.asking import NOBODY, Asker
from kaa.host.log import LOG
from kaa.host.tasks import Tasks
from kaa.llm.auth.errors import LoginError
from kaa.shell.mcp.approvals import ApprovalRecordsError
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.server import Server

if TYPE_CHECKING:
    from kaa.shell.mcp.logins import McpLogins

# Servers that kaa has never seen are started once to learn what they offer.
_LEARNING_AT_ONCE = 2


class ProjectServers:
    """See `kaa.builtin.mcp.host.McpHost`: the servers of one project, for all of its conversations.

    Args:
        servers: makes the servers, given what is to be told of their changes.
        report: told, in a sentence, of what the user should know.
    """

    def __init__(
        self,
        servers: Callable[[Callable[[str], None]], Sequence[Server]],
        logins: "Callable[[], McpLogins]",
        report: Callable[[str], None],
    ) -> None:
        self._logins = logins
        self._report = report
        self._locked: set[str] = set()  # servers that want a login, as the user knows
        self._observers: list[Callable[[str], None]] = []
        self._servers = {server.name: server for server in servers(self._changed)}
        self._tasks = Tasks()
        self._learning = asyncio.Semaphore(_LEARNING_AT_ONCE)
        self._unlisted: dict[str, asyncio.Task[None]] = {}  # what lists servers that were never listed

    def begin(self) -> None:
        """Start what starts with kaa, and learn what servers offer that were never listed. In the background."""
        for server in self._servers.values():
            lifecycle = server.configured.entry.lifecycle
            if not server.offer.may_start:
                continue
            if lifecycle == "keep-alive":
                _ = self._tasks.begin(server.keep_alive())
            elif server.offer.manifest is None:
                self._unlisted[server.name] = self._tasks.begin(self._learn(server))
            elif lifecycle == "eager":
                _ = self._tasks.begin(self._learn(server))

    async def unlisted(self, seconds: float) -> tuple[ConfiguredServer, ...]:
        """Return the servers that are still being listed for the first time after so many seconds."""
        if not self._unlisted:
            return ()
        _, pending = await asyncio.wait(self._unlisted.values(), timeout=seconds)
        return tuple(self._servers[name].configured for name, task in self._unlisted.items() if task in pending)

    async def require(self) -> None:
        """Wait until the servers run that are required.

        Raises:
            ServerUnavailableError: one does not start.
        """
        for server in self._servers.values():
            if server.configured.entry.required:
                try:
                    await server.offer.approve(NOBODY)
                    await server.started()
                except ServerUnavailableError as error:
                    where = server.configured.source.file
                    raise ServerUnavailableError(f"{error}. It is required in {where}") from error

    def server(self, name: str) -> Server:
        """A server.

        Raises:
            ServerUnavailableError: there is none of this name.
        """
        if (found := self._servers.get(name)) is None:
            names = ", ".join(self._servers) or "none"
            raise ServerUnavailableError(f"There is no MCP server {name!r}. Configured: {names}")
        return found

    @property
    def configured(self) -> tuple[ConfiguredServer, ...]:
        """The servers as they are configured."""
        return tuple(server.configured for server in self._servers.values())

    def servers(self) -> tuple[ServerView, ...]:
        return tuple(server.view() for server in self._servers.values())

    async def session(
        self, name: str, asker: Asker, tell: Callable[[str], object] | None = None, *, renewed: bool = False
    ) -> ServerSession:
        server = self.server(name)
        await server.offer.approve(asker)
        if renewed:
            await server.renew(asker)
        if expected := server.first_start:
            from kaa.shell.mcp.following import followed  # lazy: servers start once for the first time

            self._report(expected)
            _ = await followed(server, tell or (lambda _: None), asker)
        _ = await server.started(asker)
        return ServerSession(server.used, server.view)

    def prewarm(self, name: str) -> None:
        server = self._servers.get(name)
        if server is not None and server.offer.may_start and server.is_confined:
            _ = self._tasks.begin(_quietly(server))

    def observe(self, changed: Callable[[str], None]) -> Callable[[], None]:
        self._observers.append(changed)
        return lambda: self._observers.remove(changed)

    async def log_in(self, name: str, asker: Asker) -> None:
        server = self.server(name)
        await server.offer.approve(asker)
        if not asker.can_ask:
            raise ServerUnavailableError(f"Nobody can be asked to log in here: `kaa mcp login {name}` logs in")
        from kaa.shell.mcp.asked_login import AskedLoginScreen  # lazy: people log in seldom

        try:
            await self._logins().log_in(server.configured, AskedLoginScreen(asker, name), server.challenge)
        except (LoginError, ProviderError) as error:
            raise ServerUnavailableError(f"The login to MCP server {name} failed: {error}") from error
        server.logged_in()
        _ = self._tasks.begin(self._learn(server))

    def tell_of_login(self, name: str) -> None:
        if name not in self._locked and (server := self._servers.get(name)) is not None and server.login_needed:
            self._locked.add(name)
            self._report(server.login_needed)

    def log(self, name: str) -> tuple[str, ...]:
        return tuple(self.server(name).log)

    def changes(self, name: str) -> Mapping[str, str]:
        return self.server(name).offer.changes

    def accept(self, name: str, shown: Mapping[str, str]) -> None:
        try:
            self.server(name).offer.accept_changes(shown)
        except ApprovalRecordsError as error:
            raise ServerUnavailableError(str(error)) from error

    async def close(self) -> None:
        """End all servers."""
        ends = [server.end() for server in self._servers.values()]
        await asyncio.gather(self._tasks.end(), *ends, return_exceptions=True)

    async def _learn(self, server: Server) -> None:
        async with self._learning:
            await _quietly(server)

    def _changed(self, name: str) -> None:
        if not self._servers[name].login_needed:
            self._locked.discard(name)
        for observer in tuple(self._observers):
            observer(name)


async def _quietly(server: Server) -> None:
    try:
        await server.started()
    except ServerUnavailableError as error:
        LOG.info("mcp: %s", error)
