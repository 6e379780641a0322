"""Print and JSON mode: work on the messages of the command line, say what happens, exit with a code that tells.

The frontend holds no logic of its own: it opens a conversation, submits messages and writes events down.
"""

import asyncio
import os
import sys
import traceback
from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol, TextIO

import msgspec

from kaa.builtin.tools import REQUEST_TOOL
from kaa.core.events import AgentEnd, Event
from kaa.core.messages import UserMessage
from kaa.ext.errors import CommandError, ExtensionFailedError
from kaa.frontends.command_line import CommandLineOptions, UsageError
from kaa.frontends.delivery import OutputError
from kaa.frontends.exit_codes import ExitCode, of_reason
from kaa.frontends.interruption import run_to_exit_code
from kaa.host.log import LOG
from kaa.host.prints import prints_on_stderr
from kaa.llm.models.registry import NoModelError, UnknownModelError
from kaa.shell.attachments import PermitSecret, compose
from kaa.shell.conversation import CommandNotRun, CommandReply, Conversation, SessionToOpen
from kaa.shell.home import Home
from kaa.shell.host import Host, HostedConversation, HostNotice
from kaa.shell.options import ConversationOptions
from kaa.shell.safety import UnopenedWorkspace
from kaa.shell.work_queue import WorkQueue
from kaa.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from kaa.ext.display import DisplayKind, DisplayUpdate


# How long a run that is done waits for servers that it is the first to list.
_LISTING_SECONDS = 1.0


class Output(Protocol):
    """A way to write a run down."""

    def event(self, event: Event) -> None: ...

    def begin(self, conversation: Conversation) -> None:
        """Write what identifies the session, and from now on what happens in it."""

    def reply(self, text: str) -> None:
        """Write what a slash command answered."""

    def notice(self, notice: HostNotice) -> None: ...

    @property
    def shows(self) -> "Collection[DisplayKind]":
        """What it writes of what extensions show; see `DisplayOutput`."""

    def show(self, update: "DisplayUpdate") -> None:
        """Write what an extension shows."""

    def failure(self, message: str) -> None:
        """Write why nothing was done."""

    def no_model(self, error: NoModelError) -> None:
        """Write how to get going."""


def main(command_line: CommandLineOptions, workspace: LocalWorkspace | UnopenedWorkspace) -> int:
    """Run print or JSON mode.

    Args:
        workspace: opened already, to be ready when the rest of kaa is.

    Returns:
        The exit code.
    """
    output = _output(command_line)
    if isinstance(workspace, UnopenedWorkspace):
        output.failure(workspace.reason)
        return ExitCode.USAGE if workspace.usage else ExitCode.FAILED
    return run_to_exit_code(_run(command_line, workspace, output))


def _output(command_line: CommandLineOptions) -> Output:
    """What writes the run down; only the one that is wanted is loaded."""
    if command_line.as_json:
        from kaa.frontends.json_output import JsonOutput

        return JsonOutput(sys.stdout.buffer, sys.stderr)
    from kaa.frontends.text_output import TextOutput

    return TextOutput(sys.stdout, sys.stderr, verbose=command_line.verbose)


async def _run(command_line: CommandLineOptions, workspace: LocalWorkspace, output: Output) -> int:
    with prints_on_stderr():
        return await _converse(command_line, workspace, output)


async def _converse(command_line: CommandLineOptions, workspace: LocalWorkspace, output: Output) -> int:
    """Open the conversation, submit every message, close everything; whatever goes wrong becomes an exit code."""
    host = Host(command_line.host_options(), Home.of(os.environ), os.environ, output.notice, display=output)
    host.workspaces.adopt(workspace, command_line.sandbox)
    try:
        messages, options, hosted = await _open(command_line, host, workspace, output)
        ends: list[AgentEnd] = []
        try:
            await _begin(hosted, output, ends)
            while isinstance(ended := await _submit_all(messages, hosted.work, output), SessionToOpen):
                hosted = await host.switch(hosted, options.going_to(ended.choice), workspace)
                await _begin(hosted, output, ends)
                output.reply(ended.text)
            if command_line.patch is not None and not await _wrote(command_line.patch, hosted.conversation, output):
                return ended or ExitCode.FAILED
            await _finish_listing(host)
            return ended
        except asyncio.CancelledError:
            if all(end.reason != "aborted" for end in ends):  # no run was under way that would have said it
                output.event(AgentEnd("aborted", (), "stopped by the user"))
            raise
        finally:
            await host.end(hosted)
    except NoModelError as error:
        output.no_model(error)
        return ExitCode.USAGE if isinstance(error, UnknownModelError) else ExitCode.NO_MODEL
    except (BrokenPipeError, OutputError):
        raise  # there is nobody to tell
    except Exception as error:  # noqa: BLE001 isolation boundary: even a bug of ours ends with a reason where it is looked for
        return _tell_failure(error, output)
    finally:
        await host.close()


def _tell_failure(error: Exception, output: Output) -> ExitCode:
    """Tell what ended a run."""
    try:
        from kaa.frontends.failures import FAILURES, USAGE_ERRORS  # lazy, both: few runs fail
        from kaa.tui.sanitize import sanitize
    except Exception:  # noqa: BLE001 isolation boundary: kaa was updated meanwhile, or can open no file; the reason is told
        LOG.error("kaa failed", exc_info=error)
        output.failure(f"{type(error).__name__}: {error}")
        return ExitCode.FAILED
    if isinstance(error, USAGE_ERRORS):
        output.failure(str(error))
        return ExitCode.FAILED if isinstance(error, ExtensionFailedError) else ExitCode.USAGE
    if isinstance(error, FAILURES):
        output.failure(str(error))
        return ExitCode.FAILED
    LOG.error("kaa failed", exc_info=error)
    sys.stderr.write(sanitize(traceback.format_exc()))  # an exception may quote what a server or a file says
    output.failure(f"a bug in kaa or an extension: {type(error).__name__}: {error}. Please report it with the above.")
    return ExitCode.FAILED


