"""The life of one server: started when it is needed, ended when it is idle, tried again after failures."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import msgspec

from kaa.builtin.mcp.host import ServerState, ServerUnavailableError, ServerView
from kaa.ext.asking import NOBODY, Asker
from kaa.host.log import LOG
from kaa.host.tasks import Tasks
from kaa.mcp.errors import LegacyNeededError, LoginNeededError, McpError, NoAnswerError
from kaa.mcp.manifest import Era, ServerManifest
from kaa.shell.mcp.config.entry import ConfiguredServer
from kaa.shell.mcp.offer import Offer
from kaa.shell.mcp.rights import permissions_of, runner_of

if TYPE_CHECKING:  # only where a server starts
    from kaa.mcp.client import McpClient
    from kaa.mcp.connection import ServerConnection
    from kaa.mcp.contents import LogLine
    from kaa.shell.mcp.first_start import FirstStart

AnswerT = TypeVar("AnswerT")

Connect: TypeAlias = Callable[[Callable[[str], None]], "ServerConnection"]
"""Makes a connection to an approved server, given what logs a line that the server prints."""

_LOG_LINES = 200
# How long a start may take where the entry does not say: npm needs half a minute for a small server on a busy machine.
_START_SECONDS, _DOWNLOAD_SECONDS = 30.0, 120.0


class RetryTiming(msgspec.Struct, frozen=True):
    """How soon a server that failed is tried again, in seconds.

    Attributes:
        retry: between the model's attempts to use a server that did not start.
        pauses: before a server that is kept alive starts again, after each failure in turn; the last one stays.
        stable: how long it must run for earlier failures to be forgotten.
    """

    retry: float = 5
    pauses: tuple[float, ...] = (1, 2, 4, 8, 16, 32, 60)
    stable: float = 60


AS_USUAL = RetryTiming()


class Server:
    """One server of a project.

    Args:
        offer: what it offers, and whether it is approved.
        host: where it is; empty for a program on this machine.
        lacks: keeps the scopes that the login there lacks.
        locks: the folder of the locks for first starts; None for none.
        forget_half: removes what a package runner may have installed by half. Blocks.

    Attributes:
        log: the last lines that it logged or printed.
    """

    def __init__(
        self,
        configured: ConfiguredServer,
        project: str,
        offer: Offer,
        connect: Connect,
        changed: Callable[[], None],
        timing: RetryTiming = AS_USUAL,
        host: str = "",
        lacks: Callable[[str], Awaitable[None]] | None = None,
        locks: Path | None = None,
        forget_half: Callable[[], None] = lambda: None,
    ) -> None:
        self.configured = configured
        self.offer = offer
        self.log: deque[str] = deque(maxlen=_LOG_LINES)
        self._project = project
        self._connect = connect
        self._tell = changed
        self._host = host
        self._lacks = lacks
        self._locks = locks
        self._forget_half = forget_half
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
        self._logins = 0
        entry = configured.entry
        can_write = not entry.sandbox or permissions_of(entry, project).project == "write"
        self._may_write = bool(entry.command) and can_write

    @property
    def name(self) -> str:
        return self.configured.name

    @property
    def is_confined(self) -> bool:
        """Whether it is no program that runs without a sandbox: such a one starts when the call of its tool may run."""
        return self.configured.entry.sandbox or not self.configured.entry.command

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
        self._logins += 1
        self._challenge = None
        self._needs_login, self._reason = False, ""
        self._tell()

    def view(self) -> ServerView:
        entry = self.configured.entry
        manifest, risks = self.offer.used()
        return ServerView(
            name=self.name,
            state=self._state(),
            description=entry.description or (manifest.server.title if manifest is not None else ""),
            reason=self._reason,
            manifest=manifest,
            exposure=entry.exposure,
            tool_exposure=entry.tool_exposure,
            risks=risks,
            held={name: self.offer.fault or _held_sentence(self.name, name) for name in self.offer.changes},
            source=self.configured.source.file,
            host=self._host,
            patience=entry.timeout_seconds,
            sees_project=self._sees_project(),
            samples=self._may_sample(),
            may_write=self._may_write,
        )

    @property
    def first_start(self) -> str:
        """What to expect of the next start, if a package runner may have to download the server; empty otherwise."""
        runner = runner_of(self.configured.entry)
        if not runner or self._client is not None or self.offer.manifest is not None:
            return ""
        return (
            f"MCP server {self.name} starts for the first time: {runner} may download packages, for at most"
            f" {self._start_seconds:g} seconds (startupTimeoutSeconds)"
        )

    async def started(self, asker: Asker = NOBODY) -> "McpClient":
        """The server, running.

        Raises:
            ServerUnavailableError: it does not start.
        """
        async with self._lock:
            if self._client is not None:
                if self.is_confined or not await self.offer.code_changed():
                    return self._client
                await self.end()  # nothing holds it: what commands wrote meanwhile it could execute with all rights
            loop = asyncio.get_running_loop()
            if self._reason and loop.time() < self._tried + self._timing.retry:
                raise ServerUnavailableError(self._reason)
            await self.offer.admit(asker)
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
            logins = self._logins
            self._tell()
            try:
                yield client
            except LegacyNeededError as error:
                await self._begin_anew()
                how = "kaa talks to this server in the older way from now on: call the tool again"
                raise McpError(f"{error}. {how}") from error
            except LoginNeededError as error:
                raise await self._locked_out(error, logins) from error
            except NoAnswerError as error:
                if client is not self._client or await client.answers():
                    raise  # only this request takes long
                await self.end()
                raise McpError(
                    f"{error}. It answers nothing any more, so kaa ended it: the next call starts it"
                ) from error
        finally:
            self._uses -= 1
            self._rest()
            self._tell()

    async def renew(self, asker: Asker) -> None:
        """End it if its code changed and the user approves the change, so that the next use starts it with that.

        Raises:
            ServerUnavailableError: the user does not approve it, or a request is under way.
        """
        async with self._lock:
            if self._client is None or not await self.offer.code_changed():
                return
            await self.offer.admit(asker)
            if self._uses:
                raise ServerUnavailableError(
                    f"MCP server {self.name} is in use. Its changed code is approved, and used from its next start"
                )
            await self.end()

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

    def changed(self, manifest: ServerManifest) -> None:
        self._learn(manifest)
        self._tell()

    def logged(self, line: "LogLine") -> None:
        self.log.append(f"{line.level}: {line.text}")

    def ended(self, reason: str) -> None:
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

        self._needs_login = False
        earlier, logins = tuple(self.log), self._logins

        def connection() -> "ServerConnection":
            """A second one replaces what the first one printed: mostly the same."""
            self.log.clear()
            self.log.extend(earlier)
            return self._connect(self.log.append)

        try:
            async with self._first_start_alone() as first:
                if first is not None and first.was_cut_short:
                    await asyncio.to_thread(self._forget_half)
                try:
                    client = await McpClient.connect(
                        connection,
                        ServerQuestions(self._project if self._sees_project() else "", samples=self._may_sample()),
                        self,
                        eras=self._eras(),
                        patience=self._start_seconds,
                    )
                except NoAnswerError:  # it was ended while it may have installed something
                    raise
                except McpError:
                    if first is not None:
                        first.ended()
                    raise
                if first is not None:
                    first.ended()
        except LoginNeededError as error:
            raise ServerUnavailableError(str(await self._locked_out(error, logins))) from error
        except McpError as error:
            limit = f". {self._limit()}" if isinstance(error, NoAnswerError) else ""
            self._reason = f"MCP server {self.name} did not start: {error}{limit}"
            raise ServerUnavailableError(self._reason) from error
        self._reason = ""
        return client

    def _first_start_alone(self) -> "AbstractAsyncContextManager[FirstStart | None]":
        """Keep other processes from starting it meanwhile, while a package runner may fill its cache."""
        if self._locks is None or not self.first_start:
            return nullcontext()
        from kaa.shell.mcp.first_start import alone  # lazy: servers start once for the first time

        return alone(self._locks, self.configured, self._start_seconds, self.log.append)

    async def _locked_out(self, refusal: LoginNeededError, logins: int) -> McpError:
        """Note that the server wants a login, unless one came after the request began. Returns what to say.

        Args:
            logins: how many there had been when the request began.
        """
        from kaa.mcp.oauth.challenge import parse_challenge  # lazy: few servers do
        from kaa.shell.mcp.refusals import has_key, refused

        if logins == self._logins:
            self._challenge = refusal.challenge
        challenge = parse_challenge(refusal.challenge)
        reason = refused(self.configured, challenge)
        if challenge.wants_more:  # everything else works
            if self._lacks is not None and challenge.scope and not has_key(self.configured):
                await self._lacks(challenge.scope)
        else:
            if logins == self._logins:
                self._needs_login, self._reason = not has_key(self.configured), reason
            await self.end()
            self._tell()
        return McpError(reason)

    @property
    def _start_seconds(self) -> float:
        """How long a start may take."""
        if (configured := self.configured.entry.startup_timeout_seconds) is not None:
            return configured
        return _DOWNLOAD_SECONDS if runner_of(self.configured.entry) else _START_SECONDS  # a new version comes any time

    def _limit(self) -> str:
        """What to do about a start that took too long."""
        runner = runner_of(self.configured.entry)
        kept = f"{runner} keeps what it has downloaded: try again, or" if runner else "If it needs longer,"
        return f"{kept} raise startupTimeoutSeconds for {self.name} in {self.configured.source.file}"

    def _eras(self) -> Sequence[Era]:
        entry = self.configured.entry
        if entry.protocol == "legacy":
            return ("legacy",)
        if entry.protocol != "auto":
            return ("modern",)
        if self.offer.manifest is not None:
            return ("legacy", "modern") if self.offer.manifest.era == "legacy" else ("modern", "legacy")
        return ("legacy", "modern") if entry.command else ("modern", "legacy")

    async def _begin_anew(self) -> None:
        """Talk to it in the older way from now on."""
        if self.offer.manifest is not None:
            self.offer.learn(msgspec.structs.replace(self.offer.manifest, era="legacy"))
        await self.end()

    def _learn(self, manifest: ServerManifest) -> None:
        self.offer.learn(manifest)
        for problem in manifest.left_out:
            self.log.append(problem)

    def _state(self) -> ServerState:
        if not self.configured.entry.enabled:
            return "disabled"
        if not self.offer.is_approved:
            return "not approved"
        if self._client is not None:
            return "in use" if self._uses else "started"
        if self._starting:
            return "starting"
        if self._needs_login:
            return "needs login"
        if self._reason:
            return "failed"
        return "known" if self.offer.manifest is not None else "configured"

    def _rest(self) -> None:
        """Let it end after a while without a use."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if self._client is not None and not self._uses and self.configured.entry.lifecycle != "keep-alive":
            seconds = self.configured.entry.idle_minutes * 60
            self._idle = asyncio.get_running_loop().call_later(seconds, lambda: self._tasks.begin(self._end_idle()))

    async def _end_idle(self) -> None:
        """End it, unless its next start would need a question because its code changed: one in a session is enough."""
        try:
            is_asked_about = self.is_confined and await self.offer.code_changed()
        except ServerUnavailableError:
            is_asked_about = True  # it could not start again
        if is_asked_about:
            self._rest()
        elif not self._uses:
            await self.end()

    def _may_sample(self) -> bool:
        permissions = self.configured.entry.permissions
        return permissions is not None and permissions.models

    def _sees_project(self) -> bool:
        permissions = self.configured.entry.permissions
        return bool(self.configured.entry.command) and (permissions is None or permissions.project != "none")


def _held_sentence(server: str, tool: str) -> str:
    return (
        f"The tool {tool} of MCP server {server} changed since it was accepted, and is held back: the user can see how"
        f" with `/mcp changes {server}`, and accept it"
    )
