"""What goes on beside the conversation, for the user: background processes, agents, and repeated prompts."""

import shlex
import signal
import sys

from kaa.builtin.truncate import keep_tail
from kaa.core.events import AgentEnd
from kaa.ext.api import CommandAction, CommandContext, ConversationContext, ExtensionAPI, Reply
from kaa.ext.errors import CommandError, RegistrationError
from kaa.workspace.protocol import BackgroundProcess, BackgroundProcesses

_SHOWN_LINES = 50
_TITLE_CHARACTERS = 60


def extend(api: ExtensionAPI) -> None:
    """Register /bg, /bg-cancel, /loop and /try."""

    async def show(arguments: str, context: CommandContext) -> CommandAction:
        processes = context.workspace.processes
        if arguments.strip() and not arguments.strip().isdecimal():
            return Reply(await _begin_agent(arguments.strip(), context))
        return Reply(_output(processes, arguments) if arguments.strip() else _list(processes))

    async def cancel(arguments: str, context: CommandContext) -> CommandAction:
        return Reply(await _cancel(context.workspace.processes, arguments))

    api.register_command(
        "bg",
        "Have an agent do a task in the background; list background processes, or show the output of one",
        show,
        argument_hint="[[@AGENT] TASK|NUMBER]",
        while_running=True,
    )
    about = "Repeat a prompt while kaa is open, at an interval such as 5m"
    api.register_command("loop", about, _loop, argument_hint="[INTERVAL PROMPT|stop]", while_running=True)
    api.on_event(AgentEnd)(_observe)
    about = "Have 2 to 8 agents attempt a task, each in a worktree; compare the results and take one over"
    hint = "N TASK [--check COMMAND]... [--models A,B,...] [--take best]"
    api.register_command("try", about, _try, argument_hint=hint)
    api.register_command("bg-cancel", "Stop a background process", cancel, argument_hint="NUMBER", while_running=True)


async def _loop(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.looping import loop  # lazy: few conversations repeat anything

    return await loop(arguments, context)


async def _try(arguments: str, context: CommandContext) -> CommandAction:
    from kaa.builtin.attempts.command import try_command  # lazy: few conversations attempt anything

    return await try_command(arguments, context)


def _observe(end: AgentEnd, context: ConversationContext) -> None:
    if "kaa.builtin.looping" in sys.modules:
        from kaa.builtin.looping import observe  # lazy, as above

        observe(end, context)


def title_of(process: BackgroundProcess) -> str:
    """What was run, in one short line."""
    argv = process.command.argv
    script = argv[2] if len(argv) == 3 and argv[1] == "-c" else shlex.join(argv)
    line, more, _ = script.strip().partition("\n")
    cut = line[:_TITLE_CHARACTERS]
    return cut + (" …" if more or cut != line else "")


def status_of(process: BackgroundProcess) -> str:
    """How it is, or how it ended."""
    result = process.result
    if result is None:
        match process.state:
            case "running":
                return f"running for {process.seconds:.0f} s"
            case "failed":
                return f"could not be run: {process.error}"
            case _:
                return "was stopped"
    if result.timed_out:
        return "was stopped by its timeout"
    if result.signal is not None:
        return f"was ended by signal {signal_name(result.signal)}"
    return f"exited with code {result.exit_code}"


def signal_name(number: int) -> str:
    """A signal's number and, if it has one, name."""
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)


def overview(processes: BackgroundProcesses) -> str:
    """One line for each process."""
    return "\n".join(f"{process.id}  {title_of(process)}  ({status_of(process)})" for process in processes.list())


def _list(processes: BackgroundProcesses) -> str:
    return overview(processes) or "Nothing runs in the background."


def _output(processes: BackgroundProcesses, arguments: str) -> str:
    from kaa.core.terminal_text import plain_text  # lazy: few commands run in the background

    process = _find(processes, arguments)
    if isinstance(process, str):
        return process
    text = plain_text(processes.output(process.id).data.decode("utf-8", "replace")).removesuffix("\n")
    lines = keep_tail(text.split("\n") if text else (), max_lines=_SHOWN_LINES)
    parts = [f"{process.id}  {title_of(process)}  ({status_of(process)})", lines.text or "(no output)"]
    if process.log_path is not None:
        parts.append(f"Whole output: {process.log_path}")
    return "\n".join(parts)


async def _begin_agent(typed: str, context: CommandContext) -> str:
    """Have an agent do a task in the background. Returns what is to be told.

    Raises:
        CommandError: there is no such agent, or none can be run.
    """
    name, _, task = typed.removeprefix("@").partition(" ") if typed.startswith("@") else ("general", "", typed)
    try:
        await context.call_tool("agent", {"agent": name, "task": task.strip(), "background": True})
    except RegistrationError as error:
        raise CommandError("agents are switched off: the tool agent is not active") from error
    return f"The agent {name} works in the background: /agents shows it."


async def _cancel(processes: BackgroundProcesses, arguments: str) -> str:
    process = _find(processes, arguments)
    if isinstance(process, str):
        return process
    if process.state != "running":
        return f"Process {process.id} does not run any more: it {status_of(process)}."
    await processes.stop(process.id)
    return f"Stopped process {process.id}: {title_of(process)}"


def _find(processes: BackgroundProcesses, arguments: str) -> BackgroundProcess | str:
    """The process that is meant, or what to tell the user."""
    known = {str(process.id): process for process in processes.list()}
    wanted = arguments.strip()
    if wanted in known:
        return known[wanted]
    return f"Give the number of a process: {', '.join(known)}." if known else "Nothing runs in the background."
