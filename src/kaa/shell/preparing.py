"""Prepares the first tool call while the model thinks: the first one would wait for code and processes otherwise."""

import asyncio
from collections.abc import Callable, Sequence
from importlib import import_module

from kaa.core.events import AgentEnd, Event, MessageUpdate, ToolCallStart, TurnStart

# A server that answers sooner leaves no time to use, and a conversation without tools should not pay.
_THINKING_SECONDS = 0.05
# After that, an answer is mostly a call of a tool, or so long that nobody notices what is loaded.
_MORE_SECONDS = 0.3
# What judges a call, and what takes its checkpoints and looks at its result.
_CODE = (
    "kaa.shell.approvals.gate",
    "kaa.shell.approvals.memory",
    "kaa.shell.approvals.rule_file",
    "kaa.workspace.sandbox.denials",
    "kaa.workspace.sandbox.watch",
)
_MORE_CODE = (
    "kaa.shell.checkpoints.permission",
    "kaa.workspace.checkpoints.local",
    "kaa.workspace.protected_files",
    "kaa.hands.checkpoints.states",
    "kaa.builtin.loop_detection.watching",
    "kaa.builtin.loop_detection.repeats",
    "kaa.builtin.command_kinds",
    "kaa.shell.checkpoints.git_settings",
    "kaa.builtin.seen_files",
    "kaa.workspace.sandbox.outside_services",
    "kaa.hands.confinement.failed_connections",
    "kaa.workspace.network.listening",
    "kaa.builtin.completion_check.proof",
    "kaa.shell.compaction.shortening",
)


class Preparation:
    """Loads the code that judges and runs tool calls, and starts processes for them.

    Args:
        warm_up: starts the processes; called for each reply with a call that needs one of them.
        expect: starts the one that takes checkpoints; called once, when a model thinks for longer.
        only_reads: tells the tools whose calls need none of them, and would compete with them for the processors.
    """

    def __init__(
        self,
        warm_up: Callable[[], None],
        expect: Callable[[], None] = lambda: None,
        only_reads: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._warm_up = warm_up
        self._expect = expect
        self._only_reads = only_reads
        self._timer: asyncio.TimerHandle | None = None
        self._loading: asyncio.Task[None] | None = None

    def observe(self, event: Event) -> None:
        """Follow the agent's events."""
        match event:
            case TurnStart() if self._loading is None:
                self._timer = asyncio.get_running_loop().call_later(_THINKING_SECONDS, self._prepare)
            case MessageUpdate(assistant_message_event=ToolCallStart(name=tool)):
                if not self._only_reads(tool):
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
        self._timer = asyncio.get_running_loop().call_later(_MORE_SECONDS - _THINKING_SECONDS, self._prepare_more)
        self._load(_CODE)

    def _prepare_more(self) -> None:
        self._expect()
        self._load(_MORE_CODE)

    def _load(self, names: Sequence[str]) -> None:
        self._loading = asyncio.create_task(_loaded(names, self._loading))
        self._loading.add_done_callback(asyncio.Task.exception)  # the call that needs the code raises it again

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


async def _loaded(names: Sequence[str], former: asyncio.Task[None] | None) -> None:
    """Load modules once others have been loaded."""
    if former is not None:
        await asyncio.wait((former,))
    await asyncio.to_thread(_load, names)


def _load(names: Sequence[str]) -> None:
    for name in names:
        import_module(name)
    from kaa.host.shell_grammar import load_grammar  # lazy, as the others

    load_grammar()
