"""A conversation with an extension that a test writes as functions."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kaa.ext.api import CommandContext, ExtensionAPI
from kaa.shell.host import HostedConversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.extension_ids import named
from tests.support.stage import Stage

T = TypeVar("T")

Extend = Callable[[ExtensionAPI], None]
Work = Callable[[CommandContext], Awaitable[None]]


def play(
    stage: Stage,
    scene: Callable[[HostedConversation], Awaitable[T]],
    *extensions: Extend,
    options: ConversationOptions | None = None,
    name: str = "ci",
) -> T:
    """Open a conversation with extensions, the first called `ci`, do `scene` with it, close it."""

    async def whole() -> T:
        host = stage.host()
        for number, extend in enumerate(extensions):
            host.extensions.load(named(f"/extensions/{name if not number else f'{name}{number + 1}'}.py"), extend)
        stage.workspace = MemoryWorkspace(stage.files)
        try:
            hosted = await host.open(options or ConversationOptions(model="m", approvals="auto"), stage.workspace)
            await hosted.begin()
            result = await scene(hosted)
            await hosted.work.settled()
            return result
        finally:
            await host.close()

    return run(whole())


def in_a_command(stage: Stage, work: Work, *extensions: Extend, options: ConversationOptions | None = None) -> None:
    """Do `work` in a slash command of an extension called `ci`, as a user would run it."""

    def extend(kaa: ExtensionAPI) -> None:
        async def handler(_arguments: str, context: CommandContext) -> None:
            await work(context)

        kaa.register_command("act", "Act", handler)

    async def scene(hosted: HostedConversation) -> None:
        await hosted.work.command("/act")

    play(stage, scene, extend, *extensions, options=options)
