"""Runs the tool calls of one reply: bounded parallel, hooks around each, results recorded as they finish."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from kaa.core.arguments import ArgumentError
from kaa.core.events import (
    Event,
    MessageEnd,
    MessageStart,
    ToolArgumentsReplaced,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from kaa.core.hooks import Block, Hooks, Refuse, ReplaceArguments, RunAgain
from kaa.core.messages import TextContent, ToolCall, ToolResultMessage
from kaa.core.tool import Permit, Tool, ToolError, ToolResult, ToolRun, preparation_of, text_result

# How much live output is kept to be part of the result of a tool that is interrupted.
_KEPT_OUTPUT_CHARACTERS = 16_384

# How often hooks can have a tool run for one call. Each time somebody lifted another obstacle.
_MAX_RUNS = 5

_INTERRUPTED = "Interrupted by the user before it finished. It may have had effects."
# Hooks and questions come after the tool.
_STOPPED_AFTER = "It finished. The user stopped the run before its whole result was there."
# Such as one that the user was still asked about.
_NOT_BEGUN = "Stopped by the user before it began. It had no effects."


class _Run:
    """One call that runs: forwards live output and keeps the end of it.

    Attributes:
        has_begun: the tool was started: hooks, and the people they ask, take their time first.
        has_ended: it came to its end, and hooks look at its result.
    """

    def __init__(self, call: ToolCall, emit: Callable[[Event], None]) -> None:
        self._call = call
        self._emit = emit
        self._shown = ""
        self.permit: Permit | None = None
        self.has_begun = False
        self.has_ended = False
        self._running_since: float | None = None
        self._seconds = 0.0  # that it ran before

    @property
    def call_id(self) -> str:
        return self._call.id

    @property
    def why_no_result(self) -> str:
        """What stands in place of its result when the run is stopped."""
        if self.has_ended:
            return _STOPPED_AFTER
        return _INTERRUPTED if self.has_begun else _NOT_BEGUN

    @property
    def shown(self) -> str:
        """The end of what was shown so far."""
        return self._shown

    def update(self, delta: str, skipped_bytes: int = 0) -> None:
        self._shown = (self._shown + delta)[-_KEPT_OUTPUT_CHARACTERS:]
        self._emit(ToolExecutionUpdate(self._call.id, self._call.name, delta, skipped_bytes))

    def begin(self) -> None:
        """The tool starts now, perhaps for the second time."""
        self.has_begun, self.has_ended, self._running_since = True, False, time.monotonic()

    def pause(self) -> None:
        """The tool has ended. Hooks may ask people, and have it started once more."""
        if self._running_since is not None:
            self._seconds += time.monotonic() - self._running_since
            self._running_since = None

    def elapsed_ms(self) -> int:
        """Return how long the tool ran, without the hooks after it."""
        self.pause()
        return round(self._seconds * 1000)


class ToolExecutor:
    """Executes batches of tool calls.

    Args:
        tools: by name.
        hooks: what may block or change calls and results.
        emit: where events go; a message event is emitted before the event that reports the end of a tool.
        max_parallel: calls that run at the same time; 1 makes every batch sequential.
    """

    def __init__(
        self, tools: Mapping[str, Tool[ToolRun]], hooks: Hooks, emit: Callable[[Event], None], max_parallel: int
    ) -> None:
        self._tools = tools
        self._hooks = hooks
        self._emit = emit
        self._max_parallel = max_parallel
        self.denials: list[str] = []

    async def run(self, calls: Sequence[ToolCall]) -> tuple[ToolResultMessage, ...]:
        """Run all calls; the results come back in the order of the calls.

        On cancellation every call that has no result yet gets one that says so, then the cancellation goes on.
        """
        calls = [self._prepared(call) for call in calls]
        results: dict[int, ToolResultMessage] = {}
        running: dict[int, _Run] = {}
        slots = asyncio.Semaphore(1 if self._is_sequential(calls) else self._max_parallel)

        async def execute(index: int, call: ToolCall) -> None:
            async with slots:
                run = running[index] = _Run(call, self._emit)
                self._emit(ToolExecutionStart(call.id, call.name, call.arguments))
                try:
                    result = await self._execute(call, run)
                except asyncio.CancelledError:
                    if _is_being_cancelled():
                        raise
                    result = text_result(f"{call.name} cancelled itself. It may have had effects.", is_error=True)
                results[index] = self._record(call, run, result)

        try:
            if len(calls) == 1:
                await execute(0, calls[0])
            else:
                async with asyncio.TaskGroup() as group:
                    for index, call in enumerate(calls):
                        group.create_task(execute(index, call))
        except asyncio.CancelledError:
            for index, call in enumerate(calls):
                if index not in results:
                    run = running.get(index) or _Run(call, self._emit)
                    why = run.why_no_result
                    text = f"{run.shown}\n\n{why}" if run.shown else why
                    results[index] = self._record(call, run, text_result(text, is_error=True))
            raise
        except BaseExceptionGroup as group_error:
            # Tools cannot raise here; what can (a full disk under the session) is one failure, not many.
            raise group_error.exceptions[0] from None
        return tuple(results[index] for index in range(len(calls)))

    def _prepared(self, call: ToolCall) -> ToolCall:
        """The call as hooks, approvals and the user see it: with the tool's own names of arguments."""
        prepare = preparation_of(self._tools.get(call.name))
        if prepare is None or call.arguments_error is not None:
            return call
        try:
            return msgspec.structs.replace(call, arguments=prepare(call.arguments))
        except Exception:  # noqa: BLE001 - of an extension's tool, which says it again when it runs
            return call

    def _is_sequential(self, calls: Sequence[ToolCall]) -> bool:
        tools = (self._tools.get(call.name) for call in calls)
        return any(tool is not None and tool.sequential for tool in tools)

    async def _execute(self, call: ToolCall, run: _Run) -> ToolResult:
        """One call through its hooks. Whatever a tool or hook raises becomes a result the model can read."""
        tool = self._tools.get(call.name)
        if tool is None:
            return text_result(await self._missing(call.name), is_error=True)
        if call.arguments_error is not None:
            return text_result(f"{call.name} was not run: {call.arguments_error}. Send the call again.", is_error=True)
        try:
            admitted = await self._before(call, run)
        except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: a broken hook must not end the conversation
            return _hook_failed(f"{call.name} was not run", error)
        if isinstance(admitted, ToolResult):
            return admitted
        for _ in range(_MAX_RUNS):
            run.begin()
            result = await _run_tool(tool, admitted, run)
            run.pause()
            run.has_ended = True
            self.denials += result.denials
            try:
                final = await self._after(admitted, result)
            except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary, as above
                return _hook_failed(f"{call.name} was run, but its result cannot be shown", error)
            if isinstance(final, ToolResult):
                return final
            run.permit = final.permit or run.permit
        return self._refused(
            call, text_result(f"{call.name} was run {_MAX_RUNS} times."), Refuse("It is not run once more.")
        )

    async def _missing(self, name: str) -> str:
        """What the model is told of a tool that does not exist."""
        for explain in self._hooks.missing_tool:
            if advice := await explain(name):
                return f"Tool {name!r} does not exist. {advice}"
        known = ", ".join(name for name, tool in self._tools.items() if not tool.schema.deferred) or "none"
        return f"Tool {name!r} does not exist. Available tools: {known}."

    async def _before(self, call: ToolCall, run: _Run) -> ToolCall | ToolResult:
        """The call as the hooks want it, or the result that one of them blocked it with."""
        for before in self._hooks.before:
            verdict: object = await before(call)
            match verdict:
                case None:
                    pass
                case Block(reason=reason, denied=denied, advice=advice):
                    if denied:
                        self.denials.append(f"{call.name}: {reason}")
                    return text_result(f"{reason} {advice}".rstrip(), is_error=True)
                case ReplaceArguments(arguments=arguments, source=source):
                    if arguments != call.arguments:
                        self._emit(ToolArgumentsReplaced(call.id, call.name, arguments, source))
                    call = msgspec.structs.replace(call, arguments=arguments)
                    run.permit = None
                case Permit():
                    run.permit = verdict
                case _:
                    raise TypeError(f"{verdict!r} is neither Block, ReplaceArguments nor Permit")
        return call

    async def _after(self, call: ToolCall, result: ToolResult) -> ToolResult | RunAgain:
        """The result as the hooks want it, or the wish of one of them to run the tool again."""
        for after in self._hooks.after:
            verdict: object = await after(call, result)
            match verdict:
                case None:
                    pass
                case RunAgain():
                    return verdict
                case Refuse():
                    result = self._refused(call, result, verdict)
                case _:
                    result = _checked(verdict)
        return result

    def _refused(self, call: ToolCall, result: ToolResult, refusal: Refuse) -> ToolResult:
        if refusal.denied:
            self.denials.append(f"{call.name}: {refusal.reason}")
        reason = refusal.reason if refusal.appended is None else refusal.appended
        text = TextContent(f"{reason} {refusal.advice}".strip())
        return ToolResult((*result.content, text), result.details, is_error=result.is_error or refusal.is_error)

    def _record(self, call: ToolCall, run: _Run, result: ToolResult) -> ToolResultMessage:
        message = ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=result.content or (TextContent("(no output)"),),
            is_error=result.is_error,
            details=result.details,
        )
        self._emit(MessageStart(message))
        self._emit(MessageEnd(message))
        self._emit(ToolExecutionEnd(call.id, call.name, message, result.is_error, run.elapsed_ms()))
        return message


def _checked(result: object) -> ToolResult:
    """What a tool or hook returned. Extensions are not always type-checked, and forget to return something."""
    if not isinstance(result, ToolResult):
        raise TypeError(f"{result!r} is not a ToolResult")
    return result


def _is_being_cancelled() -> bool:
    """Whether somebody wants the current task to end, as opposed to something in it that was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _hook_failed(consequence: str, error: BaseException) -> ToolResult:
    """The result for the model if a hook failed. Failures of extensions do not arrive here: they name their owner."""
    return text_result(f"{consequence}: a hook failed ({type(error).__name__}: {error}). Tell the user.", is_error=True)


async def _run_tool(tool: Tool[ToolRun], call: ToolCall, run: _Run) -> ToolResult:
    try:
        return _checked(await tool.run(call.arguments, run))
    except ArgumentError as error:
        return text_result(f"Invalid arguments for {call.name}: {error}. Send the call again.", is_error=True)
    except ToolError as error:
        return text_result(str(error), details=error.details, is_error=True)
    except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: a broken tool must not end the conversation
        return text_result(f"{call.name} failed: {type(error).__name__}: {error}", is_error=True)
