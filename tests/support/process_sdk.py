"""A small SDK for extension processes of tests: the other side of the protocol. It is copied beside them."""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

Handler = Callable[[dict[str, Any]], Any]


class FailureError(Exception):
    """An error to answer a request with."""


class Peer:
    """Messages over two streams.

    Args:
        read: the descriptor of what kaa sends.
        write: the descriptor for kaa.
    """

    def __init__(self, read: int = 3, write: int = 4) -> None:
        self._read = open(read, closefd=False)  # noqa: SIM115 as long as the process
        self._write = open(write, "w", buffering=1, closefd=False)  # noqa: SIM115 likewise
        self._ids = 100

    def raw(self, text: str) -> None:
        """Write something, whatever it is."""
        self._write.write(text)

    def send(self, **message: Any) -> None:
        """Send a message."""
        self.raw(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send(method=method, params=params)

    def messages(self) -> Iterator[dict[str, Any]]:
        """What kaa sends."""
        for line in self._read:
            yield json.loads(line)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request. Returns the answer; nothing else may come meanwhile."""
        self._ids += 1
        self.send(id=self._ids, method=method, params=params)
        answer: dict[str, Any] = json.loads(self._read.readline())
        assert answer["id"] == self._ids, answer
        return answer

    def serve(self, registrations: list[tuple[str, dict[str, Any]]], handlers: dict[str, Handler]) -> None:
        """Answer requests until kaa closes its end. A handler of a notification returns nothing."""
        for message in self.messages():
            method = message["method"]
            if method == "initialize":
                for kind, params in registrations:
                    self.notify(kind, **params)
                self._tell(handlers, message)
                self.send(id=message["id"], result={"name": "probe", "version": "1"})
            elif "id" not in message:
                self._tell(handlers, message)
            elif method in handlers:
                try:
                    self.send(id=message["id"], result=handlers[method](message["params"]))
                except FailureError as error:
                    self.send(id=message["id"], error={"code": -32603, "message": str(error)})
            else:
                self.send(id=message["id"], error={"code": -32601, "message": f"unknown method: {method}"})

    @staticmethod
    def _tell(handlers: dict[str, Handler], message: dict[str, Any]) -> None:
        if message["method"] in handlers:
            handlers[message["method"]](message.get("params", {}))


def tool(name: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """The registration of a tool without arguments."""
    return "register/tool", {"name": name, "description": "Probes", "parameters": {"type": "object"}, **more}


def text(content: str) -> dict[str, Any]:
    """The answer of a tool."""
    return {"content": [{"type": "text", "text": content}]}


def log(content: str) -> None:
    """Write to stderr."""
    print(content, file=sys.stderr, flush=True)  # noqa: T201 the standard streams are what is tested
