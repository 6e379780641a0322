"""Prepares the first tool call while the model thinks: the first one would wait for code and processes otherwise."""

import asyncio
from collections.abc import Callable
from importlib import import_module

from kaa.core.events import AgentEnd, Event, MessageUpdate, ToolCallStart, TurnStart

# A server that answers sooner leaves no time to use, and a conversation without tools should not pay.
_THINKING_SECONDS = 0.05
_CODE = (
    "kaa.shell.approvals.gate",
    "kaa.shell.approvals.memory",
    "kaa.shell.approvals.rule_file",
    "kaa.workspace.git",
    "kaa.workspace.sandbox.denials",
    "kaa.workspace.sandbox.watch",
)


class Preparation:
    """Loads the code that judges and runs tool calls, and starts processes for them.

    Args:
        warm_up: starts the processes; called for each reply with a call.
    """

    def __init__(self, warm_up: Callable[[], None]) -> None:
        self._warm_up = warm_up
        self._timer: asyncio.TimerHandle | None = None
        self._loading: asyncio.Task[None] | None = None

    def observe(self, event: Event) -> None:
        """Follow the agent's events."""
        match event:
            case TurnStart() if self._loading is None:
                self._timer = asyncio.get_running_loop().call_later(_THINKING_SECONDS, self._prepare)
            case MessageUpdate(assistant_message_event=ToolCallStart()):
                self._warm_up()
                self._stop_waiting()
            case MessageUpdate() | AgentEnd():
                self._stop_waiting()
            case _:
                pass

    async def close(self) -> None:
        """Wait until nothing is loaded any more."""
        self._stop_waiting()
        if self._loading is not None:
            await asyncio.wait((self._loading,))

    def _prepare(self) -> None:
        self._warm_up()
        self._loading = asyncio.create_task(asyncio.to_thread(_load))
        self._loading.add_done_callback(asyncio.Task.exception)  # the call that needs the code raises it again

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _load() -> None:
    for name in _CODE:
        import_module(name)
    from kaa.host.shell_grammar import load_grammar  # lazy, as the others

    load_grammar()
