"""Connections and programs for tests of the MCP client."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kaa.mcp import messages
from kaa.mcp.connection import Message, RequestId, ServerConnection
from kaa.mcp.contents import CallResult, LogLine, TextPart
from kaa.mcp.errors import ServerGoneError
from kaa.mcp.manifest import ServerManifest, ToolInfo
from kaa.mcp.questions import (
    ElicitAnswer,
    Elicitation,
    RefusedError,
    SamplingAnswer,
    SamplingRequest,
    ServerQuestions,
)
from tests.support import mcp_server


class MemoryConnection(ServerConnection):
    """A connection to a scripted server in this process. `say` has the server say something of its own."""

    def __init__(self, server: mcp_server.ScriptedServer) -> None:
        self.server = server
        self.cancelled: list[RequestId] = []
        self.protocol = ""
        self.is_closed = False

    async def open(self) -> None:
        """See `ServerConnection`."""
        if self.server.fault == "exits":
            raise ServerGoneError("it exited with code 3: cannot find its database")

    async def send(self, message: Message, tool: ToolInfo | None = None) -> None:
        """See `ServerConnection`."""
        for answer in self.server.handle(json.loads(messages.encode(message))):
            asyncio.get_running_loop().call_soon(self.say, answer)

    def say(self, message: dict[str, Any]) -> None:
        """A message of the server."""
        try:
            found = messages.decode(json.dumps(message).encode())
        except messages.MalformedMessageError:
            return
        for one in found:
            self._receive(one)

    def end(self, reason: str) -> None:
        """The server ends."""
        self._ended(reason)

    def agreed(self, protocol: str) -> None:
        """See `ServerConnection`."""
        self.protocol = protocol

    def cancel(self, request: RequestId) -> bool:
        """See `ServerConnection`."""
        self.cancelled.append(request)
        return False

    async def close(self) -> None:
        """See `ServerConnection`."""
        self.is_closed = True


class PlainProgram:
    """A scripted server as a process without a sandbox: a `ServerProgram`."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin = os.dup(process.stdin.fileno())
        self.stdout = os.dup(process.stdout.fileno())
        process.stdin.close()
        process.stdout.close()

    @classmethod
    async def start(cls, script: Path, **fields: Any) -> "PlainProgram":
        """Start a server with these fields of `ScriptedServer`; `script` is a file to write them to."""
        script.write_text(json.dumps(fields))
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", mcp_server.__file__, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return cls(process)

    async def wait(self) -> str:
        """See `ServerProgram`."""
        code = await asyncio.to_thread(self._process.wait)
        return f"it exited with code {code}"

    def end(self) -> None:
        """See `ServerProgram`."""
        self._process.terminate()

    def take_hindrance(self, said: str = "", asked: str = "") -> str:
        """See `ServerProgram`."""
        return ""

    def discreet(self, line: bytes) -> bytes:
        """See `ServerProgram`: it has no secrets."""
        return line


class Observed:
    """Remembers what a client tells its observer."""

    def __init__(self) -> None:
        self.manifests: list[ServerManifest] = []
        self.lines: list[LogLine] = []
        self.reasons: list[str] = []
        self.happened = asyncio.Event()

    def changed(self, manifest: ServerManifest) -> None:
        """See `ServerObserver`."""
        self.manifests.append(manifest)
        self.happened.set()

    def logged(self, line: LogLine) -> None:
        """See `ServerObserver`."""
        self.lines.append(line)
        self.happened.set()

    def ended(self, reason: str) -> None:
        """See `ServerObserver`."""
        self.reasons.append(reason)
        self.happened.set()


class ScriptedQuestions(ServerQuestions):
    """Answers a server's questions from a list, and remembers them."""

    def __init__(self, answers: Iterable[ElicitAnswer] = (), *, samples: bool = False) -> None:
        super().__init__("/project", samples=samples)
        self._answers = list(answers)
        self.asked: list[Elicitation | SamplingRequest] = []

    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        """See `ServerQuestions`."""
        self.asked.append(asked)
        return self._answers.pop(0) if self._answers else ElicitAnswer("cancel")

    async def sample(self, asked: SamplingRequest) -> SamplingAnswer:
        """See `ServerQuestions`."""
        if not self.samples:
            raise RefusedError("it is not permitted")
        self.asked.append(asked)
        return SamplingAnswer("a completion", "model-1")


def texts(result: CallResult) -> list[str]:
    """The texts of a result's parts."""
    return [part.text for part in result.parts if isinstance(part, TextPart)]