async def _open(
    command_line: CommandLineOptions, host: Host, workspace: LocalWorkspace, output: Output
) -> tuple[list[UserMessage], ConversationOptions, HostedConversation]:
    """What is to be said, what was chosen for the conversation in which to say it, and that."""
    try:
        first, rest = await compose(
            command_line.messages, await _piped_input(sys.stdin), workspace, _warning_of_secrets(output)
        )
        options = command_line.conversation_options()
        # Nobody watches this run: of what the user trusted before, only instructions that are still the same hold.
        options = msgspec.structs.replace(
            options,
            trust=options.trust or "instructions",
            exclude_tools=(*options.exclude_tools, REQUEST_TOOL),
            unattended=True,
        )
        hosted = await host.open(options, workspace)
    except asyncio.CancelledError:
        output.event(AgentEnd("aborted", (), "stopped by the user"))  # later it is the agent that says so
        raise
    return [first, *rest], options, hosted


def _warning_of_secrets(output: Output) -> PermitSecret:
    """The command line names the file, and nobody can be asked: it is attached, with a warning."""

    async def permit(path: str) -> bool:
        output.notice(HostNotice(f"{path} may hold secrets, and is sent to the model because you attached it"))
        return True

    return permit


async def _begin(hosted: HostedConversation, output: Output, ends: list[AgentEnd]) -> None:
    """Begin a conversation. The ends of its runs are added to `ends`.

    Raises:
        UsageError: each call would wait for an answer.
    """
    if hosted.conversation.approvals.policy == "step":
        raise UsageError(
            "the approval mode step waits for an answer before each call, and print and JSON mode cannot ask: use the"
            " terminal or rpc mode, or choose another mode, such as --approvals auto"
        )
    output.begin(hosted.conversation)
    hosted.conversation.subscribe(lambda event: ends.append(event) if isinstance(event, AgentEnd) else None)
    await hosted.begin()


async def _wrote(patch: str, conversation: Conversation, output: Output) -> bool:
    """Write what the session changed into a file; False if that failed, which was said."""
    from kaa.builtin.git_patch import git_patch  # lazy: few runs want one
    from kaa.session.export.request import ExportError

    try:
        changes = await conversation.navigation.changes()
        written = await asyncio.to_thread(git_patch, changes.files)
        await conversation.exporting.write_text(patch, written.text, force=True)
    except (CommandError, ExportError) as error:
        output.failure(f"the patch was not written: {error}")
        return False
    for gap in (*changes.gaps, *written.left_out):
        output.notice(HostNotice(f"not in {patch}: {gap}"))
    return True


async def _finish_listing(host: Host) -> None:
    """Give MCP servers that were never listed a moment, and leave the others to a process of their own."""
    for unlisted in await host.unlisted_servers(_LISTING_SECONDS):
        from kaa.frontends.mcp.listing_later import list_later  # lazy: most runs know what their servers offer

        list_later(unlisted)


async def _submit_all(messages: list[UserMessage], work: WorkQueue, output: Output) -> ExitCode | SessionToOpen:
    """Submit messages; each one leaves the list. Returns how it ended, or the session to resume.

    What extensions send is worked on, too.
    """
    while messages:
        message = messages.pop(0)
        outcome = await work.submit(message)
        match outcome:
            case CommandNotRun(text=text):
                from kaa.frontends.terminal_commands import why_not_here  # lazy: few messages are commands

                output.failure(why_not_here(message) or text)
                return ExitCode.FAILED
            case CommandReply(text=text, refused=True, over_budget=over_budget):
                output.failure(text)
                return ExitCode.BUDGET if over_budget else ExitCode.FAILED
            case CommandReply(text=text, over_budget=over_budget):
                output.reply(text)
                if over_budget:
                    return ExitCode.BUDGET
            case SessionToOpen():
                return outcome
            case AgentEnd(reason=reason) if reason != "done":
                if reason != "aborted":
                    await work.idle_work_done()  # such as what a plan that failed leaves to be said
                return of_reason(reason)
            case _:
                pass
        if (end := await work.settled()) is not None and end.reason != "done":
            return of_reason(end.reason)
    return ExitCode.DONE


# How long piped input may stay silent before the user is told that we wait for it.
_SILENT_WAIT_SECONDS = 2.0

_PIECE_BYTES = 64 * 1024


async def _piped_input(stdin: TextIO) -> str:
    """What comes in, to its end; nothing when a person sits at the keyboard.

    Raises:
        OSError: it cannot be read.
    """
    if stdin.isatty():
        return ""
    content = await _read_to_end(stdin.fileno())
    return content.decode("utf-8", errors="replace")


async def _read_to_end(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    received = bytearray()
    ended = loop.create_future()

    def take() -> None:
        hint.cancel()
        try:
            piece = os.read(descriptor, _PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            loop.remove_reader(descriptor)
            ended.set_exception(error)
            return
        received.extend(piece)
        if not piece:
            loop.remove_reader(descriptor)
            ended.set_result(None)

    hint = loop.call_later(_SILENT_WAIT_SECONDS, _say_what_we_wait_for)
    try:
        loop.add_reader(descriptor, take)
        await ended
    except PermissionError:  # files and /dev/null cannot be waited for: they are always ready
        return _read_file(descriptor)
    finally:
        hint.cancel()
        loop.remove_reader(descriptor)
    return bytes(received)


def _read_file(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def _say_what_we_wait_for() -> None:
    sys.stderr.write("kaa: waiting for standard input to end (</dev/null if there is none to come)\n")
