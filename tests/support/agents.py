"""An agent over a script, with tools that do what a test tells them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from kaa.core.agent import Agent, AgentConfig
from kaa.core.events import Event
from kaa.core.hooks import Hooks
from kaa.core.messages import Message, UserMessage, user_message
from kaa.core.provider import Model
from kaa.core.tool import Tool, ToolResult, ToolRun, TypedTool, text_result
from kaa.llm.scripted import ScriptedProvider, ScriptItem
from tests.support.patience import HANG_SECONDS

T = TypeVar("T")
RunT = TypeVar("RunT")

MODEL = Model(id="test-model", provider="test", api="scripted")


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Run a scenario on a fresh event loop; one that hangs fails."""

    async def limited() -> T:
        return await asyncio.wait_for(scenario, HANG_SECONDS)

    return asyncio.run(limited())


class EchoArguments(msgspec.Struct):
    """Arguments of `echo`."""

    text: str
    times: int = 1


async def _echo(arguments: EchoArguments, _run: object) -> ToolResult:
    return text_result(arguments.text * arguments.times)


def echo_tool() -> Tool[object]:
    """A tool that answers with its argument."""
    return TypedTool("echo", "Echo a text", EchoArguments, _echo)


class NoArguments(msgspec.Struct):
    """No arguments."""


def tool(name: str, work: Callable[[RunT], Awaitable[ToolResult]], *, sequential: bool = False) -> Tool[RunT]:
    """A tool without arguments that does `work`."""

    async def execute(_arguments: NoArguments, run: RunT) -> ToolResult:
        return await work(run)

    return TypedTool(name, name, NoArguments, execute, sequential=sequential)


class Scene:
    """An agent over a script that keeps every event it emits."""

    def __init__(
        self,
        script: Iterable[ScriptItem],
        *tools: Tool[ToolRun],
        hooks: Hooks | None = None,
        config: AgentConfig | None = None,
        messages: Sequence[Message] = (),
    ) -> None:
        self.provider = ScriptedProvider(script)
        self.agent = Agent(
            provider=self.provider,
            model=MODEL,
            system_prompt="You are a test.",
            tools=tools or (echo_tool(),),
            hooks=hooks,
            config=config,
            messages=messages,
        )
        self.events: list[Event] = []
        self.agent.subscribe(self.events.append)

    def of(self, kind: type[T]) -> list[T]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


def say(text: str) -> UserMessage:
    """A message of the user."""
    return user_message(text)
