"""What an agent and a user's command do, as events in an order that can happen; what exactly, is decided by chance."""

from collections.abc import Generator, Iterator, Sequence
from typing import TypeAlias

from kaa.core.events import (
    AgentEnd,
    AgentStart,
    AutoRetryEnd,
    AutoRetryStart,
    BudgetUpdate,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ModelFallback,
    QueueUpdate,
    ReplyDone,
    RunEndReason,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
    UserCommandEnd,
    UserCommandStart,
    UserCommandUpdate,
)
from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tests.frontends.interactive.chance import TOOLS, Chance

# Events that come at once; something else may happen before the next ones do.
Story: TypeAlias = Iterator[Sequence[Event]]

_MOST_TURNS = 3


class ScriptedAgent:
    """An agent that works.

    Args:
        chance: what it does.

    Attributes:
        is_working: from what is said first until its last event.
        is_aborted: it is to stop, as soon as it can.
        steering: messages that it is to be given.
    """

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._calls = 0
        self.is_working = self.is_aborted = False
        self.steering: list[UserMessage] = []

    def queue(self) -> QueueUpdate:
        """The messages that wait."""
        return QueueUpdate(tuple(message.text for message in self.steering), ())

    def run(self, message: UserMessage) -> Story:
        """All that it does about a message."""
        self.is_working, self.is_aborted = True, False
        yield [AgentStart(), *_said(message)]
        turn = 0
        while True:
            turn += 1
            yield [TurnStart(turn)]
            if self._chance.one_in(6):
                yield [AutoRetryStart(1, 3, 1000, self._chance.text(4))]
                yield [AutoRetryEnd(success=True, attempt=1)]
            if self._chance.one_in(8):
                yield [ModelFallback("a/one", "b/two", self._chance.text(4))]
            if self._chance.one_in(8):
                yield [BudgetUpdate("warning", "run", "turns", 8, 10, self._chance.text(2))]
            reply = yield from self._reply()
            results: list[ToolResultMessage] = []
            if reply.stop_reason == "toolUse":
                yield from self._run_tools(reply, results)
            yield [TurnEnd(turn, reply, tuple(results))]
            if reply.stop_reason in ("error", "aborted") or self.is_aborted:
                break
            if self.steering:
                said, self.steering = self.steering, []
                yield [self.queue(), *(event for message in said for event in _said(message))]
            elif reply.stop_reason != "toolUse" or turn > _MOST_TURNS:
                break
        self.is_working = False
        reason: RunEndReason = "aborted" if self.is_aborted else "error" if reply.stop_reason == "error" else "done"
        yield [AgentEnd(reason, (), self._chance.text(3) if reason == "error" else None)]

    def _reply(self) -> Generator[Sequence[Event], None, AssistantMessage]:
        chance = self._chance
        content: list[AssistantContent] = []
        yield [MessageStart(_reply((), "stop"))]
        stop: StopReason = "stop"
        for index in range(chance.random.randrange(5)):
            pieces = [chance.text() for _ in range(chance.random.randrange(8))]
            match chance.random.choice(("text", "text", "thinking", "call")):
                case "text":
                    yield [MessageUpdate(TextStart(index))]
                    for piece in pieces:
                        yield [MessageUpdate(TextDelta(index, piece))]
                    yield [MessageUpdate(TextEnd(index))]
                    content.append(TextContent("".join(pieces)))
                case "thinking":
                    yield [MessageUpdate(ThinkingStart(index))]
                    for piece in pieces:
                        yield [MessageUpdate(ThinkingDelta(index, piece))]
                    yield [MessageUpdate(ThinkingEnd(index))]
                    content.append(ThinkingContent("".join(pieces)))
                case _:
                    self._calls += 1
                    call = ToolCall(str(self._calls), chance.random.choice(TOOLS), chance.arguments())
                    yield [MessageUpdate(ToolCallStart(index, call.id, call.name))]
                    for piece in pieces:
                        yield [MessageUpdate(ToolCallDelta(index, piece))]
                    if self.is_aborted:
                        break
                    yield [MessageUpdate(ToolCallEnd(index, call))]
                    content.append(call)
                    stop = "toolUse"
            if self.is_aborted:
                break
        stop = "aborted" if self.is_aborted else "error" if chance.one_in(10) else stop
        message = _reply(tuple(content), stop, chance.text(2) if stop == "error" else None)
        yield [MessageUpdate(ReplyDone(stop)), MessageEnd(message)]
        return message

    def _run_tools(self, reply: AssistantMessage, results: list[ToolResultMessage]) -> Story:
        chance = self._chance
        running = list(reply.tool_calls)
        yield [ToolExecutionStart(call.id, call.name, call.arguments) for call in running]
        while running:
            call = chance.random.choice(running)
            if not self.is_aborted and not chance.one_in(6):
                yield [ToolExecutionUpdate(call.id, call.name, chance.text(), chance.random.choice((0, 0, 0, 9999)))]
                continue
            running.remove(call)
            is_error = self.is_aborted or chance.one_in(4)
            content = (TextContent(chance.text(20)),)
            result = ToolResultMessage(call.id, call.name, content, is_error, chance.details(), 1)
            results.append(result)
            milliseconds = chance.random.randrange(100_000)
            end = ToolExecutionEnd(call.id, call.name, result, is_error, milliseconds)
            yield [MessageStart(result), MessageEnd(result), end]


def user_command(chance: Chance, command: str, *, in_context: bool) -> Story:
    """A command of the user's."""
    yield [UserCommandStart(command, in_context)]
    for _ in range(chance.random.randrange(8)):
        yield [UserCommandUpdate(chance.text(), chance.random.choice((0, 0, 9999)))]
    code = chance.random.choice((0, 1, None))
    path = chance.random.choice((None, chance.text(2)))
    yield [UserCommandEnd(command, in_context, chance.text(30), code, code is None, path is not None, path, 5)]


def _reply(content: tuple[AssistantContent, ...], stop: StopReason, error: str | None = None) -> AssistantMessage:
    return AssistantMessage(content, "api", "provider", "model", Usage(), stop, 1, error_message=error)


def _said(message: UserMessage) -> list[Event]:
    return [MessageStart(message), MessageEnd(message)]
