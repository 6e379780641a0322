"""What goes on in the conversation, as the small things around the editor show it."""

import time
from collections.abc import Sequence
from math import ceil

from kaa.core.events import (
    AgentEnd,
    AgentStart,
    AssistantMessageEvent,
    AutoRetryStart,
    CompactionEnd,
    CompactionStart,
    Event,
    MessageUpdate,
    QueueUpdate,
    RestoreProgress,
    RunEndReason,
    TextDelta,
    TextStart,
    ThinkingDelta,
    ThinkingStart,
    ToolCallDelta,
    ToolCallStart,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnStart,
    UserCommandEnd,
    UserCommandStart,
    WorkEnd,
    WorkStart,
)
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.main_view import MainView
from kaa.tui.reactor import Timer

_TICK_SECONDS = 0.1
# As the shell estimates (`kaa.core.usage`).
_CHARACTERS_PER_TOKEN = 4

_COMMAND = "Running your command"
_CONDENSING = "Compacting the conversation"

_ENDS = {
    "done": "kaa is done",
    "aborted": "kaa was stopped",
    "denied": "a tool call was denied",
    "budget": "the budget is used up",
    "error": "kaa stopped with an error",
}


class Activity:
    def __init__(self, main_view: MainView, attention: Attention) -> None:
        self._main_view = main_view
        self._attention = attention
        self._begun = 0.0
        self._running: dict[str, str] = {}  # tools, by the id of the call
        self._characters = 0
        self._retry_at: float | None = None  # monotonic; None if no try is waited for
        self._retry = ""
        self._tick: Timer | None = None
        self._is_running = False
        self._works: list[str] = []  # of ours, the last one is shown
        self.runs_command = False

    @property
    def is_running(self) -> bool:
        return self._is_running

    @property
    def is_busy(self) -> bool:
        """Whether something goes on that can be stopped, besides a command of the user's."""
        return self._is_running or bool(self._works)

    def observe(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case MessageUpdate(assistant_message_event=change):
                    self._follow_reply(change)
                case UserCommandStart(command=command):
                    self._begin_command(command)
                case UserCommandEnd():
                    self._end_command()
                case AgentStart():
                    self._begin_run()
                case AgentEnd(reason=reason):
                    self._end_run(reason)
                case QueueUpdate(steering=steering, follow_up=follow_up):
                    self._main_view.queued.show(steering, follow_up)
                case _:
                    self._follow_turn(event)

    def begin_work(self, what: str) -> None:
        """Something of ours goes on until `end_work`, called `what`; it can be stopped like a run."""
        self._works.append(what)
        if self._main_view.working.is_shown:
            self._main_view.working.change(what)
        else:
            self._begin(what)

    def end_work(self, what: str) -> None:
        if what in self._works:  # the end of a run ends all
            self._works.remove(what)
        if self._works:
            self._main_view.working.change(self._works[-1])
        elif self._is_running:
            self._main_view.working.change("Working")
        elif self.runs_command:
            self._main_view.working.change(_COMMAND)
        else:
            self._main_view.working.end()

    def break_off(self) -> None:
        """The session cannot be written any more. A run ended with that: no event of it comes, as none can be kept."""
        if self._is_running:
            self._end_run("error")

    def _follow_reply(self, change: AssistantMessageEvent) -> None:
        self._retry_at = None
        match change:
            case TextDelta(delta=delta) | ThinkingDelta(delta=delta) | ToolCallDelta(delta=delta):
                self._count(len(delta))
            case ThinkingStart():
                self._main_view.working.change("Thinking")
            case TextStart():
                self._main_view.working.change("Answering")
            case ToolCallStart(name=name):
                self._main_view.working.change(f"Preparing {name}")
            case _:
                pass

    def _follow_turn(self, event: Event) -> None:
        match event:
            case TurnStart():
                self._main_view.working.change("Waiting for the model")
            case ToolExecutionStart(tool_call_id=call_id, tool_name=name):
                self._running[call_id] = name
                self._main_view.working.change(f"Running {', '.join(dict.fromkeys(self._running.values()))}")
            case ToolExecutionEnd(tool_call_id=call_id):
                self._running.pop(call_id, None)
            case AutoRetryStart():
                self._retry_at = time.monotonic() + event.delay_ms / 1000
                self._retry = f"{event.attempt} of {event.max_attempts}"
                self._count_down()
            case CompactionStart():
                self.begin_work(_CONDENSING)
            case CompactionEnd():
                self.end_work(_CONDENSING)
            case WorkStart():
                self.begin_work(f"Running {event.text}")
            case WorkEnd():
                self.end_work(f"Running {event.text}")
            case RestoreProgress(done=done, total=total) if self._works:
                self._main_view.working.change(f"Restoring files: {done:,} of {total:,}")
            case _:
                pass

    def _count_down(self) -> None:
        """Say how long it takes until the next try; once it is under way, that the model is waited for."""
        if self._retry_at is None:
            return
        left = self._retry_at - time.monotonic()
        if left > 0:
            self._main_view.working.change(f"Retrying in {ceil(left)} s, {self._retry}")
        else:
            self._retry_at = None
            self._main_view.working.change("Waiting for the model")

    def _begin_run(self) -> None:
        self._is_running = True
        self._begun = time.monotonic()
        self._characters = 0
        self._begin("Working")
        self._attention.begin()

    def _end_run(self, reason: RunEndReason) -> None:
        self._is_running = False
        self._works.clear()
        self._retry_at = None
        self._running.clear()
        self._main_view.working.end()
        self._attention.end(time.monotonic() - self._begun, _ENDS.get(reason, f"kaa stopped: {reason}"))

    def _begin_command(self, command: str) -> None:
        self.runs_command = True
        if not self.is_busy:
            self._begin(f"Running {command.partition(chr(10))[0]}")

    def _end_command(self) -> None:
        self.runs_command = False
        if not self.is_busy:
            self._main_view.working.end()

    def _count(self, characters: int) -> None:
        before = self._characters // _CHARACTERS_PER_TOKEN
        self._characters += characters
        self._main_view.working.add_tokens(self._characters // _CHARACTERS_PER_TOKEN - before)

    def _begin(self, what: str) -> None:
        self._main_view.working.begin(what)
        if self._tick is None:
            self._tick = self._main_view.app.reactor.call_later(_TICK_SECONDS, self._turn)

    def _turn(self) -> None:
        """Turn the spinner as long as there is one; without one, no timer runs."""
        if not self._main_view.working.is_shown:
            self._tick = None
            return
        self._count_down()
        self._main_view.working.tick()
        self._main_view.app.refresh()
        self._tick = self._main_view.app.reactor.call_later(_TICK_SECONDS, self._turn)
