"""Runs commands: their output live on the screen, and what the model learns of their end."""

import re
from collections.abc import Sequence

import msgspec

from kaa.builtin.background import signal_name
from kaa.builtin.tools.bash import DEFAULT_TIMEOUT_SECONDS, BashArguments, BashCall
from kaa.builtin.tools.process_view import ModelView, model_view, write_input
from kaa.builtin.truncate import (
    MAX_BYTES,
    MAX_LINES,
    SHORT_END_BYTES,
    SHORT_END_LINES,
    TruncatedText,
    TruncationDetails,
    format_size,
    keep_head,
    keep_tail,
)
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.context import ToolContext
from kaa.workspace.blocked import Blocked, BlockedError, note
from kaa.workspace.protocol import BackgroundProcess, CommandRequest, CommandResult, Workspace

_MAX_TIMEOUT_SECONDS = 3600
_BEGINNING = 0.4  # of what the model gets of a long output; the rest is its end
_LEFT_OUT = "[…]"
_BACKGROUND_GRACE_SECONDS = 0.5  # for a server to say that its port is taken
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash")
_BROKEN_CHARACTERS = re.compile("\ufffd+")


class BashDetails(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """For frontends and the gate. Field names as in pi, where pi has them.

    Attributes:
        blocked: what the sandbox stopped in this command.
        blocked_earlier: what it stopped in background processes whose end the model learns only now.
    """

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    truncation: TruncationDetails | None = None
    full_output_path: str | None = None
    process: int | None = None
    blocked: list[Blocked] = []
    blocked_earlier: list[Blocked] = []


class _Shell:
    """The shell of a conversation's workspace, looked for once."""

    def __init__(self) -> None:
        self._path: str | None = None

    async def find(self, workspace: Workspace) -> str:
        """Its path."""
        if self._path is None:
            self._path = await find_shell(workspace)
        return self._path


async def run_command(arguments: BashCall, context: ToolContext) -> ToolResult:
    """Do what a call of the tool wants."""
    _check(arguments)
    if arguments.process is not None:
        return await write_input(context, arguments.process, arguments.command, arguments.timeout)
    timeout = arguments.timeout or (None if arguments.background else DEFAULT_TIMEOUT_SECONDS)
    view = model_view(context)
    try:
        shell = await context.state(_Shell, _Shell).find(context.workspace)
        argv = (shell, "-c", arguments.command)
        most_bytes = MAX_BYTES if arguments.background else context.features.output_kilobytes * 1024
        command = CommandRequest(
            argv, timeout=timeout, tail_bytes=most_bytes, spill_lines=MAX_LINES, terminal=arguments.background
        )
        if arguments.background:
            return await _in_background(context.workspace, command, view)
        result = await _run(context, command)
    except BlockedError as error:
        details = BashDetails(blocked=[error.blocked])
        raise ToolError(note(details.blocked), msgspec.to_builtins(details)) from error
    except OSError as error:
        raise ToolError(f"The command could not be run: {error}") from error
    failures = await _failures(arguments.command, result, context)
    head = await _beginning(result, most_bytes, context.workspace) if failures is None else None
    return _report(result, timeout, view, failures, head)


async def _beginning(result: CommandResult, most_bytes: int, workspace: Workspace) -> TruncatedText | None:
    """The beginning of a long output, which often says what the end is about."""
    if result.log_path is None:
        return None
    from kaa.core.terminal_text import plain_text  # lazy: as below

    most = int(_BEGINNING * most_bytes)
    try:
        data = (await workspace.read(result.log_path, 0, most)).data
    except OSError:  # the log is gone
        return None
    lines = plain_text(data.decode("utf-8", "replace")).split("\n")[:-1]
    head = keep_head(lines, int(_BEGINNING * MAX_LINES), most)
    return head if head.lines else None


async def _failures(command: str, result: CommandResult, context: ToolContext) -> str | None:
    """What failed, for the long output of a known test runner or compiler."""
    if result.log_path is None:
        return None
    from kaa.builtin.condensing.failures import failures_in  # lazy: few outputs are that long

    return await failures_in(command, result, context)


def _check(arguments: BashArguments) -> None:
    if arguments.timeout and not 0 < arguments.timeout <= _MAX_TIMEOUT_SECONDS:
        raise ToolError(f"timeout must be between 1 and {_MAX_TIMEOUT_SECONDS} seconds.")
    if "\0" in arguments.command:
        raise ToolError("command holds a NUL character, which no command line can carry. Write \\0 instead.")


async def _run(context: ToolContext, command: CommandRequest) -> CommandResult:
    """Run a command to its end with its output on the screen."""
    from kaa.builtin.live_output import StreamedOutput  # lazy: many turns run nothing
    from kaa.builtin.seen_files import seen_files  # lazy: many turns call no tool

    live = StreamedOutput(context.update)
    try:
        with seen_files(context).command(command.argv[-1], context):
            return await context.workspace.run(command, live.feed)
    finally:
        live.close()


async def _in_background(workspace: Workspace, command: CommandRequest, view: ModelView) -> ToolResult:
    """Start a command, and see whether it ends right away."""
    started = await workspace.run_in_background(command)
    try:
        process = await workspace.processes.wait(started.id, _BACKGROUND_GRACE_SECONDS)
    except BaseException:  # the call is over before anybody learned of the process
        await workspace.processes.stop(started.id)
        raise
    return _background_report(process, view)


def _background_report(process: BackgroundProcess, view: ModelView) -> ToolResult:
    news = view.news(process)
    if process.state == "failed":
        raise ToolError(news, msgspec.to_builtins(BashDetails(blocked=view.take_blocked())))
    result = process.result
    if result is not None:
        return _report(result, process.command.timeout, view)
    text = "\n".join([news, *view.endings()])
    details = BashDetails(process=process.id, blocked_earlier=view.take_blocked())
    return text_result(text, details=msgspec.to_builtins(details))


async def find_shell(workspace: Workspace) -> str:
    """The shell to run commands with: bash where it is."""
    for path in _SHELLS:
        if await workspace.stat(path) is not None:
            return path
    return "/bin/sh"


def _report(
    result: CommandResult,
    timeout: float | None,
    view: ModelView,
    failures: str | None = None,
    head: TruncatedText | None = None,
) -> ToolResult:
    """Say what the model learns of a command that has ended.

    Args:
        result: how it ended.
        timeout: its limit in seconds.
        view: what the model knows of other processes.
        failures: come before a shorter end of the output.
        head: the beginning of a long output, likewise.
    """
    kept = kept_output(result)
    if failures is not None:
        kept = shorter(kept, SHORT_END_LINES, SHORT_END_BYTES)
    elif head is not None:
        share = 1 - _BEGINNING
        end = shorter(kept, int(share * MAX_LINES), int(share * len(result.tail)))
        if len(head.lines) + len(end.lines) >= result.output_lines:  # without colours, all of it is short
            head = None
        else:
            kept = end
    status = _failure(result, timeout)
    parts = [kept.text if kept.text.strip("\n") else "(no output)" if status else "exit code 0, no output"]
    if failures is not None:
        parts[0] = f"{failures}\n{parts[0]}"
    elif head is not None:
        parts[0] = f"{head.text}\n{_LEFT_OUT}\n{parts[0]}"
    truncation = None
    if kept.cut_by is not None:
        parts.append(_truncation_note(result, kept, head))
        shown = len(kept.lines) + (len(head.lines) if head else 0)
        size = kept.size + (head.size if head else 0)
        truncation = TruncationDetails(kept.cut_by, shown, size, result.output_bytes, result.output_lines)
    if result.leftovers:
        stopped = (
            "1 background process was" if result.leftovers == 1 else f"{result.leftovers} background processes were"
        )
        parts.append(f"[{stopped} stopped when the command ended. To keep a process running, use background: true.]")
    if status is not None:
        parts.append(status)
    if result.blocked or result.missed:
        parts.append(note((*result.blocked, *result.missed)))
    parts += result.outside
    if result.told_user:
        parts.append(_told_user(result.told_user))
    if endings := view.endings():
        parts.append("\n".join(endings))
    details = BashDetails(
        result.exit_code,
        result.signal,
        result.timed_out,
        truncation,
        result.log_path,
        blocked=list(result.blocked),
        blocked_earlier=[one for one in view.take_blocked() if one not in result.blocked],
    )
    return text_result("\n\n".join(parts), details=msgspec.to_builtins(details), is_error=status is not None)


def _told_user(found: Sequence[Blocked]) -> str:
    """What came to light beside the model's calls: no reason to do anything, but it explains missing files."""
    moved = (f"{one.what} was moved to {one.kept_as}" if one.kept_as else one.text.removesuffix(".") for one in found)
    return f"[Meanwhile, not by this command, as kaa told the user: {'; '.join(moved)}.]"


def kept_output(result: CommandResult) -> TruncatedText:
    """The end of the output as plain text.

    Nothing is cut that cannot be read elsewhere: the limit on lines holds only if the log has the rest.
    """
    from kaa.core.terminal_text import plain_text  # lazy: as above

    text = _BROKEN_CHARACTERS.sub("\ufffd", plain_text(result.tail.decode("utf-8", "replace")))
    lines = text.removesuffix("\n").split("\n") if text else []
    begins_within_a_line = result.output_bytes > len(result.tail)
    if not begins_within_a_line:
        return keep_tail(lines) if result.log_path is not None else TruncatedText(tuple(lines), len(text))
    if len(lines) <= 1:
        end = lines[0].lstrip("\ufffd") if lines else ""
        return TruncatedText((end,), len(end), "bytes", partial=True)
    kept = keep_tail(lines[1:])
    return TruncatedText(kept.lines, kept.size, kept.cut_by or "bytes", kept.partial)


def shorter(kept: TruncatedText, most_lines: int, most_bytes: int) -> TruncatedText:
    """Less of the end of an output, where something else of it comes before."""
    end = keep_tail(kept.lines, most_lines, most_bytes)
    return TruncatedText(end.lines, end.size, end.cut_by or kept.cut_by, end.partial or kept.partial)


def _truncation_note(result: CommandResult, kept: TruncatedText, head: TruncatedText | None) -> str:
    total = result.output_lines
    if kept.partial:
        extent = f"The last {format_size(kept.size)} of line {total} of {total}"
    else:
        extent = f"Lines {total - len(kept.lines) + 1}-{total} of {total}"
    if head is not None:
        extent = f"The first {len(head.lines)} lines; {extent[0].lower()}{extent[1:]}"
    if result.log_path is None:
        rest = "The rest was not kept"
    else:
        rest = f"{'Beginning of the output' if result.log_cut else 'Full output'}: {result.log_path}"
    return f"[{extent}. {rest}]"


def _failure(result: CommandResult, timeout: float | None) -> str | None:
    """How a command failed, None if it did not."""
    if result.timed_out and timeout is not None:
        return f"Command timed out after {timeout:g} seconds. Set a larger timeout, or run something quicker."
    if result.signal is not None:
        return f"Command was ended by signal {signal_name(result.signal)}"
    if result.exit_code != 0:
        return f"Command exited with code {result.exit_code}"
    return None
