"""A server of `kaa.shell.mcp` over scripted servers in memory, one for each of its starts."""

import asyncio
import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kaa.builtin.mcp.host import ServerState
from kaa.mcp.connection import JsonRpcRequest, Message
from kaa.mcp.manifest import ToolInfo
from kaa.shell.home import Home
from kaa.shell.mcp.approvals import Approvals
from kaa.shell.mcp.config.entry import ConfiguredServer, Scope, ServerEntry, Source
from kaa.shell.mcp.logins import McpLogins
from kaa.shell.mcp.manifests import ServerManifests
from kaa.shell.mcp.offer import Offer
from kaa.shell.mcp.project_servers import ProjectServers
from kaa.shell.mcp.server import RetryTiming, Server
from tests.support.mcp_connection import MemoryConnection
from tests.support.mcp_server import ScriptedServer

AT_ONCE = RetryTiming(retry=0, pauses=(0,), stable=3600)
MOMENT_MINUTES = 0.001 / 60


class HeldConnection(MemoryConnection):
    """A connection whose answers to calls of tools, and whose start, can be held up.

    Attributes:
        opens: until it is set, the server starts.
        calls: set when a tool is called.
        answers: until it is set, a tool works.
        dies_at: a method that ends the server.
        is_silent: whether it answers nothing any more.
    """

    def __init__(self, server: ScriptedServer) -> None:
        super().__init__(server)
        self.opens, self.answers, self.called = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.dies_at = ""
        self.is_silent = False
        self.opens.set()
        self.answers.set()

    async def open(self) -> None:
        """See `ServerConnection`."""
        await self.opens.wait()
        await super().open()

    async def send(self, message: Message, tool: ToolInfo | None = None) -> None:
        """See `ServerConnection`."""
        if tool is not None:
            self.called.set()
            await self.answers.wait()
        if isinstance(message, JsonRpcRequest) and message.method == self.dies_at:
            self.end("it exited with code 7: out of luck")
            return
        if not self.is_silent:
            await super().send(message, tool)


class Life:
    """Servers with entries, and what happened to them.

    Args:
        home: kaa's folder.
        scripts: what each start runs, in turn; the last one stays.
        timing: how long things take.

    Attributes:
        connections: of all starts.
        states: of all servers, as they were told, without repetitions.
        reports: what the user was told.
        prepared: changes connections before they are opened.
        forgotten: the servers whose installations were removed, as they may be half of one.
        code: what servers execute and commands can write, by path.
    """

    def __init__(self, home: Path, *scripts: ScriptedServer, timing: RetryTiming = AT_ONCE) -> None:
        self.home = Home(home)
        self.connections: list[HeldConnection] = []
        self.states: list[tuple[str, ServerState]] = []
        self.prepared: Callable[[HeldConnection], object] = lambda _: None
        self.code: dict[str, str] = {}
        self.forgotten: list[str] = []
        self._scripts = list(scripts) or [ScriptedServer()]
        self._timing = timing
        self.reports: list[str] = []
        self._changed = asyncio.Event()

    def servers(self, *names: str, scope: Scope = "user", **fields: Any) -> ProjectServers:
        """Servers of these names, or one called `one`, whose entries have these fields."""
        entry = ServerEntry(**({"command": "scripted"} | fields))
        known = [
            ConfiguredServer(name, entry, Source(str(self.home.path / "mcp.json"), scope), f"digest of {name}")
            for name in names or ("one",)
        ]
        made = ProjectServers(
            lambda changed: [self._server(one, changed) for one in known],
            lambda: McpLogins(self.home, {}, "/project"),
            self.reports.append,
        )
        made.observe(lambda name: self._tell(made, name))
        return made

    async def until(self, state: ServerState, name: str = "one") -> None:
        """Wait until a server is in a state, or was since the last call."""
        while (name, state) not in self.states:
            self._changed.clear()
            await self._changed.wait()
        self.states.clear()

    def _tell(self, servers: ProjectServers, name: str) -> None:
        state = servers.server(name).view().state
        if (name, state) not in self.states[-1:]:
            self.states.append((name, state))
        self._changed.set()

    def _server(self, one: ConfiguredServer, changed: Callable[[str], None]) -> Server:
        approvals, manifests, tell = Approvals(self.home), ServerManifests(self.home), partial(changed, one.name)
        offer = Offer(
            one,
            approvals,
            manifests,
            lambda: "It runs scripted.",
            lambda _tool: "granted",
            tell,
            "/project",
            lambda: dict(self.code),
        )
        locks = self.home.cache / "mcp"
        forget = partial(self.forgotten.append, one.name)
        return Server(one, "/project", offer, self._connection, tell, self._timing, locks=locks, forget_half=forget)

    def _connection(self, log: Callable[[str], None]) -> HeldConnection:
        log(f"start {len(self.connections)}")
        script = self._scripts[min(len(self.connections), len(self._scripts) - 1)]
        connection = HeldConnection(script)
        self.prepared(connection)
        self.connections.append(connection)
        return connection


def called(connections: list[HeldConnection]) -> int:
    """How often tools were called, over all connections."""
    methods = itertools.chain.from_iterable(connection.server.methods() for connection in connections)
    return sum(method == "tools/call" for method in methods)
