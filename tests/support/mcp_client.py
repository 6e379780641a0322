"""A scripted MCP client: writes the lines that a test gives it to a real `kaa mcp serve`, and reads what comes back."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa
from tests.support.rpc_client import Line, RpcClient
from tests.support.warm_start import COMMAND, KaaProcess

MODERN = "2026-07-28"


class ServeClient:
    """Speaks one of both generations.

    Args:
        lines: what the server reads and writes.
        modern: whether each request names the revision, in place of `initialize`.
        forms: whether it says that it can show forms.
    """

    def __init__(self, lines: RpcClient, *, modern: bool, forms: bool) -> None:
        self.lines = lines
        self._numbers = count(1)
        self._capabilities: Json = {"elicitation": {"form": {}}} if forms else {}
        self._modern = modern
        self.greeting = {} if modern else self.result("initialize", protocolVersion="2025-11-25", **self._hello)
        if not modern:
            self.lines.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def begin(self, method: str, **params: Json) -> int:
        """Send a request. Returns its id."""
        number = next(self._numbers)
        if self._modern:
            meta: Json = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": self._capabilities,
            }
            params["_meta"] = meta | params.get("_meta", {})
        self.lines.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def answer_to(self, number: int) -> Line:
        """Wait for the answer to a request."""
        return self.lines.wait(lambda line: line.get("id") == number and "method" not in line)

    def ask(self, method: str, **params: Json) -> Line:
        """Send a request and wait for its answer."""
        return self.answer_to(self.begin(method, **params))

    def result(self, method: str, **params: Json) -> Line:
        """The result of a request."""
        answer = self.ask(method, **params)
        assert "result" in answer, answer
        result: Line = answer["result"]
        return result

    def call(self, name: str, answers: Callable[[Line], Line] | None = None, **arguments: Json) -> Line:
        """Call a tool. `answers` gives the answer to each form that the server shows meanwhile."""
        params: dict[str, Json] = {"name": name, "arguments": arguments}
        if self._modern:
            result = self.result("tools/call", **params)
            while result["resultType"] == "input_required":
                assert answers is not None, result
                given = {key: answers(asked["params"]) for key, asked in result["inputRequests"].items()}
                state = result["requestState"]
                result = self.result("tools/call", **params, inputResponses=given, requestState=state)
            return result
        number = self.begin("tools/call", **params)
        while "method" in (line := self.lines.wait(lambda line: "id" in line)):
            assert answers is not None, line
            self.lines.send({"jsonrpc": "2.0", "id": line["id"], "result": answers(line["params"])})
        assert line["id"] == number
        return dict(line["result"])

    @property
    def _hello(self) -> dict[str, Json]:
        return {"capabilities": self._capabilities, "clientInfo": {"name": "test", "version": "1"}}


@contextmanager
def serving(kaa: Kaa, *arguments: str, modern: bool = True, forms: bool = False) -> Iterator[ServeClient]:
    """A client of a `kaa mcp serve` that is gone at the end."""
    process: KaaProcess[bytes] = KaaProcess(
        [COMMAND, "mcp", "serve", *arguments],
        cwd=kaa.project,
        env=kaa.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        lines = RpcClient(process)
        try:
            yield ServeClient(lines, modern=modern, forms=forms)
        finally:
            process.kill()
            lines.join()


def text(result: Line) -> str:
    """All text of a result."""
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
