"""The process that executes a program of the model: each tool is an async function there, which kaa carries out.

Lines of JSON in both directions. kaa sends the program, `{"program": "..."}`, and answers calls:
`{"id": 1, "value": ...}` or `{"id": 1, "error": "..."}`. The process sends `{"op": "call", "id": 1, "name": "read",
"arguments": {...}}`, `{"op": "find", "id": 2, "query": "..."}`, `{"op": "print", "text": "..."}`, and last
`{"op": "end", "error": "..."}`, where an empty error means success. Only the standard library is imported here.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import json
import linecache
import os
import resource
import sys
import traceback
from collections.abc import Callable
from types import CodeType
from typing import Any, NoReturn

_FILE = "<program>"
_MAX_MEMORY_BYTES = 1024 * 1024 * 1024
_MAX_CPU_SECONDS = 60
_READ_BYTES = 256 * 1024
_PRINT_CHARACTERS = 8 * 1024


class ToolError(Exception):
    """A tool could not do what it was asked; the text says why."""


class _Kaa:
    """The other end: carries out calls."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._rest = b""
        self._last = 0

    def send(self, message: dict[str, Any]) -> None:
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            data = data[os.write(1, data) :]

    async def ask(self, op: str, **fields: Any) -> Any:  # any: whatever JSON the program sends and gets
        self._last += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        number = self._last
        self._waiting[number] = future
        try:
            self.send({"op": op, "id": number, **fields})
        except (TypeError, ValueError) as error:
            del self._waiting[number]
            raise TypeError(f"the arguments must be values that JSON has: {error}") from None
        return await future

    def read(self) -> None:
        """Take what came. The end of the stream ends the process."""
        data = os.read(0, _READ_BYTES)
        if not data:
            os._exit(1)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            answer = json.loads(line)
            future = self._waiting.pop(answer["id"])
            if future.done():
                continue
            if "error" in answer:
                future.set_exception(ToolError(answer["error"]))
            else:
                future.set_result(answer["value"])


class _Tools:
    """`tools.NAME(**arguments)` or `tools["NAME"](**arguments)`."""

    def __init__(self, kaa: _Kaa) -> None:
        self._kaa = kaa

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Callable[..., Any]:
        async def call(*given: Any, **arguments: Any) -> Any:
            if len(given) > 1 or not all(isinstance(one, dict) for one in given):
                raise TypeError(f"write the arguments of {name} with their names: await tools.{name}(name=value)")
            return await self._kaa.ask("call", name=name, arguments={**(given[0] if given else {}), **arguments})

        return call


class _Printed(io.TextIOBase):
    """Standard output and standard error of the program."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._text += text
        if len(self._text) >= _PRINT_CHARACTERS:
            self.flush()
        return len(text)

    def flush(self) -> None:
        for start in range(0, len(self._text), _PRINT_CHARACTERS):
            self._send({"op": "print", "text": self._text[start : start + _PRINT_CHARACTERS]})
        self._text = ""


def _compiled(program: str) -> CodeType:
    """The program, whose last expression is printed if it has a value, as at Python's prompt."""
    tree = ast.parse(program, _FILE)
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        shown = ast.Await(ast.Call(ast.Name("_show", ast.Load()), [last.value], []))
        tree.body[-1] = ast.copy_location(ast.Expr(shown), last)
        ast.fix_missing_locations(tree)
    code: CodeType = compile(tree, _FILE, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


async def _show(value: object) -> None:
    if inspect.isawaitable(value):  # models forget to await the last one
        value = await value
    if value is None:
        return
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    except (TypeError, ValueError):
        text = repr(value)
    sys.stdout.write(f"{text}\n")


async def _execute(program: str, kaa: _Kaa) -> None:
    asyncio.get_running_loop().add_reader(0, kaa.read)

    async def find_tools(query: str) -> Any:
        return await kaa.ask("find", query=query)

    names = {"__name__": "__main__", "tools": _Tools(kaa), "find_tools": find_tools, "ToolError": ToolError}
    result = eval(_compiled(program), {**names, "asyncio": asyncio, "json": json, "_show": _show})  # noqa: S307 - its purpose
    if inspect.iscoroutine(result):
        await result


def _told(error: BaseException) -> str:
    """What went wrong, with the lines of the program."""
    kept = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILE]
    lines = traceback.format_list(kept)
    head = ["Traceback (most recent call last):\n"] if lines else []
    return "".join([*head, *lines, *traceback.format_exception_only(error)]).strip()


def main() -> NoReturn:
    """Execute one program."""
    with contextlib.suppress(ValueError, OSError):  # not every system knows these limits
        resource.setrlimit(resource.RLIMIT_CPU, (_MAX_CPU_SECONDS, _MAX_CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    data = b""
    while not data.endswith(b"\n"):
        data += (chunk := os.read(0, _READ_BYTES))
        if not chunk:
            os._exit(1)
    program = json.loads(data)["program"]
    linecache.cache[_FILE] = (len(program), None, program.splitlines(keepends=True), _FILE)
    kaa = _Kaa()
    sys.stdout = sys.stderr = printed = _Printed(kaa.send)
    problem = ""
    try:
        asyncio.run(_execute(program, kaa))
    except (Exception, SystemExit, KeyboardInterrupt, asyncio.CancelledError) as error:  # noqa: BLE001 - the program's own
        if not (isinstance(error, SystemExit) and not error.code):
            problem = _told(error)
    printed.flush()
    kaa.send({"op": "end", "error": problem})
    os._exit(0)


main()
