"""The agent loop: ask the model, run the tools it calls, steer, until it has nothing more to do.

Read `Loop.run` first; everything else serves it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from kaa.core.budget import Allowance, BudgetExhaustedError
from kaa.core.events import AgentEnd, AgentStart, Event, MessageEnd, MessageStart, RunEndReason, TurnEnd, TurnStart
from kaa.core.execution import ToolExecutor
from kaa.core.history import History
from kaa.core.hooks import Continue, GiveUp, Hooks, RunGivenUpError
from kaa.core.messages import AssistantMessage, Message, ToolResultMessage, UserMessage, user_message
from kaa.core.model_caller import ModelCaller
from kaa.core.queues import MessageQueue


class RunLimits(msgspec.Struct, frozen=True):
    """Where a run ends even if the model would go on.

    Attributes:
        max_turns: requests to the model per run.
        max_messages: messages, of any role, per run.
        max_continuations: how often hooks may keep a run from ending without a word of the person in between.
    """

    max_turns: int | None = None
    max_messages: int | None = None
    max_continuations: int = 10


class _Turn(NamedTuple):
    """A turn under way. `first_message`: its place among the messages of the run."""

    number: int
    first_message: int


class Loop:
    """One run of the agent, from what was asked to the end.

    Args:
        asking: gets replies.
        executor: runs tool calls.
        steering: messages to give to the model as soon as a turn ends.
        follow_up: messages to give to it when it would stop.
        history: the conversation so far; `emit` adds every complete message to it.
        emit: where events go.
        allowance: lets requests pass.
        limits: caps of this run.
        hooks: may keep the run from ending.
    """

    def __init__(
        self,
        *,
        asking: ModelCaller,
        executor: ToolExecutor,
        steering: MessageQueue,
        follow_up: MessageQueue,
        history: History,
        emit: Callable[[Event], None],
        allowance: Allowance,
        limits: RunLimits,
        hooks: Hooks,
    ) -> None:
        self._asking = asking
        self._executor = executor
        self._steering = steering
        self._follow_up = follow_up
        self._history = history
        self._emit = emit
        self._allowance = allowance
        self._limits = limits
        self._hooks = hooks
        self._continuations = 0
        self._continued_by = ""
        self._given_up: GiveUp | None = None
        self._open_turn: _Turn | None = None
        history.begin_run()

    async def run(self, prompts: Sequence[UserMessage]) -> AgentEnd:
        """Work on `prompts` until the model stops, a cap is reached or an error cannot be repaired."""
        self._emit(AgentStart())
        self._say(prompts)
        turn = 0
        while True:
            if cap := self._cap_reached(turn):
                return self._end(*cap)
            try:
                await self._allowance.admit()
                turn += 1
                self._begin_turn(turn)
                self._say(self._steering.drain())
                reply = await self._asking.reply()
            except BudgetExhaustedError as error:
                return self._end("budget", str(error))
            except RunGivenUpError as error:
                return self._end(error.demand.ends_as, error.demand.reason)
            results = await self._executor.run(reply.tool_calls) if reply.stop_reason != "error" else ()
            self._end_turn(reply, results)
            if reply.stop_reason == "error":
                return self._end("error", reply.error_message)
            if results or self._steering:
                continue
            more = self._follow_up.drain() or await self._demanded(reply)
            if not more:
                return self._end(*self._outcome(reply))
            self._say(more)

    def interrupted(self) -> AgentEnd:
        """Close a run that was cancelled."""
        return self._end("aborted", "stopped by the user")

    def _begin_turn(self, number: int) -> None:
        self._open_turn = _Turn(number, len(self._history.of_run))
        self._emit(TurnStart(number))

    def _end_turn(self, reply: AssistantMessage, results: tuple[ToolResultMessage, ...]) -> None:
        if self._open_turn is not None:
            number, self._open_turn = self._open_turn.number, None
            self._emit(TurnEnd(number, reply, results))

    def _break_off_turn(self, reason: str) -> None:
        """End the turn that the run broke off in, if there is one, with the messages that were recorded."""
        if self._open_turn is None:
            return
        recorded = self._history.of_run[self._open_turn.first_message :]
        replies = [message for message in recorded if isinstance(message, AssistantMessage)]
        reply = replies[-1] if replies else self._asking.no_reply(reason)
        self._end_turn(reply, tuple(message for message in recorded if isinstance(message, ToolResultMessage)))

    def _say(self, messages: Sequence[UserMessage]) -> None:
        for message in messages:
            if message.origin == "person":
                self._continuations = 0
            self._emit(MessageStart(message))
            self._emit(MessageEnd(message))

    def _cap_reached(self, turn: int) -> tuple[RunEndReason, str] | None:
        turns, messages = self._limits.max_turns, self._limits.max_messages
        if turns is not None and turn >= turns:
            return "max_turns", f"stopped after {turn} turns, the limit of this run"
        if messages is not None and len(self._history.of_run) >= messages:
            return "max_messages", f"stopped after {messages} messages, the limit of this run"
        return None

    async def _demanded(self, reply: AssistantMessage) -> Sequence[UserMessage]:
        """What hooks want done before the run ends, or what the person said while they looked at the reply."""
        if self._outcome(reply)[0] != "done":
            return ()
        demand = await self._first_demand(reply)
        if said := self._steering.drain() or self._follow_up.drain():
            return said
        if demand is None:
            return ()
        if isinstance(demand, GiveUp):
            self._given_up = demand
            return ()
        self._continuations = 0 if demand.progress else self._continuations + 1
        self._continued_by = f" (last: {demand.source})" if demand.source else ""
        return (user_message(demand.reason, origin="hook"),) if self._outcome(reply)[0] == "done" else ()

    async def _first_demand(self, reply: AssistantMessage) -> Continue | GiveUp | None:
        for hook in self._hooks.before_end:
            if (demand := await hook(reply)) is not None:
                return demand
        return None

    def _outcome(self, reply: AssistantMessage) -> tuple[RunEndReason, str | None]:
        """How the run ends, now that the model has nothing more to do."""
        if reply.stop_reason == "length":
            return "length", "the reply reached the model's output limit before it was complete"
        if self._executor.denials:
            return "denied", f"not permitted: {'; '.join(self._executor.denials)}"
        if self._continuations > self._limits.max_continuations:
            most = self._limits.max_continuations
            return (
                "max_continuations",
                f"stopped after hooks continued the run {most} times, the limit{self._continued_by}",
            )
        if cut_off := self._allowance.cut_off():
            return "budget", f"an agent was ended early: {cut_off}"
        if self._given_up is not None:
            return self._given_up.ends_as, self._given_up.reason
        return "done", None

    def _end(self, reason: RunEndReason, error: str | None = None) -> AgentEnd:
        self._break_off_turn(error or reason)
        denials = tuple(dict.fromkeys(self._executor.denials))
        unread = () if reason == "aborted" else _unread_errors(self._history.of_run, denials)
        end = AgentEnd(reason, tuple(self._history.of_run), error, denials, unread)
        self._history.begin_run()  # nobody needs them any more
        self._emit(end)
        return end


def _unread_errors(messages: Sequence[Message], denials: Sequence[str]) -> tuple[str, ...]:
    """The calls behind the last reply that failed, but for those that were denied: the model never answered."""
    failed: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, ToolResultMessage):
            break
        text = message.text
        if message.is_error and not any(denial.partition(": ")[2] in text for denial in denials):
            last = next((line for line in reversed(text.splitlines()) if line.strip()), "no output")
            failed.append(f"{message.tool_name}: {last.strip()}")
    return tuple(reversed(failed))
