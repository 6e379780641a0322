"""The tool `call_tools` ("code mode"): a short Python program of the model calls many tools in one request.

The program runs in a closed process (`kaa.workspace.closed_program`). Whatever it wants to do it does with tools, and
each of its calls is judged as a call of the model's own. Only what it prints goes to the model.
"""

import asyncio
import os
from typing import Literal

import msgspec

from kaa.builtin.mcp.results import framed, unframed
from kaa.builtin.tool_search import definition
from kaa.builtin.tool_search.index import find
from kaa.builtin.tools import CALL_TOOLS
from kaa.core.messages import Json, TextContent
from kaa.core.provider import TOOL_SEARCH, ToolSchema
from kaa.core.tool import ToolError, ToolResult
from kaa.ext.context import ToolContext
from kaa.ext.errors import RegistrationError
from kaa.workspace.protocol import ClosedPrograms, PipedProgram

_SCRIPT = os.path.join(os.path.dirname(__file__), "__main__.py")
_MOST_AT_ONCE = 8
_MOST_FOUND = 5
_SILENT_SECONDS = 120.0  # without a call under way
_MAX_OUTPUT_CHARACTERS = 1024 * 1024
_SHOWN_CHARACTERS = 100


class _Frame(msgspec.Struct, frozen=True):
    """What the process says."""

    op: Literal["call", "find", "print", "end"]
    id: int = 0
    name: str = ""
    arguments: dict[str, Json] = {}
    query: str = ""
    text: str = ""
    error: str = ""


async def call_tools(program: str, context: ToolContext) -> ToolResult:
    """Execute a program of the model."""
    if not isinstance(context.workspace, ClosedPrograms):
        raise ToolError("This workspace runs no programs: call the tools one by one.")
    try:
        async with context.workspace.closed_program(_SCRIPT) as process:
            return await _Run(context, process).result(program)
    except OSError as error:
        raise ToolError(f"The program was not run: {error}") from error


class _Run:
    """One program from its start to its end."""

    def __init__(self, context: ToolContext, process: PipedProgram) -> None:
        self._context = context
        self._process = process
        self._turns = asyncio.Semaphore(_MOST_AT_ONCE)
        self._printed: list[str] = []
        self._left = _MAX_OUTPUT_CHARACTERS
        self._servers: dict[str, None] = {}  # in the order in which they answered
        self._denials: list[str] = []

    async def result(self, program: str) -> ToolResult:
        """What the program printed, and what went wrong."""
        self._send({"program": program})
        calls: set[asyncio.Task[None]] = set()
        try:
            problem = await self._served(calls)
        finally:
            for call in calls:
                call.cancel()
            if calls:
                await asyncio.wait(calls)
        printed = "".join(self._printed).strip("\n")
        if self._servers and printed:
            printed = framed(", ".join(self._servers), printed)
        parts = [printed, problem] if problem else [printed or "(no output: print what you need)"]
        content = TextContent("\n".join(filter(None, parts)))
        return ToolResult((content,), is_error=bool(problem), denials=tuple(self._denials))

    async def _served(self, calls: set[asyncio.Task[None]]) -> str:
        """Carry out what the program asks for, until it ends. Why it failed; empty if it did not."""
        while True:
            reading = asyncio.create_task(self._process.reader.readline())
            try:
                while not reading.done():
                    silent = None if calls else _SILENT_SECONDS
                    done, _ = await asyncio.wait({reading, *calls}, timeout=silent, return_when=asyncio.FIRST_COMPLETED)
                    if not done:
                        return f"The program was stopped: it called nothing for {_SILENT_SECONDS:g} seconds."
                    calls -= done
                line = reading.result()
                if not line.endswith(b"\n"):
                    return f"The program ended early: {await self._process.ending()}."
                frame = msgspec.json.decode(line, type=_Frame)
            except ValueError as error:  # a line that is too long, or no frame: the program writes what it likes
                return f"The program was stopped: its process wrote what cannot be understood ({error})."
            finally:
                reading.cancel()
            match frame.op:
                case "end":
                    return frame.error
                case "print":
                    self._printed.append(frame.text)
                    self._left -= len(frame.text)
                    if self._left < 0:
                        return f"The program was stopped: it printed over {_MAX_OUTPUT_CHARACTERS:,} characters."
                case "call" | "find":
                    calls.add(asyncio.create_task(self._answer(frame)))

    async def _answer(self, frame: _Frame) -> None:
        async with self._turns:
            try:
                value = await (self._called(frame) if frame.op == "call" else self._found(frame.query))
                answer: dict[str, Json] = {"id": frame.id, "value": value}
            except (ToolError, RegistrationError) as error:
                answer = {"id": frame.id, "error": str(error)}
        self._send(answer)

    async def _called(self, frame: _Frame) -> Json:
        """The result of a call: structured if a server gave it a structure, otherwise its text."""
        context, name = self._context, frame.name
        if name in (CALL_TOOLS, TOOL_SEARCH) or not (name in context.active_tools or name in context.deferred_tools):
            raise ToolError(f"There is no tool {name!r} for programs. await find_tools(words) finds those there are.")
        arguments = msgspec.json.encode(frame.arguments).decode()
        context.update(f"{name} {arguments[:_SHOWN_CHARACTERS]}\n")
        if name == "write":
            from kaa.builtin.seen_files import check_write  # lazy: few programs write

            await check_write(frame.arguments, context)
        result = await context.call_tool(name, frame.arguments)
        self._denials += result.denials
        texts = [
            block.text if isinstance(block, TextContent) else "[an image, which programs cannot see]"
            for block in result.content
        ]
        data = unframed(texts[0]) if texts else None
        if data is not None:
            self._servers[data.server] = None
            texts[0] = data.text
        text = "\n".join(texts)
        if result.is_error:
            raise ToolError(text)
        return text if data is None or result.details is None else result.details

    async def _found(self, query: str) -> Json:
        """The definitions of tools that fit."""
        deferred = self._context.deferred_tools
        tools = [tool.tool.schema for name, tool in deferred.items() if name not in (CALL_TOOLS, TOOL_SEARCH)]
        found = await asyncio.to_thread(find, query, tools, _MOST_FOUND)
        return "\n".join(map(self._described, found)) or f"None of {len(tools)} tools fits: use other words."

    def _described(self, schema: ToolSchema) -> str:
        output = self._context.deferred_tools[schema.name].output_schema
        returns = "" if output is None else f"\nreturns {msgspec.json.encode(output).decode()}"
        return f"{definition(schema)}{returns}"

    def _send(self, message: dict[str, Json]) -> None:
        self._process.writer.write(msgspec.json.encode(message) + b"\n")
