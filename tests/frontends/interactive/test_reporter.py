"""What the terminal is told of a conversation."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from kaa.core.events import Event
from kaa.ext.commands import Command
from kaa.ext.loader import load_extension
from kaa.frontends.interactive.reporter import Additions, ConversationReporter
from kaa.shell.options import ConversationOptions
from kaa.shell.status import Status
from kaa.workspace.git import Head
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.extension_ids import named
from tests.support.model_server import ModelServer
from tests.support.stage import Stage


class Listener:
    """Notes the commands."""

    def __init__(self) -> None:
        self.commands: list[Sequence[Command]] = []

    def show_events(self, events: Sequence[Event]) -> None:
        pass

    def show_status(self, status: Status) -> None:
        pass

    def show_head(self, head: Head | None) -> None:
        pass

    def show_additions(self, additions: Additions) -> None:
        self.commands.append(additions.commands)

    def show_notice(self, text: str) -> None:
        pass


def _now(function: Callable[[], object]) -> None:
    function()


_GREETING = """
from kaa.ext.api import Reply

async def greet(arguments, context):
    return Reply("hello")

def extend(api):
    api.register_command("greet", "Say hello", greet, argument_hint="NAME", complete=lambda typed, context: [])
"""


def test_commands_are_told_again_when_extensions_come_and_go(tmp_path: Path) -> None:
    listener = Listener()

    async def scenario(stage: Stage) -> None:
        stage.install(_GREETING)
        path = stage.home / "extensions" / "mine.py"
        host = stage.host()
        hosted = await host.open(ConversationOptions(model="m"), MemoryWorkspace())
        reporter = ConversationReporter(hosted.conversation, listener, _now)
        host.extensions.unload(named(path))
        host.extensions.load(named(path), load_extension(path))
        await reporter.close()
        host.extensions.unload(named(path))
        await host.close()

    with ModelServer() as server:
        run(scenario(Stage(server, tmp_path)))

    assert [any(one.name == "greet" for one in commands) for commands in listener.commands] == [True, False, True]


def test_what_a_command_changed_is_told_once_one_waited_for_it(tmp_path: Path) -> None:
    told: list[int] = []

    class Watching(Listener):
        def show_status(self, status: Status) -> None:
            told.append(status.beside)

    async def scenario(stage: Stage) -> None:
        host = stage.host()
        hosted = await host.open(ConversationOptions(model="m"), MemoryWorkspace())
        reporter = ConversationReporter(hosted.conversation, Watching(), _now)
        await reporter.status_told()
        hosted.work.run_beside(asyncio.sleep(1000))
        reporter.refresh_status()
        await reporter.status_told()
        await reporter.close()
        await host.close()

    with ModelServer() as server:
        run(scenario(Stage(server, tmp_path)))

    assert told == [0, 1]
