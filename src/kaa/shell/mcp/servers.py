"""Makes configured servers into such that can be started, and into an extension for the conversations of a project."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from kaa.builtin.mcp import mcp_extension
from kaa.builtin.mcp.host import ServerUnavailableError
from kaa.ext.asking import NOBODY, Asker
from kaa.ext.errors import ExtensionError
from kaa.ext.extensions import Extensions
from kaa.ext.places import ExtensionId
from kaa.ext.tools import Risk
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import Transport, host_of
from kaa.mcp.manifest import ToolInfo
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import Approvals
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.config.reading import configured
from kaa.shell.mcp.manifests import ServerManifests
from kaa.shell.mcp.offer import Offer
from kaa.shell.mcp.project_servers import ProjectServers
from kaa.shell.mcp.rights import permissions_of
from kaa.shell.mcp.server import Server
from kaa.shell.options import McpOptions
from kaa.shell.project_files import ServerFile
from kaa.shell.settings import load_user_settings
from kaa.workspace.sandbox.options import SandboxOptions

if TYPE_CHECKING:  # only where a server starts
    from kaa.mcp.connection import ServerConnection
    from kaa.shell.mcp.logins import McpLogins
    from kaa.shell.mcp.place import ServerPlace
    from kaa.shell.mcp.trusted_servers import TrustedServers

# Streams on which servers say something now and then. Who waits for an answer has a limit of their own.
_SILENCE_SECONDS = 3600.0


class Unlisted(msgspec.Struct, frozen=True):
    """Servers of a project that have not said yet what they offer."""

    root: str
    servers: tuple[ConfiguredServer, ...]
    sandbox: SandboxOptions


class ServerMaker:
    """Makes servers that can be started.

    Args:
        report: told, in a sentence, of what the user should know.
        is_full_access: whether the user chose to do without a sandbox.
        sandbox: gives the sandbox of a project's commands, by its directory.
        asker: asks the person of this process; servers that start by themselves do not.
    """

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        report: Callable[[str], None],
        is_full_access: Callable[[], bool],
        sandbox: Callable[[str], SandboxOptions],
        asker: Asker = NOBODY,
    ) -> None:
        self._home = home
        self._environ = environ
        self._report = report
        self._is_full_access = is_full_access
        self._sandbox = sandbox
        self._asker = asker
        self._approvals = Approvals(home)
        self._manifests = ServerManifests(home)
        self._told: set[str] = set()

    def servers(self, configured: Sequence[ConfiguredServer], root: str) -> ProjectServers:
        @cache
        def logins() -> "McpLogins":
            from kaa.shell.mcp.logins import McpLogins  # lazy: only servers at addresses have some

            return McpLogins.of(self._home, self._environ, root)

        return ProjectServers(
            lambda changed: [self._server(one, root, logins, changed) for one in configured], logins, self._report
        )

    def trusted(self, configured: Sequence[ConfiguredServer], root: str) -> "TrustedServers":
        """The servers that the question about trust in a project covers."""
        from kaa.shell.mcp.trusted_servers import TrustedServers  # lazy: projects are seldom asked about

        return TrustedServers(self._approvals, self._place(root), configured)

    def unlisted(self, servers: tuple[ConfiguredServer, ...], root: str) -> Unlisted:
        """Describe servers for a process of its own that lists them."""
        return Unlisted(root, servers, self._sandbox(root))

    async def close(self) -> None:
        """Close what the servers share. They are closed before."""
        if "_transport" in self.__dict__:
            await self._transport.close()

    @cached_property
    def _transport(self) -> Transport:
        proxy = load_user_settings(self._home.settings).http_proxy
        return LiveTransport(idle_timeout=_SILENCE_SECONDS, proxy=proxy)

    def _server(
        self, one: ConfiguredServer, root: str, logins: "Callable[[], McpLogins]", changed: Callable[[str], None]
    ) -> Server:
        def describe() -> str:
            from kaa.shell.mcp.describing import described  # lazy: only servers of a project are asked about

            return described(one, self._place(root))

        def executed() -> Mapping[str, str]:
            from kaa.shell.mcp.starting import code_to_admit  # lazy, as above: a start of kaa starts no server

            return code_to_admit(one, self._place(root))

        def is_like_a_command(code: Mapping[str, str]) -> bool:
            from kaa.shell.mcp import readable  # lazy, as above

            return readable.is_like_a_command(one, self._place(root), code)

        tell = partial(changed, one.name)
        executes = executed if one.entry.command else None
        risk = _risk(one, root)
        offer = Offer(
            one,
            self._approvals,
            self._manifests,
            describe,
            risk,
            tell,
            root,
            executes,
            is_like_a_command,
            lambda: self._asker.can_ask,
        )
        connect = partial(self._connection, one, root, logins, offer)

        async def lacks(scope: str) -> None:
            await logins().note_missing(one, scope)

        def forget_half() -> None:
            from kaa.shell.mcp.server_data import remove_installed  # lazy, as above
            from kaa.shell.mcp.starting import kept_folder

            with suppress(OSError):  # which the start says
                remove_installed(kept_folder(one, self._place(root).seen_by(one), offer.code))

        host, locks = self._host(one, root), self._home.cache / "mcp"
        return Server(one, root, offer, connect, tell, host=host, lacks=lacks, locks=locks, forget_half=forget_half)

    def _place(self, root: str) -> "ServerPlace":
        from kaa.shell.mcp.place import ServerPlace  # lazy: a start of kaa starts no server

        # Each start has a place of its own, and asks hundreds of times what commands can write.
        sandbox = cache(lambda: self._sandbox(root))
        return ServerPlace(self._home, self._environ, root, sandbox, self._report, self._is_full_access)

    def _host(self, one: ConfiguredServer, root: str) -> str:
        """Where a server is, for people."""
        url = one.entry.url
        if "${" in url:
            from kaa.shell.mcp.config.variables import VariableError, filler  # lazy: few addresses have variables

            with suppress(VariableError):  # which is said when it starts
                url = filler(one, self._home, self._environ, root)(url)
        return host_of(url)

    def _connection(
        self,
        one: ConfiguredServer,
        root: str,
        logins: "Callable[[], McpLogins]",
        offer: Offer,
        log: Callable[[str], None],
    ) -> "ServerConnection":
        from kaa.shell.mcp.config.variables import unset_in  # lazy: a start of kaa starts no server
        from kaa.shell.mcp.starting import start_program

        if unset := unset_in(one.entry.texts, self._environ):
            are = "which is not set" if len(unset) == 1 else "which are not set"
            log(said := f"MCP server {one.name} needs {', '.join(unset)}, {are}")
            if said not in self._told:
                self._told.add(said)
                self._report(said)
        place = self._place(root)
        if one.entry.url:
            from kaa.shell.mcp.reaching import connection_to  # lazy: many servers are programs

            return connection_to(one, place, self._transport, logins())
        from kaa.mcp.stdio import StdioConnection  # lazy, as above

        return StdioConnection(lambda: start_program(one, place, log, offer.code, is_approved=offer.is_code_approved))


_Configuration: TypeAlias = tuple[str, tuple[ServerFile, ...], tuple[int, int] | None]
"""What configures the servers of a project: its root, its files, and the version of the user's file."""


