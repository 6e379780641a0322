"""What the extension needs of whoever runs the servers: `kaa.shell.mcp.project_servers`."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from kaa.core.messages import Json
from kaa.ext.asking import Asker
from kaa.ext.tools import Risk
from kaa.mcp.errors import McpError, ServerGoneError
from kaa.mcp.manifest import PromptInfo, ServerManifest, TemplateInfo

if TYPE_CHECKING:  # only where a server is used
    from kaa.mcp.client import McpClient
    from kaa.mcp.contents import CallResult, Progress, PromptResult, ResourcePart
    from kaa.mcp.questions import ServerQuestions

AnswerT = TypeVar("AnswerT")

ServerState: TypeAlias = Literal[
    "disabled", "not approved", "configured", "known", "starting", "started", "in use", "needs login", "failed"
]
"""`configured`: never listed. `known`: its manifest is, and it does not run."""

Exposure: TypeAlias = Literal["auto", "gateway", "deferred", "direct", "hidden"]
"""How the model reaches a server's tools; see docs/mcp.md."""


class ServerUnavailableError(McpError):
    """A server cannot be used now. The message says why, and what to do."""


class ServerView(msgspec.Struct, frozen=True):
    """A configured server, as the extension and people see it.

    Attributes:
        reason: why it is not approved or failed, in a sentence; empty otherwise.
        manifest: what it offers; None if that was never learned.
        exposure: how its tools reach the model, and `tool_exposure` for the tools whose names match a pattern.
        risks: the risk of each tool by name, as the approval and the server's hints give it.
        held: tools that are held back, by name: why, in a sentence with what the user can do.
        source: the file that configures it.
        host: where it is; empty for a program on this machine.
        patience: how many seconds a call may take without a sign of life.
        sees_project: whether it may know where the project is.
        samples: whether it may ask for completions by the user's model, which the user still has to allow.
        may_write: whether it is a program that may change files of the project, or anything.
    """

    name: str
    state: ServerState
    description: str = ""
    reason: str = ""
    manifest: ServerManifest | None = None
    exposure: Exposure = "auto"
    tool_exposure: Mapping[str, Exposure] = {}
    risks: Mapping[str, Risk] = {}
    held: Mapping[str, str] = {}
    source: str = ""
    host: str = ""
    patience: float = 60
    sees_project: bool = False
    samples: bool = False
    may_write: bool = False


class ServerSession:
    """A server that runs while it is used, and starts if it ended meanwhile. Every method raises `McpError`.

    Args:
        used: the server for one request, started if necessary.
    """

    def __init__(
        self, used: "Callable[[], AbstractAsyncContextManager[McpClient]]", view: Callable[[], ServerView]
    ) -> None:
        self._used = used
        self._view = view

    @property
    def manifest(self) -> ServerManifest:
        manifest = self._view().manifest
        assert manifest is not None, "it has been started"
        return manifest

    async def call(
        self,
        tool: str,
        arguments: dict[str, Json],
        *,
        questions: "ServerQuestions | None" = None,
        progress: "Callable[[Progress], None] | None" = None,
        patience: float = 60,
    ) -> "CallResult":
        """Call a tool. Cancelling tells the server. `patience`: how many seconds without a sign of life it may take."""
        async with self._used() as client:
            await client.settle()
            if (why := self._view().held.get(tool)) is not None:  # it may have changed just now, as it started
                raise McpError(why)
            return await client.call(tool, arguments, questions=questions, progress=progress, patience=patience)

    async def prompt(
        self, name: str, arguments: dict[str, str], *, questions: "ServerQuestions | None" = None
    ) -> "PromptResult":
        return await self._repeating(lambda client: client.prompt(name, arguments, questions=questions))

    async def read(self, uri: str, *, questions: "ServerQuestions | None" = None) -> "tuple[ResourcePart, ...]":
        return await self._repeating(lambda client: client.read(uri, questions=questions))

    async def complete(
        self, reference: PromptInfo | TemplateInfo, argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Values that an argument can take, given what is typed of it and the values of those before it."""
        return await self._repeating(lambda client: client.complete(reference, argument, value, known))

    async def _repeating(self, use: "Callable[[McpClient], Awaitable[AnswerT]]") -> AnswerT:
        """Use the server, and once more if it dies meanwhile: nothing changes by what is asked."""
        try:
            async with self._used() as client:
                return await use(client)
        except ServerGoneError:
            async with self._used() as client:
                return await use(client)


class McpHost(Protocol):
    """Runs the configured servers for all conversations of this process."""

    def servers(self) -> tuple[ServerView, ...]:
        """All of them, in the order of their configuration. Starts nothing."""

    async def session(
        self, name: str, asker: Asker, tell: Callable[[str], object] | None = None, *, renewed: bool = False
    ) -> ServerSession:
        """The server, started if necessary. What must be asked before is asked through `asker`.

        Args:
            tell: gets lines about a first start that takes long.
            renewed: start it anew if its code changed since it started.

        Raises:
            ServerUnavailableError: it is unknown, disabled, not approved, not logged in, or does not start.
        """

    def prewarm(self, name: str) -> None:
        """The server will probably be used soon: start it if that needs no question."""

    def observe(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Call `changed` with a server's name whenever its view changes. Returns what ends that."""

    async def log_in(self, name: str, asker: Asker) -> None:
        """Log in to a server.

        Raises:
            ServerUnavailableError: it failed or was declined.
        """

    def tell_of_login(self, name: str) -> None:
        """The model could not use a server: tell the user, once, if it needs a login."""

    def log(self, name: str) -> tuple[str, ...]:
        """The last lines that a server logged or wrote to its standard error."""

    def changes(self, name: str) -> Mapping[str, str]:
        """The tools of a server that are held back, by name: how they changed, in lines."""

    def accept(self, name: str, shown: Mapping[str, str]) -> None:
        """The user has seen how the tools of a server changed, and accepts them.

        Args:
            shown: what the user has seen: what `changes` returned.

        Raises:
            ServerUnavailableError: the server has changed again since then, or that cannot be kept.
        """
