"""Servers of MCP in memory, behind the interface that the extension uses (`kaa.builtin.mcp.host.McpHost`)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from kaa.builtin.mcp.host import ServerSession, ServerState, ServerUnavailableError, ServerView
from kaa.core.messages import Json
from kaa.ext.asking import Asker
from kaa.mcp.contents import CallResult, Progress, PromptResult, ResourcePart, TextPart
from kaa.mcp.errors import McpError
from kaa.mcp.manifest import PromptInfo, ServerFeatures, ServerInfo, ServerManifest, TemplateInfo, ToolInfo
from kaa.mcp.questions import ServerQuestions

Answer: TypeAlias = Callable[[str, dict[str, Json]], CallResult | Awaitable[CallResult]]


def tool_info(name: str, description: str = "Does something.", **parameters: str) -> ToolInfo:
    """A tool with parameters of these JSON types."""
    properties = {parameter: {"type": kind} for parameter, kind in parameters.items()}
    return ToolInfo(name, description=description, input_schema={"type": "object", "properties": properties})


def manifest(*tools: ToolInfo, instructions: str = "") -> ServerManifest:
    """What a server of some tools offers."""
    return ServerManifest(
        "legacy", "2025-11-25", ServerInfo("memory"), ServerFeatures(tools=True), instructions=instructions, tools=tools
    )


def echo(tool: str, arguments: dict[str, Json]) -> CallResult:
    """Answer with what was asked."""
    return CallResult((TextPart(f"{tool} {msgspec.json.encode(arguments).decode()}"),))


class MemoryMcpServer(ServerSession):
    """A server: what it offers and how it answers.

    Attributes:
        view: how the host shows it.
        learned: its manifest, which the view gets when it starts.
        calls: what was called, with the arguments.
        problem: why it does not start; empty if it does.
        prompts: its prompts with arguments filled in, by name; `filled` has the arguments that came.
        texts: its resources, by address.
        completes: answers what is to be completed: the argument, what is typed, and the others.
    """

    def __init__(self, view: ServerView, learned: ServerManifest | None = None, answer: Answer = echo) -> None:
        self.view = view
        self.learned = learned or view.manifest
        self.calls: list[tuple[str, dict[str, Json]]] = []
        self.problem = ""
        self.asked: list[ServerQuestions | None] = []
        self.prompts: dict[str, PromptResult] = {}
        self.filled: list[dict[str, str]] = []
        self.texts: dict[str, str | bytes] = {}
        self.completes: Callable[[str, str, Mapping[str, str]], tuple[str, ...]] = lambda *_: ()
        self._answer = answer

    @property
    def manifest(self) -> ServerManifest:
        """See `ServerSession`."""
        assert self.learned is not None
        return self.learned

    async def call(
        self,
        tool: str,
        arguments: dict[str, Json],
        *,
        questions: ServerQuestions | None = None,
        progress: Callable[[Progress], None] | None = None,
        patience: float = 60,
    ) -> CallResult:
        """See `ServerSession`."""
        self.calls.append((tool, arguments))
        self.asked.append(questions)
        if progress is not None:
            progress(Progress(1, 1, "done"))
        answer = self._answer(tool, arguments)
        return answer if isinstance(answer, CallResult) else await answer

    async def prompt(
        self, name: str, arguments: dict[str, str], *, questions: ServerQuestions | None = None
    ) -> PromptResult:
        """See `ServerSession`."""
        self.filled.append(arguments)
        if name not in self.prompts:
            raise McpError(f"no prompt {name!r}")
        return self.prompts[name]

    async def read(self, uri: str, *, questions: ServerQuestions | None = None) -> tuple[ResourcePart, ...]:
        """See `ServerSession`."""
        if uri not in self.texts:
            raise McpError(f"no resource {uri!r}")
        return (ResourcePart(uri, "", self.texts[uri]),)

    async def complete(
        self, reference: PromptInfo | TemplateInfo, argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """See `ServerSession`."""
        return self.completes(argument, value, known)


class MemoryMcpHost:
    """Some servers.

    Attributes:
        started: names of the servers, in the order in which they were started.
        warmed: names of those that were to be started early.
        logins: names of those that were logged in to.
    """

    def __init__(self, servers: Sequence[MemoryMcpServer]) -> None:
        self._servers = {server.view.name: server for server in servers}
        self._observers: list[Callable[[str], None]] = []
        self.started: list[str] = []
        self.warmed: list[str] = []
        self.logins: list[str] = []

    def servers(self) -> tuple[ServerView, ...]:
        """See `McpHost`."""
        return tuple(server.view for server in self._servers.values())

    async def session(
        self, name: str, asker: Asker, tell: Callable[[str], object] | None = None, *, renewed: bool = False
    ) -> MemoryMcpServer:
        """See `McpHost`."""
        await asyncio.sleep(0)
        server = self._servers.get(name)
        if server is None:
            raise ServerUnavailableError(f"No server is named {name!r}.")
        if server.problem:
            raise ServerUnavailableError(server.problem)
        if server.view.state not in ("started", "in use"):
            self.started.append(name)
            self.change(name, state="started", manifest=server.learned)
        return server

    def prewarm(self, name: str) -> None:
        """See `McpHost`."""
        self.warmed.append(name)

    def observe(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """See `McpHost`."""
        self._observers.append(changed)
        return lambda: self._observers.remove(changed)

    async def log_in(self, name: str, asker: Asker) -> None:
        """See `McpHost`."""
        await asyncio.sleep(0)
        self.logins.append(name)

    def tell_of_login(self, name: str) -> None:
        """See `McpHost`."""

    def log(self, name: str) -> tuple[str, ...]:
        """See `McpHost`."""
        return ()

    def changes(self, name: str) -> Mapping[str, str]:
        """See `McpHost`: a sentence for each tool that the view holds back."""
        return {tool: f"{tool} was changed" for tool in self._servers[name].view.held}

    def accept(self, name: str, shown: Mapping[str, str]) -> None:
        """See `McpHost`."""
        self.change(name, held={})

    def change(self, name: str, **fields: object) -> None:
        """A server's view changes. `fields`: those of `ServerView`."""
        server = self._servers[name]
        server.view = msgspec.structs.replace(server.view, **fields)
        if server.view.manifest is not None:
            server.learned = server.view.manifest
        for observer in tuple(self._observers):
            observer(name)


def server(
    name: str, *tools: ToolInfo, state: ServerState = "known", answer: Answer = echo, **fields: object
) -> MemoryMcpServer:
    """A server whose tools only read, and are known unless its state is `configured`.

    Args:
        name: of the server.
        tools: that it offers.
        state: in which it begins.
        answer: answers calls.
        fields: others of `ServerView`.
    """
    listed = manifest(*tools)
    risks = {tool.name: "granted" for tool in tools}
    given = {"risks": risks, "manifest": None if state == "configured" else listed} | fields
    view = msgspec.structs.replace(ServerView(name, state), **given)
    return MemoryMcpServer(view, view.manifest or listed, answer)