class McpServers:
    """The servers of each project, as an extension for its conversations.

    Args:
        extensions: where the servers are loaded, as an extension of kaa's own.
        report: told, in a sentence, of what the user should know.
        maker: makes the servers; it is closed with them.
    """

    def __init__(
        self,
        home: Home,
        options: McpOptions,
        extensions: Extensions,
        report: Callable[[str], None],
        maker: ServerMaker,
    ) -> None:
        self._home = home
        self._options = options
        self._extensions = extensions
        self._report = report
        self._maker = maker
        self._projects: dict[_Configuration, tuple[ExtensionId, ProjectServers]] = {}

    def of_project(self, root: str, files: Sequence[ServerFile]) -> tuple[ExtensionId, ProjectServers]:
        """The servers of a project, and the extension that they are for its conversations.

        Args:
            files: those that configure servers, as far as the user trusts them.
        """
        key = root, tuple(files), _version(self._home.path / "mcp.json")
        if key not in self._projects:
            found = configured(self._home, root, files, self._options.file)
            for notice in found.notices:
                self._report(notice)
            servers = self._maker.servers(found.servers, root)
            number = f"{len(self._projects)}" if self._projects else ""
            extension = ExtensionId.built_in(f"kaa.builtin.mcp{number}")
            self._extensions.load(extension, mcp_extension(servers), built_in=True, beside=())
            servers.begin()
            self._projects[key] = extension, servers
        return self._projects[key]

    def trusted(self, root: str, files: Sequence[ServerFile]) -> "TrustedServers":
        """The servers that the question about trust in a project covers.

        Args:
            files: those of the project that configure servers, as the question is about them.
        """
        return self._maker.trusted(configured(self._home, root, files, self._options.file).servers, root)

    async def require(self, root: str, files: Sequence[ServerFile]) -> None:
        """Wait for the required servers of a project, where nobody can be asked.

        Raises:
            ExtensionError: one does not start.
        """
        try:
            await self.of_project(root, files)[1].require()
        except ServerUnavailableError as error:
            raise ExtensionError(str(error)) from error

    async def unlisted(self, seconds: float) -> Sequence[Unlisted]:
        """Return what is still being listed for the first time after so many seconds, by project."""
        roots = [root for root, _, _ in self._projects]
        found = await asyncio.gather(*(servers.unlisted(seconds) for _, servers in self._projects.values()))
        return [self._maker.unlisted(left, root) for root, left in zip(roots, found, strict=True) if left]

    async def close(self) -> None:
        """End all servers."""
        for _, servers in self._projects.values():
            await servers.close()
        await self._maker.close()


def _version(file: Path) -> tuple[int, int] | None:
    """Changes when a file changes; None if it cannot be examined."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _risk(server: ConfiguredServer, project: str) -> Callable[[ToolInfo], Risk]:
    """What a tool may do at worst: what the server's sandbox permits, or anything where nothing confines it."""
    entry = server.entry
    if entry.command and entry.sandbox:
        confined = permissions_of(entry, project).risk
        return lambda _: confined

    def risk(tool: ToolInfo) -> Risk:
        believed = entry.approval == "never" or (entry.approval == "writes" and tool.hints.read_only)
        return "granted" if believed else "outside"

    return risk
