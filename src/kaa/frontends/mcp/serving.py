"""`kaa mcp serve`: kaa's tools, or kaa itself as an agent, as an MCP server over its standard streams."""

import asyncio
import base64
import io
import os
import sys
from collections.abc import Callable

import msgspec

from kaa import __version__
from kaa.builtin.tools import REQUEST_TOOL
from kaa.core.events import AgentEnd
from kaa.core.messages import AssistantMessage, ImageContent, Json, user_message
from kaa.core.tool import ToolResult
from kaa.ext.invocation import invocation_in
from kaa.frontends.command_line import CommandLineOptions
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.failures import FORESEEN, error_text
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.mcp.asking import ElicitingAsker
from kaa.frontends.mcp.telling import tell
from kaa.frontends.rpc.lines import LineTooLongError, LineWriter, read_lines
from kaa.frontends.text_output import TextOutput
from kaa.host.prints import prints_on_stderr
from kaa.llm.models.registry import NoModelError
from kaa.mcp import codes
from kaa.mcp.contents import CallResult, ImagePart, Part, TextPart
from kaa.mcp.errors import McpError
from kaa.mcp.manifest import ServerInfo, ToolHints, ToolInfo
from kaa.mcp.messages import MAX_MESSAGE_BYTES
from kaa.mcp.served_calls import ToolCaller
from kaa.mcp.serving import McpServer, Service
from kaa.shell.conversation import Conversation
from kaa.shell.home import Home
from kaa.shell.host import Host, HostedConversation, HostNotice
from kaa.shell.options import ConversationOptions, NewSession, ResumeSession, ToolsOnly, UnkeptSession
from kaa.shell.safety import UnopenedWorkspace
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import Workspace

_NEED_A_MODEL = ("agent",)


def main(command_line: CommandLineOptions, workspace: LocalWorkspace | UnopenedWorkspace, *, as_agent: bool) -> int:
    """Serve until the client closes the input. Returns the exit code.

    Args:
        as_agent: whether to serve one tool that does tasks, in place of kaa's tools.
    """
    if isinstance(workspace, UnopenedWorkspace):
        tell(workspace.reason)
        return ExitCode.USAGE if workspace.usage else ExitCode.FAILED
    if command_line.messages:
        tell("kaa mcp serve takes no messages: the client sends them")
        return ExitCode.USAGE
    return run_to_exit_code(_run(command_line, workspace, as_agent=as_agent))


async def _run(command_line: CommandLineOptions, workspace: LocalWorkspace, *, as_agent: bool) -> int:
    output = sys.stdout.fileno()  # of the process: what code prints goes elsewhere below
    asker = ElicitingAsker(person_answers=command_line.person_answers)
    notices = _Notices()
    host = Host(command_line.host_options(), Home.of(os.environ), os.environ, notices.tell, asker)
    host.workspaces.adopt(workspace, command_line.sandbox)

    def options() -> ConversationOptions:
        chosen = command_line.conversation_options()
        # As in print mode: of what the user trusted before, only instructions that are still the same hold.
        return msgspec.structs.replace(chosen, trust=chosen.trust or "instructions")

    try:
        with prints_on_stderr():
            if not isinstance(options().session, NewSession | UnkeptSession):
                tell("kaa mcp serve begins a session for each task: leave out -c, --session, --fork and --view")
                return ExitCode.USAGE
            if as_agent:
                await serve(AgentService(host, workspace, options, asker), output)
            else:
                chosen = options()
                tools = msgspec.structs.replace(
                    chosen, session=UnkeptSession(), exclude_tools=(*chosen.exclude_tools, REQUEST_TOOL)
                )  # nobody could be asked
                hosted = await _opened(host, tools, workspace)
                notices.has_opened = True
                await hosted.begin()
                await serve(ToolService(hosted.conversation), output)
    except FORESEEN as error:
        tell(str(error))
        return ExitCode.FAILED
    finally:
        await host.close()
    return ExitCode.DONE


class _Notices:
    """Tells notices; each once while a conversation is opened, which may be tried twice."""

    def __init__(self) -> None:
        self.has_opened = False
        self._told: set[str] = set()

    def tell(self, notice: HostNotice) -> None:
        if self.has_opened or notice.text not in self._told:
            self._told.add(notice.text)
            tell(notice.text)


async def _opened(host: Host, options: ConversationOptions, workspace: LocalWorkspace) -> HostedConversation:
    """Open the conversation whose tools are served: with a model if there is one, which only some of them need."""
    try:
        return await host.open(options, workspace)
    except NoModelError as error:
        if options.model or options.provider:
            raise
        reason = f"{error.reason}; run  kaa login, or start kaa mcp serve with --model"
        tools = msgspec.structs.replace(
            options, wire=ToolsOnly(reason), exclude_tools=(*options.exclude_tools, *_NEED_A_MODEL)
        )
        return await host.open(tools, workspace)


async def serve(service: Service, output: int) -> None:
    """Answer lines until the input ends or nobody reads what is written to the descriptor `output`.

    Raises:
        OutputError: the output cannot be written.
    """
    running = asyncio.current_task()
    assert running is not None
    gone = asyncio.Event()
    writer = LineWriter(output, gone.set, lambda: running.cancelling() > 0)
    server = McpServer(
        service, ServerInfo("kaa", "kaa", __version__), writer.write, lambda error: tell(error_text(error))
    )

    async def read() -> None:
        async for line in read_lines(sys.stdin.fileno(), MAX_MESSAGE_BYTES):
            if isinstance(line, LineTooLongError):
                server.refuse(str(line))
            elif line.strip():
                server.receive(line)

    ends = [asyncio.create_task(read()), asyncio.create_task(gone.wait())]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in ends:
            task.cancel()
        await asyncio.wait(ends)
        await server.close()
        writer.close()
    if writer.error is not None:
        raise writer.error


