"""The loop of rpc mode: reads commands, answers each, several at a time; ends in order at the end of the input."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Collection
from itertools import count
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from kaa.ext.invocation import invocation_in
from kaa.ext.questions import UnfitAnswerError
from kaa.frontends.command_line import CommandLineOptions
from kaa.frontends.event_json import extension_error
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.failures import FORESEEN, error_text
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.json_text import encoded
from kaa.frontends.rpc import commands as rpc
from kaa.frontends.rpc.commands import DIALOG_RESPONSE, AnyCommand
from kaa.frontends.rpc.dialogs import DialogResponse, Dialogs
from kaa.frontends.rpc.lines import LineTooLongError, LineWriter, read_lines
from kaa.frontends.rpc.session import RpcCommandError, RpcSession, notice
from kaa.host.prints import prints_on_stderr
from kaa.llm.unicode_text import clean_json
from kaa.shell.home import Home
from kaa.shell.host import Host, HostNotice
from kaa.shell.safety import UnopenedWorkspace
from kaa.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from kaa.ext.display import DisplayKind, DisplayUpdate


_KNOWN = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyCommand))
# What a line may be instead of a command: no JSON, of other fields, no UTF-8, nested too deep.
_UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError)
# These do not wait for commands before them: they stop something, or take long while others go on.
_AT_ONCE = (rpc.Abort, rpc.AbortRetry, rpc.AbortBash, rpc.Bash, rpc.Compact, rpc.ExportHtml)
# Their data is null where there is nothing to switch to.
_NULLABLE = frozenset(("cycle_model", "cycle_thinking_level"))


class _Head(msgspec.Struct, frozen=True):
    """What every line has."""

    type: str = ""
    id: str | int | None = None


def main(command_line: CommandLineOptions, workspace: LocalWorkspace | UnopenedWorkspace) -> int:
    """Run rpc mode. Returns the exit code."""
    if isinstance(workspace, UnopenedWorkspace):
        sys.stderr.write(f"kaa: {workspace.reason}\n")
        return ExitCode.USAGE if workspace.usage else ExitCode.FAILED
    if command_line.messages:
        sys.stderr.write("kaa: rpc mode takes no messages: send them with the prompt command\n")
        return ExitCode.USAGE
    return run_to_exit_code(_run(command_line, workspace))


async def _run(command_line: CommandLineOptions, workspace: LocalWorkspace) -> int:
    gone = asyncio.Event()
    running = asyncio.current_task()
    assert running is not None
    writer = LineWriter(sys.stdout.fileno(), gone.set, lambda: running.cancelling() > 0)

    def send(message: object) -> None:
        writer.write(encoded(message))

    def notify(told: HostNotice) -> None:
        if told.failure is None:
            send(notice(told.text, conversation=told.conversation))
        else:
            send({**extension_error(told.failure), "conversation": told.conversation})

    dialogs = Dialogs(send, person_answers=command_line.person_answers)
    host = Host(command_line.host_options(), Home.of(os.environ), os.environ, notify, dialogs, _ClientDisplay(send))
    host.workspaces.adopt(workspace, command_line.sandbox)

    async def open_session() -> RpcSession:
        options = command_line.conversation_options()
        hosted = await host.open(options, workspace)
        return RpcSession(host, hosted, options, workspace, send)

    client = ClientConnection(send, dialogs)
    try:
        with prints_on_stderr():
            await client.serve(open_session, gone)
    except FORESEEN as error:
        sys.stderr.write(f"kaa: {error}\n")
        return ExitCode.FAILED
    finally:
        dialogs.close()
        await host.close()
        writer.close()
    if writer.error is not None:
        raise writer.error
    return ExitCode.DONE


class ClientConnection:
    """Reads what the client sends, and answers."""

    def __init__(self, send: Callable[[object], None], dialogs: Dialogs) -> None:
        self._send = send
        self._dialogs = dialogs
        self._answering: set[asyncio.Task[None]] = set()
        self._brief: set[asyncio.Task[None]] = set()  # those that do not take as long as a run
        self._in_order = asyncio.Lock()

    async def serve(self, open_session: Callable[[], Awaitable[RpcSession]], gone: asyncio.Event) -> None:
        """Carry out commands until the input ends or the client does not read any more.

        Raises:
            Exception: the session cannot be opened, as `open_session` says.
        """
        opening = asyncio.ensure_future(open_session())
        ends = [asyncio.create_task(self._read(opening)), asyncio.create_task(gone.wait())]
        try:
            await asyncio.wait([*ends, opening], return_when=asyncio.FIRST_COMPLETED)
            if opening.done():
                opening.result()  # a session that cannot be opened ends it all
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            self._dialogs.close()
            session = await opening
            if self._brief:  # what was asked before the end is answered
                await asyncio.wait(self._brief)
            await session.close()
        finally:
            for task in (*ends, opening, *self._answering):
                task.cancel()
            await asyncio.wait([*ends, opening, *self._answering])

    async def _read(self, opening: asyncio.Future[RpcSession]) -> None:
        async for line in read_lines(sys.stdin.fileno()):
            if isinstance(line, LineTooLongError):
                self._respond("parse", None, error=str(line))
            elif line.strip():
                self._take(line, opening)

    def _take(self, line: bytes, opening: asyncio.Future[RpcSession]) -> None:
        try:
            head = _decoded(line, _Head)
        except _UNREADABLE as error:
            self._respond("parse", None, error=f"Failed to parse command: {error}")
            return
        if head.type == DIALOG_RESPONSE:
            self._take_answer(line, head)
            return
        if head.type not in _KNOWN:
            self._respond(head.type, head.id, error=f"Unknown command: {head.type}")
            return
        try:
            command: AnyCommand = _decoded(line, AnyCommand)
        except _UNREADABLE as error:
            self._respond(head.type, head.id, error=f"Invalid command: {error}")
            return
        task = asyncio.create_task(self._answer(command, head, opening))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        if not _is_at_once(command):
            self._brief.add(task)
            task.add_done_callback(self._brief.discard)

    def _take_answer(self, line: bytes, head: _Head) -> None:
        try:
            self._dialogs.take(_decoded(line, DialogResponse))
        except (*_UNREADABLE, UnfitAnswerError) as error:
            self._respond(DIALOG_RESPONSE, head.id, error=str(error))

    async def _answer(self, command: AnyCommand, head: _Head, opening: asyncio.Future[RpcSession]) -> None:
        """Carry a command out and respond. Commands take effect in their order, but for those that may take long."""
        if isinstance(command, rpc.Abort):
            self._dialogs.dismiss()
        accepted = False

        def accept(data: object) -> None:
            nonlocal accepted
            accepted = True
            self._respond(head.type, head.id, data=data)

        try:
            session = await asyncio.shield(opening)
            if not isinstance(command, rpc.Abort | rpc.AbortRetry):
                await session.wait_until_begun()
            if _is_at_once(command):
                data = await session.carry_out(command, accept)
            else:
                async with self._in_order:
                    data = await session.carry_out(command, accept)
        except (RpcCommandError, UnfitAnswerError, *FORESEEN) as error:
            self._respond(head.type, head.id, error=str(error))
        except asyncio.CancelledError:
            self._respond(head.type, head.id, error="stopped: kaa ends")
        except Exception as error:  # noqa: BLE001 isolation boundary: a bug in one command must not end the session
            self._respond(head.type, head.id, error=error_text(error))
        else:
            if not accepted:
                self._respond(head.type, head.id, data=data)

    def _respond(
        self, command: str, command_id: str | int | None, *, data: object = None, error: str | None = None
    ) -> None:
        response: dict[str, object] = {} if command_id is None else {"id": command_id}
        response |= {"type": "response", "command": command, "success": error is None}
        if error is not None:
            response["error"] = error
        elif data is not None or command in _NULLABLE:
            response["data"] = data
        self._send(response)


def _is_at_once(command: AnyCommand) -> bool:
    """Whether a command does not wait for those before it. A slash command may ask, which takes as long as it takes."""
    is_slash_command = isinstance(command, rpc.Prompt) and invocation_in(command.message) is not None
    return is_slash_command or isinstance(command, _AT_ONCE)


def _decoded(line: bytes, kind: Any) -> Any:
    """The object in a line; halves of surrogate pairs, which JavaScript writes, become U+FFFD.

    Raises:
        Exception: one of `_UNREADABLE`.
    """
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return msgspec.convert(clean_json(json.loads(line)), kind)


# pi's names of the two places.
_PLACEMENTS = {"above": "aboveEditor", "below": "belowEditor"}


class _ClientDisplay:
    """Sends what extensions show to the client, which shows what it can (`kaa.ext.showing.DisplayOutput`).

    Attributes:
        shows: what the protocol has a method for.
    """

    shows: "Collection[DisplayKind]" = ("notice", "status", "widget", "editor", "title")

    def __init__(self, send: Callable[[object], None]) -> None:
        self._send = send
        self._numbers = count(1)

    def show(self, update: "DisplayUpdate") -> None:
        self._send(
            {
                "type": "extension_ui_request",
                "id": f"display-{next(self._numbers)}",
                **_request_of(update),
                "extension": update.extension,
                "conversation": update.conversation,
            }
        )


def _request_of(update: "DisplayUpdate") -> dict[str, object]:
    """The method and its arguments. What is removed has no text and no lines. Keys begin with the extension's name."""
    # Lazily: few extensions show something.
    from kaa.core.display_values import plain_lines
    from kaa.ext.display import EditorText, NoticeShown, StatusSection, Widget, WindowTitle

    match update.change:
        case NoticeShown(text=text, level=level):
            return {"method": "notify", "message": text, "notifyType": level}
        case StatusSection(key=key, text=text):
            shown = {"statusText": text} if text else {}
            return {"method": "setStatus", "statusKey": f"{update.author}:{key}", **shown}
        case Widget(key=key, content=content, placement=placement):
            lines = {"widgetLines": plain_lines(content), "content": content} if content else {}
            where = {"widgetPlacement": _PLACEMENTS[placement]}
            return {"method": "setWidget", "widgetKey": f"{update.author}:{key}", **lines, **where}
        case WindowTitle(text=text):
            return {"method": "setTitle", "title": text or "kaa"}
        case EditorText(text=text, mode=mode):
            return {"method": "set_editor_text", "text": text, "mode": mode}
        case _:
            raise AssertionError(f"{update.change} has no method in the protocol")
