"""Prepares the first tool call while the model thinks: the first one would wait for code and processes otherwise."""

import asyncio
from collections.abc import Callable, Sequence
from importlib import import_module

from kaa.core.events import AgentEnd, Event, MessageUpdate, ToolCallStart, TurnStart
from kaa.ext.tools import Risk

# A server that answers sooner leaves no time to use, and a conversation without tools should not pay.
_THINKING_SECONDS = 0.05
# After that, an answer is mostly a call of a tool, or so long that nobody notices what is loaded.
_MORE_SECONDS = 0.3
# What judges a call, and what looks at its result.
_CODE = (
    "kaa.shell.approvals.gate",
    "kaa.shell.approvals.memory",
    "kaa.shell.approvals.rule_file",
    "kaa.workspace.sandbox.watch",
)
_MORE_CODE = (
    "kaa.builtin.encoding",
    "kaa.builtin.images",
    "kaa.builtin.loop_detection.watching",
    "kaa.builtin.seen_files",
    "kaa.shell.compaction.shortening",
)
# What calls need besides that may do more than read: loaded when one begins, while its arguments come.
_CHANGE_CODE = (
    "kaa.workspace.checkpoints.local",
    "kaa.workspace.protected_files",
    "kaa.hands.checkpoints.states",
    "kaa.shell.checkpoints.permission",
    "kaa.shell.checkpoints.git_settings",
    "kaa.builtin.completion_check.proof",
    "kaa.builtin.command_kinds",
    "kaa.builtin.tools.running",
    "kaa.workspace.sandbox.denials",
    "kaa.workspace.sandbox.outside_services",
    "kaa.hands.confinement.failed_connections",
)


class Preparation:
    """Loads the code that judges and runs tool calls, and starts processes for them.

    Args:
        warm_up: starts the processes; called for each reply with a call, but not for calls that only read: they need
            none of these processes, which would compete with them for the processors.
        expect: starts the one that takes checkpoints; called once, when a model thinks for longer.
        risk_of: what calls of a tool can do at most.
    """

    def __init__(
        self,
        warm_up: Callable[[], None],
        expect: Callable[[], None] = lambda: None,
        risk_of: Callable[[str], Risk] = lambda _: "outside",
    ) -> None:
        self._warm_up = warm_up
        self._expect = expect
        self._risk_of = risk_of
        self._is_prepared = False
        self._has_changes = False
        self._timer: asyncio.TimerHandle | None = None
        self._loading: asyncio.Task[None] | None = None

    def observe(self, event: Event) -> None:
        """Follow the agent's events."""
        match event:
            case TurnStart() if not self._is_prepared:
                self._timer = asyncio.get_running_loop().call_later(_THINKING_SECONDS, self._prepare)
            case MessageUpdate(assistant_message_event=ToolCallStart(name=tool)):
                if self._risk_of(tool) != "read":
                    self._prepare_change()
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

    def _prepare_change(self) -> None:
        self._warm_up()
        if not self._has_changes:
            self._has_changes = True
            self._load(_CHANGE_CODE)

    def _prepare(self) -> None:
        self._is_prepared = True
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
