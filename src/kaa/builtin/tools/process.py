"""The process tool: what the model can see of background processes and do to them."""

import codecs
from typing import Literal

import msgspec

from kaa.builtin.background import overview, status_of, title_of
from kaa.builtin.truncate import keep_tail
from kaa.core.tool import ToolError, ToolResult, TypedTool, text_result
from kaa.ext.context import ConversationContext, ToolContext
from kaa.workspace.blocked import Blocked, note
from kaa.workspace.protocol import BackgroundProcess, BackgroundProcesses, NoSuchProcessError

_DESCRIPTION = "Background processes of commands. output: what is new."


class ProcessArguments(msgspec.Struct, rename="camel", frozen=True):
    """What to do with which process."""

    action: Literal["list", "output", "stop"]
    id: int | None = None


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

    def news(self, process: BackgroundProcess) -> str:
        """What a process printed since the model last looked, and how it is."""
        from kaa.core.terminal_text import plain_text  # lazy: few calls look at processes

        position = self._positions.get(process.id, 0)
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


def process_tool() -> TypedTool[ProcessArguments, ToolContext]:
    """The tool."""
    return TypedTool("process", _DESCRIPTION, ProcessArguments, _process)


async def _process(arguments: ProcessArguments, context: ToolContext) -> ToolResult:
    processes = context.workspace.processes
    view = model_view(context)
    if arguments.action == "list":
        return _result(view.overview() or "No background processes.", view)
    if arguments.id is None:
        raise ToolError(f"id is missing: action {arguments.action} needs the number of a process.")
    try:
        if arguments.action == "stop":
            known = await processes.stop(arguments.id)
        else:
            known = await processes.wait(arguments.id, 0)
    except NoSuchProcessError as error:
        raise ToolError(str(error)) from error
    text = view.news(known)
    return _result("\n".join([text, *view.endings()]), view, known.id)


def model_view(context: ConversationContext) -> ModelView:
    """What the model of this conversation has seen; shared with bash, which starts the processes."""
    return context.state(ModelView, lambda: ModelView(context.workspace.processes))


def _result(text: str, view: ModelView, process_id: int | None = None) -> ToolResult:
    return text_result(text, details=msgspec.to_builtins(ProcessDetails(process_id, view.take_blocked())))
