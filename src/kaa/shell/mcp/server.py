"""The life of one server: started when it is needed, ended when it is idle, tried again after failures."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import msgspec

from kaa.builtin.mcp.host import ServerState, ServerUnavailableError, ServerView
from kaa.ext.asking import Asker, NobodyToAskError, confirm
from kaa.ext.tools import Risk
from kaa.host.log import LOG
from kaa.host.tasks import Tasks
from kaa.mcp.errors import LegacyNeededError, LoginNeededError, McpError
from kaa.mcp.manifest import Era, Manifest, ToolInfo
from kaa.shell.mcp.approvals import ApprovalRecordsError, Approvals
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.manifests import Manifests

if TYPE_CHECKING:  # only where a server starts
    from kaa.mcp.client import McpClient
    from kaa.mcp.connection import Connection
    from kaa.mcp.contents import LogLine

AnswerT = TypeVar("AnswerT")

Connect: TypeAlias = Callable[[Callable[[str], None]], "Connection"]
"""Makes a connection to an approved server, given what logs a line that the server prints."""

_LOG_LINES = 200


class Timing(msgspec.Struct, frozen=True):
    """How soon a server that failed is tried again, in seconds.

    Attributes:
        retry: between the model's attempts to use a server that did not start.
        pauses: before a server that is kept alive starts again, after each failure in turn; the last one stays.
        stable: how long it must run for earlier failures to be forgotten.
    """

    retry: float = 5
    pauses: tuple[float, ...] = (1, 2, 4, 8, 16, 32, 60)
    stable: float = 60


AS_USUAL = Timing()


class Server:
    """One server of a project.

    Args:
        configured: the server.
        project: the directory of the project.
        approvals: what the user approved.
        manifests: what servers offered.
        connect: makes connections.
        changed: told that its view changed.
        describe: says what it is and may do, for the question before a server of a project starts, in lines.
        risk: gives the risk of a tool, from the server's rights and the tool's hints.
        timing: how soon it is tried again.
    """

    def __init__(
        self,
        configured: ConfiguredServer,
        project: str,
        approvals: Approvals,
        manifests: Manifests,
        connect: Connect,
        changed: Callable[[str], None],
        describe: Callable[[], str],
        risk: Callable[[ToolInfo], Risk],
        timing: Timing = AS_USUAL,
    ) -> None:
        self.configured = configured
        self.log: deque[str] = deque(maxlen=_LOG_LINES)
        self._project = project
        self._approvals = approvals
        self._manifests = manifests
        self._connect = connect
        self._changed = changed
        self._describe = describe
        self._risk = risk
        self._timing = timing
        self._lock = asyncio.Lock()
        self._client: McpClient | None = None
        self._uses = 0
        self._idle: asyncio.TimerHandle | None = None
        self._tasks = Tasks()
        self._over = asyncio.Event()
        self._starting = False
        self._reason = ""
        self._tried = float("-inf")
        self._challenge: str | None = None
        self._needs_login = False
        self._declined = False
        self._approved = _safely(approvals.is_approved, configured)
        self._manifest = manifests.read(configured) if self._approved else None
        self._wanted: tuple[Manifest, Manifest, Mapping[str, Risk]] | None = None  # a manifest, and what of it is used
        self._held: Mapping[str, str] = self._changes()

    @property
    def name(self) -> str:
        """Its name."""
        return self.configured.name

    @property
    def is_known(self) -> bool:
        """Whether it is known what it offers."""
        return self._manifest is not None

    @property
    def may_start(self) -> bool:
        """Whether it can start without a question."""
        return self._approved and self.configured.entry.enabled

    @property
    def login_needed(self) -> str:
        """Why it cannot be used without a login, and what to do; empty if it can."""
        return self._reason if self._needs_login else ""

    @property
    def challenge(self) -> str | None:
        """What it said when it last refused a request for want of a login; None if it did not since the last one."""
        return self._challenge

    def logged_in(self) -> None:
        """The user has logged in: it can be started again at once."""
        self._challenge = None
        self._needs_login, self._reason = False, ""
        self._tell()

    def view(self) -> ServerView:
        """See `McpHost.servers`."""
        entry = self.configured.entry
        manifest, risks = self._used_manifest()
        return ServerView(
            name=self.name,
            state=self._state(),
            description=entry.description or (manifest.server.title if manifest is not None else ""),
            reason=self._reason,
            manifest=manifest,
            exposure=entry.exposure,
            tool_exposure=entry.tool_exposure,
            risks=risks,
            held={name: _held_sentence(self.name, name) for name in self._held},
            source=self.configured.source.file,
            patience=entry.timeout_seconds,
            sees_project=self._sees_project(),
            samples=self._may_sample(),
        )

    def changes(self) -> Mapping[str, str]:
        """How the tools changed that are held back, by name."""
        return self._held

    def accept_changes(self) -> None:
        """The user has seen how the server changed, and accepts it.

        Raises:
            ApprovalRecordsError: that cannot be kept.
        """
        if self._manifest is not None:
            self._approvals.accept(self.configured, self._manifest)
            self._held = {}
            self._tell()

    async def approve(self, asker: Asker) -> None:
        """Ask whether the server may start, unless that was answered.

        Raises:
            ServerUnavailableError: it may not.
        """
        if not self.configured.entry.enabled:
            raise ServerUnavailableError(f"MCP server {self.name} is disabled in {self.configured.source.file}")
        if self._approved:
            return
        if _safely(self._approvals.is_approved, self.configured):  # by `kaa mcp approve` meanwhile
            self._approved, self._declined = True, False
            self._manifest = self._manifests.read(self.configured)
            self._tell()
            return
        how = f"`kaa mcp approve {self.name}` approves it"
        if self._declined:
            raise ServerUnavailableError(f"MCP server {self.name} is not started: you declined it. {how}")
        try:
            changed = _safely(self._approvals.was_approved, self.configured)
            again = ", which was configured anew since you approved it" if changed else ""
            title = f"Start MCP server {self.name} of this project{again}?"
            yes = await confirm(asker, title, self._describe())
        except NobodyToAskError as error:
            raise ServerUnavailableError(
                f"MCP server {self.name} is not started: {self.configured.source.file} is the project's, and you have"
                f" not approved it. {how}"
            ) from error
        if not yes:
            self._declined = True
            raise ServerUnavailableError(f"MCP server {self.name} is not started: you declined it. {how}")
        try:
            self._approvals.approve(self.configured)
        except ApprovalRecordsError as error:
            raise ServerUnavailableError(str(error)) from error
        self._approved = True
        self._manifest = self._manifests.read(self.configured)
        self._tell()

    async def started(self) -> "McpClient":
        """The server, running.

        Raises:
            ServerUnavailableError: it does not start.
        """
        async with self._lock:
            if self._client is not None:
                return self._client
            loop = asyncio.get_running_loop()
            if self._reason and loop.time() < self._tried + self._timing.retry:
                raise ServerUnavailableError(self._reason)
            self._starting = True
            self._tell()
            try:
                self._client = client = await self._connected()
                self._over.clear()
            finally:
                self._starting = False
                self._tried = loop.time()
                self._tell()
            self._learn(client.manifest)
            self._rest()
            self._tell()  # what it offers is known now
            return client

    @asynccontextmanager
    async def used(self) -> "AsyncIterator[McpClient]":
        """The server for one request: it does not end meanwhile.

        Raises:
            ServerUnavailableError: it does not start.
        """
        self._uses += 1
        self._rest()
        try:
            client = await self.started()
            self._tell()
            try:
                yield client
            except LegacyNeededError as error:
                await self._begin_anew()
                how = "kaa talks to this server in the older way from now on: call the tool again"
                raise McpError(f"{error}. {how}") from error
            except LoginNeededError as error:
                raise await self._locked_out(error) from error
        finally:
            self._uses -= 1
            self._rest()
            self._tell()

    async def keep_alive(self) -> None:
        """Start it, and start it again whenever it ends."""
        loop, failures = asyncio.get_running_loop(), 0
        while True:
            began = loop.time()
            try:
                await self.started()
                await self._over.wait()
            except ServerUnavailableError as error:
                LOG.info("mcp: %s", error)
            if loop.time() - began >= self._timing.stable:
                failures = 0
            await asyncio.sleep(self._timing.pauses[min(failures, len(self._timing.pauses) - 1)])
            failures += 1

    async def end(self) -> None:
        """End it; the next use starts it again."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        client, self._client = self._client, None
        self._over.set()
        if client is not None:
            await client.close()
            self._tell()

    def changed(self, manifest: Manifest) -> None:
        """See `ServerObserver`."""
        self._learn(manifest)
        self._tell()

    def logged(self, line: "LogLine") -> None:
        """See `ServerObserver`."""
        self.log.append(f"{line.level}: {line.text}")

    def ended(self, reason: str) -> None:
        """See `ServerObserver`."""
        LOG.info("mcp: server %s ended: %s", self.name, reason)
        self.log.append(reason)
        self._reason, self._tried = f"MCP server {self.name} ended: {reason}", float("-inf")
        client, self._client = self._client, None
        self._over.set()
        if client is not None:
            _ = self._tasks.begin(client.close())
        self._tell()

    async def _connected(self) -> "McpClient":
        from kaa.mcp.client import McpClient  # lazy: a start of kaa starts no server
        from kaa.mcp.questions import ServerQuestions

        entry = self.configured.entry
        self._needs_login = False
        earlier = tuple(self.log)

        def connection() -> "Connection":
            """A second one replaces what the first one printed: mostly the same."""
            self.log.clear()
            self.log.extend(earlier)
            return self._connect(self.log.append)

        try:
            client = await McpClient.connect(
                connection,
                ServerQuestions(self._project if self._sees_project() else "", samples=self._may_sample()),
                self,
                eras=self._eras(),
                patience=entry.startup_timeout_seconds,
            )
        except LoginNeededError as error:
            raise ServerUnavailableError(str(await self._locked_out(error))) from error
        except McpError as error:
            self._reason = f"MCP server {self.name} did not start: {error}"
            raise ServerUnavailableError(self._reason) from error
        self._reason = ""
        return client

    async def _locked_out(self, refusal: LoginNeededError) -> McpError:
        """Note that the server wants a login. Returns what to say."""
        from kaa.mcp.oauth.challenge import parse_challenge  # lazy: few servers do
        from kaa.shell.mcp.refusals import has_key, refused

        self._challenge = refusal.challenge
        challenge = parse_challenge(refusal.challenge)
        reason = refused(self.configured, challenge)
        if not challenge.wants_more:  # else everything else works
            self._needs_login, self._reason = not has_key(self.configured), reason
            await self.end()
            self._tell()
        return McpError(reason)

    def _eras(self) -> Sequence[Era]:
        entry = self.configured.entry
        if entry.protocol == "legacy":
            return ("legacy",)
        if entry.protocol != "auto":
            return ("modern",)
        if self._manifest is not None:
            return ("legacy", "modern") if self._manifest.era == "legacy" else ("modern", "legacy")
        return ("legacy", "modern") if entry.command else ("modern", "legacy")

    async def _begin_anew(self) -> None:
        """Talk to it in the older way from now on."""
        if self._manifest is not None:
            self._manifest = msgspec.structs.replace(self._manifest, era="legacy")
            self._manifests.write(self.configured, self._manifest)
        await self.end()

    def _learn(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._manifests.write(self.configured, manifest)
        self._held = self._changes()
        for problem in manifest.left_out:
            self.log.append(problem)

    def _changes(self) -> Mapping[str, str]:
        if self._manifest is None:
            return {}
        try:
            return self._approvals.held(self.configured, self._manifest)
        except ApprovalRecordsError as error:
            return {tool.name: str(error) for tool in self._manifest.tools}

    def _used_manifest(self) -> tuple[Manifest | None, Mapping[str, Risk]]:
        """What it offers, as far as the entry wants it, and the risks of its tools: the same until it changes."""
        if self._manifest is None:
            return None, {}
        if self._wanted is None or self._wanted[0] is not self._manifest:
            used = self._chosen_of(self._manifest)
            self._wanted = self._manifest, used, {one.name: self._risk(one) for one in used.tools}
        return self._wanted[1:]

    def _chosen_of(self, manifest: Manifest) -> Manifest:
        entry = self.configured.entry
        if not (entry.tools or entry.exclude_tools):
            return manifest
        from fnmatch import fnmatchcase

        def wanted(name: str) -> bool:
            chosen = not entry.tools or any(fnmatchcase(name, one) for one in entry.tools)
            return chosen and not any(fnmatchcase(name, one) for one in entry.exclude_tools)

        return msgspec.structs.replace(manifest, tools=tuple(one for one in manifest.tools if wanted(one.name)))

    def _state(self) -> ServerState:
        if not self.configured.entry.enabled:
            return "disabled"
        if not self._approved:
            return "not approved"
        if self._client is not None:
            return "in use" if self._uses else "started"
        if self._starting:
            return "starting"
        if self._needs_login:
            return "needs login"
        if self._reason:
            return "failed"
        return "known" if self._manifest is not None else "configured"

    def _rest(self) -> None:
        """Let it end after a while without a use."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if self._client is not None and not self._uses and self.configured.entry.lifecycle != "keep-alive":
            seconds = self.configured.entry.idle_minutes * 60
            self._idle = asyncio.get_running_loop().call_later(seconds, lambda: self._tasks.begin(self.end()))

    def _may_sample(self) -> bool:
        permissions = self.configured.entry.permissions
        return permissions is not None and permissions.models

    def _sees_project(self) -> bool:
        permissions = self.configured.entry.permissions
        return bool(self.configured.entry.command) and (permissions is None or permissions.project != "none")

    def _tell(self) -> None:
        self._changed(self.name)


def _held_sentence(server: str, tool: str) -> str:
    return (
        f"The tool {tool} of MCP server {server} changed since it was accepted, and is held back: the user can see how"
        f" with `/mcp changes {server}`, and accept it"
    )


def _safely(ask: Callable[[ConfiguredServer], bool], server: ConfiguredServer) -> bool:
    """False where the record cannot be read: nothing is approved then."""
    try:
        return ask(server)
    except ApprovalRecordsError as error:
        LOG.warning("mcp: %s", error)
        return False
