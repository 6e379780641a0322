"""A conversation over a real model's server on loopback and a project in memory."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from kaa.ext.asking import NOBODY, Asker
from kaa.ext.showing import DisplayOutput
from kaa.shell.conversation import Conversation
from kaa.shell.home import Home
from kaa.shell.host import Host, HostedConversation
from kaa.shell.options import ConversationOptions, HostOptions
from kaa.workspace.memory import CommandHandler, MemoryWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.agents import run
from tests.support.model_server import ModelServer

T = TypeVar("T")


class Stage:
    """What a conversation needs, and what was heard while it ran."""

    def __init__(self, server: ModelServer, home: Path) -> None:
        self.server = server
        self.home = home
        self.files = {"notes.txt": b"remember the milk\n"}
        self.environ = {"OPENAI_BASE_URL": f"{server.url}/v1", "KAA_LOCAL_SERVERS": "none"}
        self.commands: CommandHandler | None = None
        self.notices: list[str] = []
        self.asker: Asker = NOBODY
        self.display: DisplayOutput | None = None
        self.host_options = HostOptions()
        self.workspace = MemoryWorkspace()

    def _run(self, command: CommandRequest) -> CommandResult | Awaitable[CommandResult]:
        """What the project's commands do: as `commands` says at the moment; without it all are missing."""
        return self.commands(command) if self.commands is not None else CommandResult(127, None, b"", 0, 0)

    def install(self, source: str, name: str = "mine") -> None:
        """Install an extension of the user's."""
        folder = self.home / "extensions"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(source)

    def host(self) -> Host:
        """A process of kaa."""
        return Host(
            self.host_options,
            Home(self.home),
            self.environ,
            lambda notification: self.notices.append(notification.text),
            self.asker,
            self.display,
        )

    def play(self, scene: Callable[[Conversation], Awaitable[T]], options: ConversationOptions | None = None) -> T:
        """Open a conversation, do `scene` with it, close it."""
        return self._play(lambda hosted: scene(hosted.conversation), options)

    def play_hosted(
        self, scene: Callable[[HostedConversation], Awaitable[T]], options: ConversationOptions | None = None
    ) -> T:
        """Begin a conversation as frontends do, with its queue of work, do `scene` with it, close it."""

        async def begun(hosted: HostedConversation) -> T:
            await hosted.begin()
            return await scene(hosted)

        return self._play(begun, options)

    def _play(
        self, scene: Callable[[HostedConversation], Awaitable[T]], options: ConversationOptions | None = None
    ) -> T:
        async def whole() -> T:
            self.workspace = MemoryWorkspace(self.files, commands=self._run)
            host = self.host()
            try:
                return await scene(await host.open(options or ConversationOptions(model="m"), self.workspace))
            finally:
                await host.close()

        return run(whole())
