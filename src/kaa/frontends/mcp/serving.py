"""`kaa mcp serve`: kaa as an MCP server over its standard streams."""

import asyncio
import os
import sys

import msgspec

from kaa import __version__
from kaa.builtin.tools import REQUEST_TOOL
from kaa.frontends.command_line import CommandLineOptions
from kaa.frontends.exit_codes import ExitCode
from kaa.frontends.failures import FORESEEN, error_text
from kaa.frontends.interruption import run_to_exit_code
from kaa.frontends.mcp.asking import ElicitingAsker
from kaa.frontends.mcp.services import AgentService, ToolService
from kaa.frontends.mcp.telling import tell
from kaa.frontends.rpc.lines import LineTooLongError, LineWriter, read_lines
from kaa.host.prints import prints_on_stderr
from kaa.llm.models.registry import NoModelError
from kaa.mcp.manifest import ServerInfo
from kaa.mcp.messages import MAX_MESSAGE_BYTES
from kaa.mcp.serving import McpServer, Service
from kaa.shell.home import Home
from kaa.shell.host import Host, HostedConversation, HostNotice
from kaa.shell.options import ConversationOptions, NewSession, ToolsOnly, UnkeptSession
from kaa.shell.safety import UnopenedWorkspace
from kaa.workspace.local import LocalWorkspace

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
