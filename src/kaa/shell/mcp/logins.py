"""Logins at the MCP servers of a project: `kaa.mcp.oauth` with what the configuration says."""

import asyncio
from collections.abc import Mapping
from functools import partial

import msgspec

from kaa.host.log import LOG
from kaa.host.private_file import PrivateFileError
from kaa.llm.auth.errors import LoginError
from kaa.llm.http.live import LiveTransport
from kaa.mcp.oauth.bound import McpServerAuthorizer
from kaa.mcp.oauth.screen import McpLoginScreen
from kaa.mcp.oauth.settings import OAuthEntry
from kaa.mcp.oauth.tokens import McpAuthorizer, TokenStore, canonical
from kaa.shell.home import Home
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.variables import VariableError, filler
from kaa.shell.settings import load_user_settings

# Somebody waits for the answer.
_CONNECT_SECONDS = 10.0
_SILENCE_SECONDS = 30.0


class McpLogins:
    """The logins, in `mcp-auth.json` in kaa's home.

    Args:
        project: its directory, canonical.
        proxy: URL of the HTTP proxy of the user's settings; None for none.
    """

    def __init__(self, home: Home, environ: Mapping[str, str], project: str, proxy: str | None = None) -> None:
        self._home = home
        self._store = TokenStore(home.path / "mcp-auth.json")
        self._environ = environ
        self._project = project
        self._new_transport = partial(
            LiveTransport, connect_timeout=_CONNECT_SECONDS, idle_timeout=_SILENCE_SECONDS, proxy=proxy
        )

    @classmethod
    def of(cls, home: Home, environ: Mapping[str, str], project: str) -> "McpLogins":
        """Those of a user, over the proxy of his settings. Arguments as above.

        Raises:
            SettingsError: the user's settings have a mistake.
        """
        return cls(home, environ, project, load_user_settings(home.settings).http_proxy)

    def authorizer(self, server: ConfiguredServer) -> McpServerAuthorizer:
        """What lets kaa's requests in at a server with a URL.

        Raises:
            LoginError: the entry needs variables that it may not have.
        """
        url, settings = self._filled_in(server)
        if settings.grant_type == "authorization_code":
            return McpAuthorizer(url, self._store, self._new_transport)
        from kaa.mcp.oauth.machine import MachineAuthorizer  # lazy: few servers are for programs

        return MachineAuthorizer(url, settings, self._store, self._new_transport, users_own=_is_users_own(server))

    async def log_in(self, server: ConfiguredServer, screen: McpLoginScreen, challenge: str | None = None) -> None:
        """Log in to an approved server. Cancelling it ends the login.

        Args:
            screen: shows the address to open, and takes what is pasted.
            challenge: what the server said when it refused a request; None to ask it.

        Raises:
            LoginError: it failed.
            ProviderError: somebody cannot be reached, or must not be.
        """
        from kaa.mcp.oauth.login import UndescribedLoginError, log_in  # lazy: who is logged in needs no listener
        from kaa.shell.mcp.refusals import key_setting

        url, settings = self._filled_in(server)
        if any(name.lower() == "authorization" for name in server.entry.headers):
            raise LoginError(
                f"MCP server {server.name} has a header Authorization in {server.source.file}, which kaa sends instead"
                " of a login: remove the header first"
            )
        transport = self._new_transport()
        try:
            users_own = _is_users_own(server)
            if settings.grant_type != "authorization_code":
                from kaa.mcp.oauth.machine import log_in_alone  # lazy: as above

                own = {"users_own": users_own, "replaces": users_own}
                await log_in_alone(url, settings, self._store, transport, challenge=challenge, **own)
                return
            await log_in(url, settings, self._store, transport, screen, challenge=challenge, users_own=users_own)
        except UndescribedLoginError as error:
            raise LoginError(f"{error}. {key_setting(server)}") from error
        finally:
            await transport.close()

    async def note_missing(self, server: ConfiguredServer, scope: str) -> None:
        """Keep the scopes that a login at a server lacks, for the next login there, also by another kaa."""
        try:
            await asyncio.to_thread(self._store.lacks, self._filled_in(server)[0], scope)
        except (LoginError, PrivateFileError) as error:
            LOG.warning("mcp: the scopes that %s demands are not kept: %s", server.name, error)

    async def has(self, server: ConfiguredServer) -> bool:
        """Whether there is a login at a server, usable or not.

        Raises:
            LoginError: the file cannot be read.
        """
        return await asyncio.to_thread(self._store.has, self._filled_in(server)[0])

    def share(self, one: ConfiguredServer, other: ConfiguredServer) -> bool:
        """Whether two servers have the same login, because they have the same address."""
        try:
            first, second = (canonical(self._filled_in(server)[0]) for server in (one, other))
        except LoginError:
            return False
        return first == second

    async def log_out(self, server: ConfiguredServer) -> str | None:
        """Forget the login at a server, and have its tokens revoked.

        Returns:
            What became of the tokens, as a sentence; None if there was no login.

        Raises:
            LoginError: the file cannot be read or written.
        """
        from kaa.mcp.oauth.login import log_out  # lazy, like logging in

        url, _ = self._filled_in(server)
        try:
            return await log_out(url, self._store, self._new_transport)
        except PrivateFileError as error:
            raise LoginError(str(error)) from error

    def _filled_in(self, server: ConfiguredServer) -> tuple[str, OAuthEntry]:
        """Its URL and its settings, with their variables."""
        entry = server.entry
        if not entry.url:
            raise LoginError(f"MCP server {server.name} is a program on this machine: it has no login")
        fill = filler(server, self._home, self._environ, self._project)
        texts = {name: value for name, value in msgspec.structs.asdict(entry.oauth).items() if isinstance(value, str)}
        try:
            filled = {name: fill(value) for name, value in texts.items()}
            return fill(entry.url), msgspec.structs.replace(entry.oauth, **filled)
        except VariableError as error:
            raise LoginError(f"MCP server {server.name}: {error}") from error


def _is_users_own(server: ConfiguredServer) -> bool:
    return server.source.scope in ("user", "run")
