"""A conversation with one extension process that a test writes, without a sandbox."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from kaa.core.tool import ToolResult, text_result
from kaa.ext.acting import ConversationControl
from kaa.ext.agents import AgentRunner, ToolTask
from kaa.ext.api import CommandContext, PromptContext
from kaa.ext.display import DisplayKind, DisplayUpdate, NoticeShown
from kaa.ext.hooks import SessionStart
from kaa.ext.process.extension import process_extension
from kaa.ext.process.process_run import Timing
from kaa.ext.showing import ConversationDisplay
from tests.support.extension_ids import named
from tests.support.process_host import UnconfinedHost, write_extension
from tests.support.registries import LoadedRegistry
from tests.support.toolbox import RecordedRun

START = SessionStart("startup", "session", None)


class _Seen:
    """A frontend and a conversation that remember what extensions want of them, as texts."""

    shows: Collection[DisplayKind] = ("notice", "status", "widget", "editor")

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen
        self.updates: list[DisplayUpdate] = []

    def show(self, update: DisplayUpdate) -> None:
        """Remember it."""
        self.updates.append(update)
        match update.change:
            case NoticeShown(text, level):
                self._seen.append(f"{level}: {text}")
            case change:
                self._seen.append(str(change))

    active_tools = ("read",)
    deferred_tools: Mapping[str, str] = {}

    def can_call(self, name: str) -> bool:
        """See `ConversationControl`."""
        return name in self.active_tools

    async def call(self, task: ToolTask) -> ToolResult:
        """Run a tool without an end, and remember how it was stopped."""
        self._seen.append(f"{task.extension} in {task.call_id}: {task.name} {task.arguments}")
        try:
            await asyncio.Event().wait()
            return text_result("")
        except asyncio.CancelledError:
            self._seen.append("the tool was stopped")
            raise

    def send(self, extension: str, text: str, *, steer: bool) -> None:
        """Remember it."""
        self._seen.append(f"{'steer' if steer else 'send'}: {text}")


class Stage:
    """A conversation with one extension process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = UnconfinedHost(folder.parent)
        self.failures: list[str] = []
        self.timing = Timing(pauses=(0.0, 0.0))
        self.registry = LoadedRegistry(self.failures.append)
        seen = _Seen(self.host.reports)
        self.updates = seen.updates
        display = ConversationDisplay("", seen, self.failures.append)
        control = cast("ConversationControl", seen)
        self.registry.context.attach(lambda: control, lambda: cast("AgentRunner", seen), lambda: display)

    def load(self, source: str, manifest: str = "") -> None:
        """Start the extension."""
        folder = write_extension(self.folder, source, manifest)
        self.registry.load(str(folder), process_extension(named(folder), self.host, self.timing))

    async def begin(self, source: str, manifest: str = "") -> None:
        """Start the extension and wait for its registrations."""
        self.load(source, manifest)
        await self.registry.session.started(START)

    async def call(self, name: str, /, **arguments: object) -> ToolResult:
        """Call a tool."""
        scope = next(one for one in self.registry.extensions.scopes() if name in one.tools)
        return await self.registry.context.bind(scope.tools[name].tool, scope).run(arguments, RecordedRun())

    async def command(self, name: str, arguments: str = "") -> object:
        """Run a slash command."""
        return await self.registry.run_command(name, arguments, cast("CommandContext", self.registry.context))

    async def until(self, met: Callable[[], bool]) -> None:
        """Wait for something that comes."""
        while not met():
            await asyncio.sleep(0.01)

    def prompt(self) -> list[str]:
        """The sections of the system prompt."""
        return [text for _, text in self.registry.prompt_sections(PromptContext("/", "2026-01-01"))]


@asynccontextmanager
async def _stage(folder: Path) -> AsyncIterator[Stage]:
    stage = Stage(folder)
    try:
        yield stage
    finally:
        stage.registry.extensions.close()
        await stage.host.close()
        for pid in stage.host.started:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)


def play(folder: Path, scene: Callable[[Stage], Awaitable[None]]) -> None:
    """Run a scene; afterwards no process is left."""

    async def whole() -> None:
        async with asyncio.timeout(60), _stage(folder / "probe") as stage:
            await scene(stage)

    asyncio.run(whole())
