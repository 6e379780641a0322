"""What the model has seen of background processes, and what it does to them."""

import asyncio
import codecs

import msgspec

from kaa.builtin.background import overview, status_of, title_of
from kaa.builtin.tools.process import ProcessArguments
from kaa.builtin.truncate import keep_tail
from kaa.core.messages import Json
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.context import ConversationContext, ToolContext
from kaa.ext.errors import RegistrationError
from kaa.workspace.blocked import Blocked, note
from kaa.workspace.protocol import BackgroundProcess, BackgroundProcesses, NoSuchProcessError

_MOST_LINE_BYTES = 4_094  # the kernel drops what a line of a terminal has beyond that and its end
_WAIT_SECONDS = 60.0
_ANSWER_SECONDS = 10.0  # for a program to answer what was written to it
_MOST_SECONDS = 600.0
_QUIET_SECONDS = 0.2  # without output, after some: the program may have said all


class ProcessDetails(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """For frontends and the gate. `blocked_earlier`: of processes that have ended, what the model learns only now."""

    process: int | None = None
    blocked_earlier: list[Blocked] = []


class ModelView:
    """What the model has seen of the background processes, so that it is told what is new and nothing twice."""

    def __init__(self, processes: BackgroundProcesses) -> None:
        self._processes = processes
        self._positions: dict[int, int] = {}
        self._known_to_have_ended: set[int] = set()
        self._blocked: list[Blocked] = []

    def knows(self, process_id: int) -> bool:
        """Whether the model was told of a process while it ran."""
        return process_id in self._positions

    def position(self, process_id: int) -> int:
        """How much of the output of a process the model has seen."""
        return self._positions.get(process_id, 0)

    def news(self, process: BackgroundProcess) -> str:
        """What a process printed since the model last looked, and how it is."""
        from kaa.core.terminal_text import plain_text  # lazy: few calls look at processes

        position = self.position(process.id)
        output = self._processes.output(process.id, position)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = plain_text(decoder.decode(output.data, final=process.state != "running")).removesuffix("\n")
        unfinished_character, _ = decoder.getstate()
        self._positions[process.id] = output.end - len(unfinished_character)
        kept = keep_tail(text.split("\n") if text else ())
        parts = [kept.text or ("(no output)" if output.end == 0 else "(nothing new)")]
        if output.start > position or kept.cut_by is not None:
            log = f" All of it: {process.log_path}" if process.log_path is not None else ""
            parts.insert(0, f"[The beginning is left out.{log}]")
        return "\n".join([*parts, self.status(process)])

    def status(self, process: BackgroundProcess, title: str = "") -> str:
        """How a process is, perhaps with what it is; that it has ended need not be said again."""
        if process.state != "running" and process.id not in self._known_to_have_ended:
            self._known_to_have_ended.add(process.id)
            self._blocked += process.blocked
        status = f"[Process {process.id}: {status_of(process)}] {title}".rstrip()
        if process.result is None:
            return status
        stopped = note((*process.blocked, *process.result.missed))
        return f"{status}\n{stopped}" if stopped else status

    def take_blocked(self) -> list[Blocked]:
        """What the sandbox stopped in the processes that were told to have ended since this was last asked."""
        blocked, self._blocked = self._blocked, []
        return blocked

    def overview(self) -> str:
        """One line for each process."""
        self.endings()  # the lines say it
        return overview(self._processes)

    def endings(self) -> list[str]:
        """A line for each process that has ended without the model having been told."""
        ended = [process for process in self._processes.list() if process.state != "running"]
        fresh = [process for process in ended if process.id not in self._known_to_have_ended]
        return [self.status(process, title_of(process)) for process in fresh]


async def act(arguments: ProcessArguments, context: ToolContext) -> ToolResult:
    """Do what a call of the tool wants."""
    processes = context.workspace.processes
    view = model_view(context)
    if arguments.action == "list":
        return _result(view.overview() or "No background processes.", view)
    if arguments.id is None:
        raise ToolError(f"id is missing: action {arguments.action} needs the number of a process.")
    try:
        match arguments.action:
            case "stop":
                known = await processes.stop(arguments.id)
            case "write":
                # As a call of bash, for which approvals, rules and checkpoints hold: input can be commands.
                given: dict[str, Json] = {"command": arguments.input or "", "process": arguments.id}
                return await context.call_tool("bash", {**given, "timeout": arguments.seconds})
            case "wait":
                seen = view.position(arguments.id)
                known = await _more(processes, arguments.id, seen, arguments.seconds or _WAIT_SECONDS)
            case _:
                known = await processes.wait(arguments.id, 0)
    except NoSuchProcessError as error:
        raise ToolError(str(error)) from error
    except RegistrationError as error:
        raise ToolError("Nothing can be written: the tool that runs commands is off.") from error
    return _news(known, view)


async def write_input(context: ToolContext, process_id: int, text: str, seconds: float | None) -> ToolResult:
    """Write input to a process, and wait for what it answers.

    Args:
        context: of the call.
        process_id: of the process.
        text: a line, which may lack its end, or keys.
        seconds: to wait at most; None for as long as programs take to answer.
    """
    processes, view = context.workspace.processes, model_view(context)
    line = text if text and ord(text[-1]) < ord(" ") else f"{text}\n"
    if max(map(len, line.encode("utf-8", "surrogateescape").split(b"\n"))) > _MOST_LINE_BYTES:
        raise ToolError(
            f"A line of input has at most {_MOST_LINE_BYTES:,} bytes: nothing was written. Write a file instead."
        )
    try:
        before = (await processes.wait(process_id, 0)).output_bytes
        if not await processes.write(process_id, line.encode("utf-8", "surrogateescape")):
            status = status_of(await processes.wait(process_id, 0))
            raise ToolError(
                f"Process {process_id} ({status}) takes no input: it has no terminal, does not read, or runs with other"
                " rights than commands have now."
            )
        return _news(await _more(processes, process_id, before, seconds or _ANSWER_SECONDS), view)
    except NoSuchProcessError as error:
        raise ToolError(str(error)) from error


async def _more(processes: BackgroundProcesses, process_id: int, position: int, seconds: float) -> BackgroundProcess:
    """Wait for the end of a process, or for output beyond a position and a pause after it."""
    clock = asyncio.get_running_loop().time
    until = clock() + min(seconds, _MOST_SECONDS)
    known = await processes.wait(process_id, min(seconds, _MOST_SECONDS), position)
    while known.state == "running" and known.output_bytes > position and (left := until - clock()) > 0:
        position = known.output_bytes
        known = await processes.wait(process_id, min(_QUIET_SECONDS, left), position)
    return known


def model_view(context: ConversationContext) -> ModelView:
    """What the model of this conversation has seen; shared with bash, which starts the processes."""
    return context.state(ModelView, lambda: ModelView(context.workspace.processes))


def _news(known: BackgroundProcess, view: ModelView) -> ToolResult:
    return _result("\n".join([view.news(known), *view.endings()]), view, known.id)


def _result(text: str, view: ModelView, process_id: int | None = None) -> ToolResult:
    return text_result(text, details=msgspec.to_builtins(ProcessDetails(process_id, view.take_blocked())))