class ToolService:
    """The active tools of one conversation. Approvals judge each call; what would be asked is denied."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def tools(self) -> tuple[ToolInfo, ...]:
        return tuple(
            ToolInfo(
                name=tool.name,
                description=tool.tool.schema.description,
                input_schema=tool.tool.schema.parameters,
                hints=ToolHints(
                    read_only=tool.risk == "read",
                    destructive=tool.risk != "read",
                    open_world=tool.risk not in ("read", "write"),
                ),
            )
            for tool in self._conversation.tools
        )

    async def call(self, tool: str, arguments: dict[str, Json], caller: ToolCaller) -> CallResult:
        if tool not in self._conversation.active_tools:  # others can be called, too, and hidden ones without a question
            raise _unknown_tool(tool)
        lines = _ProgressLines(caller.progress)
        result = await self._conversation.call_tool(
            tool, arguments, update=lambda delta, _skipped_bytes: lines.write(delta)
        )
        return _call_result(result)


class _Task(msgspec.Struct, frozen=True):
    prompt: str
    session: str | None = None


class AgentService:
    """kaa as a tool that does a task in a conversation of its own.

    Args:
        asker: their questions; the host's.
    """

    def __init__(
        self, host: Host, workspace: Workspace, options: Callable[[], ConversationOptions], asker: ElicitingAsker
    ) -> None:
        self._host = host
        self._workspace = workspace
        self._options = options
        self._asker = asker
        self._sessions: set[str] = set()

    def tools(self) -> tuple[ToolInfo, ...]:
        text: Json = {"type": "string"}
        return (
            ToolInfo(
                name="kaa",
                description=(
                    f"Give a task to kaa, a coding agent that works in {self._workspace.root}: it reads and edits"
                    " files and runs commands in a sandbox. Returns its last answer and its session."
                ),
                input_schema={
                    "type": "object",
                    "properties": {
                        "prompt": {**text, "description": "the task, with all that kaa has to know"},
                        "session": {**text, "description": "from an earlier result, to continue there"},
                    },
                    "required": ["prompt"],
                },
                output_schema={
                    "type": "object",
                    "properties": {"answer": text, "session": text, "reason": text},
                    "required": ["answer", "session", "reason"],
                },
            ),
        )

    async def call(self, tool: str, arguments: dict[str, Json], caller: ToolCaller) -> CallResult:
        if tool != "kaa":
            raise _unknown_tool(tool)
        try:
            task = msgspec.convert(arguments, _Task)
            return await self._do(task, caller)
        except (msgspec.ValidationError, *FORESEEN) as error:
            return CallResult((TextPart(str(error)),), failed=True)

    async def _do(self, task: _Task, caller: ToolCaller) -> CallResult:
        if not task.prompt.strip():
            return _failure("the prompt is empty: give kaa a task")
        if (command := invocation_in(task.prompt)) is not None:
            return _failure(f"/{command.name} is a command for people; put a space before it to send it as text")
        options = self._options()
        if task.session is not None:
            if task.session not in self._sessions:
                return _failure(f"unknown session {task.session!r:.80}: use one that this server has returned")
            options = msgspec.structs.replace(options, session=ResumeSession(task.session))
        name = self._host.new_id()
        with self._asker.answering(name, caller):
            hosted = await self._host.open(options, self._workspace, "startup", id=name)
            try:
                TextOutput(io.StringIO(), _ProgressLines(caller.progress)).begin(hosted.conversation)
                await hosted.begin()
                end = await hosted.work.submit(user_message(task.prompt))
                session = hosted.conversation.session_id
            finally:
                await self._host.end(hosted)
        assert isinstance(end, AgentEnd), "the prompt calls no command"
        if isinstance(options.session, NewSession | ResumeSession):
            self._sessions.add(session)
        return _outcome(end, session)


class _ProgressLines(io.StringIO):
    """A stream whose lines are progress."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def write(self, text: str, /) -> int:
        for line in filter(None, map(str.strip, text.splitlines())):
            self._tell(line)
        return len(text)


def _outcome(end: AgentEnd, session: str) -> CallResult:
    answer = next((message.text for message in reversed(end.messages) if isinstance(message, AssistantMessage)), "")
    problems = [] if end.reason == "done" else [f"kaa ended early ({end.reason}): {end.error or end.reason}"]
    text = "\n\n".join(filter(None, [answer, *problems, *end.remarks, f"(session {session})"]))
    structured: Json = {"answer": answer, "session": session, "reason": end.reason}
    return CallResult((TextPart(text),), structured, failed=end.reason != "done")


def _call_result(result: ToolResult) -> CallResult:
    parts: list[Part] = [
        ImagePart(base64.b64decode(part.data), part.mime_type)
        if isinstance(part, ImageContent)
        else TextPart(part.text)
        for part in result.content
    ]
    return CallResult(tuple(parts), failed=result.is_error)


def _failure(problem: str) -> CallResult:
    return CallResult((TextPart(problem),), failed=True)


def _unknown_tool(name: str) -> McpError:
    return McpError(f"unknown tool {name!r:.80}: tools/list names those there are", code=codes.INVALID_PARAMS)
