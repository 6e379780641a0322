"""A conversation in a process without a terminal: it works until all is done and nobody is attached.

`kaa agents start` starts it (`starting.py`), and gets one line from it on stdout: that it listens, or why it does not.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from kaa.core.events import Event, MessageEnd
from kaa.core.messages import UserMessage, user_message
from kaa.frontends.command_line import CommandLineOptions
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.failures import FORESEEN
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.live.questions import SharedQuestions
from kaa.frontends.live.serving import LiveServer
from kaa.frontends.live.starting import HandedOver, Started
from kaa.host.log import LOG
from kaa.host.prints import prints_in_log
from kaa.host.private_sockets import PrivateSocketError
from kaa.session.unfinished import note_work
from kaa.shell.attachments import compose
from kaa.shell.conversation import CommandNotRun, CommandReply, SessionToOpen
from kaa.shell.home import Home
from kaa.shell.host import Host, HostedConversation, HostNotice
from kaa.shell.safety import UnopenedWorkspace
from kaa.workspace.local import LocalWorkspace

# A hook may take longer, or ask something that can only be answered when this process was found.
_BEGIN_SECONDS = 3.0
# Between two looks at whether all is done.
_PAUSE_SECONDS = 0.2
# The work that is noted in case this process is killed.
_KIND = "detached"


def main(
    command_line: CommandLineOptions, workspace: LocalWorkspace | UnopenedWorkspace, handed_over: HandedOver | None
) -> int:
    """Run the conversation. Returns the exit code.

    Args:
        handed_over: the conversation that goes on; None begins one with the messages of the command line.
    """
    if isinstance(workspace, UnopenedWorkspace):
        sys.stderr.write(f"kaa: {workspace.reason}\n")
        return ExitCode.USAGE if workspace.usage else ExitCode.FAILED
    # It outlives the terminal in which it was started.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return run_to_exit_code(_run(command_line, workspace, handed_over), (signal.SIGINT, signal.SIGTERM))


async def _run(command_line: CommandLineOptions, workspace: LocalWorkspace, handed_over: HandedOver | None) -> int:
    home = Home.of(os.environ)
    questions = SharedQuestions()
    server = LiveServer(home, questions, has_terminal=False)

    def notify(told: HostNotice) -> None:
        server.notice(told.text)

    host = Host(command_line.host_options(), home, os.environ, notify, questions)
    host.workspaces.adopt(workspace, command_line.sandbox)
    try:
        try:
            messages, hosted = await _open(command_line, host, workspace, handed_over)
            await server.open(hosted)
        except (*FORESEEN, PrivateSocketError) as error:
            sys.stderr.write(f"kaa: {error}\n")
            return ExitCode.FAILED
        with prints_in_log():
            await _work_until_end(host, hosted, messages, server)
    except Exception:
        LOG.exception("kaa failed")
        raise
    finally:
        server.close()
        await host.close()
    return ExitCode.DONE


async def _open(
    command_line: CommandLineOptions, host: Host, workspace: LocalWorkspace, handed_over: HandedOver | None
) -> tuple[list[UserMessage], HostedConversation]:
    async def permit(_path: str) -> bool:
        return True  # the command line names the file

    options = command_line.conversation_options()
    if handed_over is not None:
        # What was chosen in the session counts more than how it was begun.
        options = msgspec.structs.replace(options, trust=options.trust or "stored", fixed=(), goes_on=True)
        hosted = await host.open(options, workspace)
        for limit in handed_over.limits:
            hosted.conversation.budget.set_limit(limit.scope, limit.measure, limit.amount)
        await hosted.begin()
        notes = [user_message(handed_over.note, origin="command")] if handed_over.note else []
        waiting = hosted.conversation.take_left()
        return [*notes, *waiting, *map(user_message, handed_over.messages)], hosted
    first, rest = await compose(command_line.messages, "", workspace, permit)
    # Nobody is attached yet: of what the user trusted before, only instructions that are still the same hold.
    options = msgspec.structs.replace(options, trust=options.trust or "instructions")
    hosted = await host.open(options, workspace)
    await hosted.begin()
    return [first, *rest], hosted


async def _work_until_end(
    host: Host, hosted: HostedConversation, messages: Sequence[UserMessage], server: LiveServer
) -> None:
    """Work until all is done, or a client wants the end. What goes on then is stopped."""
    begun = asyncio.Event()
    hosted.conversation.subscribe(lambda event: begun.set() if isinstance(event, MessageEnd) else None)
    working = asyncio.ensure_future(_work(hosted, messages, server))
    beginning, ending = asyncio.ensure_future(begun.wait()), asyncio.ensure_future(server.end_wanted.wait())
    tasks = [working, beginning, ending]
    try:
        # With the first message the session's file is there, by which others find this process.
        await asyncio.wait([working, beginning], return_when=asyncio.FIRST_COMPLETED, timeout=_BEGIN_SECONDS)
        path = hosted.conversation.session_path or ""
        _note(hosted, "A conversation without a terminal (`kaa agents start`) that was not done.")
        _leave_terminal(Started(hosted.conversation.session_id, os.getpid(), path))
        await asyncio.wait([working, ending], return_when=asyncio.FIRST_COMPLETED)
        server.close()
        await host.end(hosted)  # also ends what waits for the run
        await working
    finally:
        _note(hosted, "")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _note(hosted: HostedConversation, about: str) -> None:
    """Note that the conversation works, for the case that this process is killed; an empty text: no longer."""
    if path := hosted.conversation.session_path:
        note_work(Path(path), hosted.conversation.workspace.root, _KIND, about)


def _leave_terminal(started: Started) -> None:
    """Tell that all is well, and let go of what belongs to whoever started this."""
    os.write(1, msgspec.json.encode(started) + b"\n")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.close(nothing)


def _taken(hosted: HostedConversation, message: UserMessage, event: Event) -> None:
    """Keep a message beside the session no more that was left there and is in it now."""
    match event:
        case MessageEnd(UserMessage(timestamp=timestamp)) if timestamp == message.timestamp:
            hosted.conversation.let_go([message])
        case _:
            pass


async def _work(hosted: HostedConversation, messages: Sequence[UserMessage], server: LiveServer) -> None:
    """Work on the messages and on what clients and extensions want, until nothing is left and nobody is there."""
    for message in messages:
        taken = partial(_taken, hosted, message)
        unsubscribe = hosted.conversation.subscribe(taken)
        try:
            match await hosted.work.submit(message):
                case CommandNotRun(text=text) | CommandReply(text=text):
                    server.notice(text)
                case SessionToOpen():
                    server.notice("a conversation without a terminal stays with its session")
                case _:
                    pass
        except FORESEEN as error:
            LOG.warning("a message was not sent: %s", error)
            server.notice(f"A message was not sent: {error}")
        finally:
            unsubscribe()
        hosted.conversation.let_go([message])  # a command has no end of its own
    while True:
        await server.until_alone()
        await server.until_done()
        await hosted.work.settled()
        await asyncio.sleep(_PAUSE_SECONDS)  # what begins now has begun by then
        if server.is_alone and not (server.has_work or hosted.work.is_busy or hosted.work.beside):
            return
