"""Commands that the user runs himself (`!command`): in the project, with his own rights and not in the sandbox.

The person at the keyboard typed it, so nobody is asked. Secrets are taken out of the environment as for every command.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from kaa.builtin.live_output import StreamedOutput
from kaa.builtin.tools.running import find_shell, kept_output
from kaa.builtin.truncate import MAX_BYTES, MAX_LINES
from kaa.core.agent import Agent
from kaa.core.events import (
    AgentEnd,
    CompactionEnd,
    Event,
    TurnEnd,
    UserCommandEnd,
    UserCommandStart,
    UserCommandUpdate,
)
from kaa.core.messages import now_ms
from kaa.ext.errors import CommandError
from kaa.session.as_user_message import command_message
from kaa.session.entries import BashExecution
from kaa.session.recorder import SessionRecorder
from kaa.workspace.output import OutputCollector
from kaa.workspace.protocol import CommandRequest, CommandResult, Workspace

_CANNOT_RUN = 126  # what shells say of a command that cannot be executed


class UserCommands:
    """Runs the user's commands, one at a time. All calls must come from the conversation's event loop.

    A command that ends while the agent works is noted in the session, and the model told of it, when the tools of the
    turn are done: nothing may come between a tool call and its result.

    Args:
        agent: is told of commands that belong to the conversation, and tells everyone of all of them.
        unconfined: gives the project without a sandbox; called with the first command.
    """

    def __init__(
        self,
        agent: Agent,
        recorder: SessionRecorder,
        unconfined: Callable[[], Workspace],
        before: Callable[[], Awaitable[None]],
    ) -> None:
        self._agent = agent
        self._recorder = recorder
        self._unconfined = unconfined
        self._before = before
        self._running: asyncio.Task[CommandResult] | None = None
        self._unrecorded: list[BashExecution] = []
        agent.subscribe(self._observe)

    async def run(self, command: str, *, in_context: bool) -> UserCommandEnd:
        """Run a command to its end, or until `abort`. Output and end are events too.

        Args:
            in_context: the model is told of it with the next request.

        Raises:
            CommandError: another one is running, or this is none.
            SessionViewedError: the session is open read-only; the command did not run.
            SessionWriteError: the session can no longer be written.
        """
        if self._running is not None:
            raise CommandError("a command of yours is still running: stop it, or wait for its end")
        self._recorder.require_writable()
        if not command.strip():
            raise CommandError("the command is empty: give a shell command, such as git status")
        if "\0" in command:
            raise CommandError("the command contains a NUL character: remove it, no shell can run it")
        started, begun = now_ms(), time.monotonic()
        output = OutputCollector(MAX_BYTES, logs=None, on_output=None)
        # From here on there is a task, so that no second command begins and `abort` has something to stop.
        self._running = asyncio.ensure_future(self._run(command, output))
        try:
            self._agent.emit(UserCommandStart(command, in_context))
            result, cancelled = await self._outcome(self._running, output)
        finally:
            self._running.cancel()
            self._running = None
        kept = kept_output(result)
        truncated = kept.cut_by is not None
        end = UserCommandEnd(
            command,
            in_context,
            kept.text,
            None if cancelled else result.exit_code,
            cancelled,
            truncated,
            result.log_path,
            round((time.monotonic() - begun) * 1000),
        )
        self._keep(_execution(end, started))
        self._agent.emit(end)
        return end

    def abort(self) -> None:
        """Stop the command that is under way, if there is one: its whole tree, TERM, then KILL."""
        if self._running is not None:
            self._running.cancel()

    async def close(self) -> None:
        """Stop the command that is under way; note what it has printed and what a run that broke off left unrecorded.

        Raises:
            SessionWriteError: the session cannot be written.
        """
        if self._running is not None:
            self.abort()
            await asyncio.wait((self._running,))  # then `run` notes it
        self._record_all()

    async def _run(self, command: str, output: OutputCollector) -> CommandResult:
        live = StreamedOutput(lambda delta, skipped: self._agent.emit(UserCommandUpdate(delta, skipped)))

        def on_output(chunk: bytes) -> None:
            output.feed(chunk)
            live.feed(chunk)

        try:
            workspace = self._unconfined()
            argv = (await find_shell(workspace), "-c", command)
            await self._before()
            return await workspace.run(CommandRequest(argv, tail_bytes=MAX_BYTES, spill_lines=MAX_LINES), on_output)
        except OSError as error:
            said = f"The command could not be run: {error}\n".encode()
            on_output(said)
            return CommandResult(_CANNOT_RUN, None, output.tail, output.size, output.lines)
        finally:
            live.close()

    async def _outcome(
        self, running: asyncio.Task[CommandResult], output: OutputCollector
    ) -> tuple[CommandResult, bool]:
        """How the command ended, and whether it was stopped; then with what it had printed until then."""
        try:
            return await running, False
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise  # it is us who is to stop
            return CommandResult(None, None, output.tail, output.size, output.lines), True

    def _observe(self, event: Event) -> None:
        if self._unrecorded and isinstance(event, TurnEnd | AgentEnd | CompactionEnd):
            self._record_all()

    def _keep(self, execution: BashExecution) -> None:
        self._unrecorded.append(execution)
        if not self._agent.is_running:
            self._record_all()

    def _record_all(self) -> None:
        while self._unrecorded:
            execution = self._unrecorded[0]
            self._recorder.command(execution)
            self._unrecorded.pop(0)
            if not execution.exclude_from_context:
                self._agent.inform(command_message(execution))


def _execution(end: UserCommandEnd, started: int) -> BashExecution:
    """A command as the session has it."""
    return BashExecution(
        command=end.command,
        output=end.output,
        exit_code=end.exit_code,
        cancelled=end.cancelled,
        truncated=end.truncated,
        full_output_path=end.full_output_path,
        exclude_from_context=not end.in_context,
        timestamp=started,
    )
