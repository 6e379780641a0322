"""The slot that parses: it keeps a process for that, so that a text that crashes a parser ends nothing else."""

import os
import signal
import socket
import sys
from typing import NoReturn

from kaa.hands.connection import WireConnection
from kaa.hands.parsing import parsers
from kaa.hands.wire import Frame, Header, WireError, integer, text, texts

# A text has five seconds of processor time; a process that waits does nothing useful.
_PATIENCE_SECONDS = 10.0
# Forking a process for each would take longer than parsing. One that parsed many may have kept much memory.
_MOST_TEXTS = 100


def serve(connection: WireConnection) -> None:
    """Answer requests in order until the brain is gone.

    A request has a `language`, `packages` (directories where further parsers are), `before` (how many bytes of the body
    are the text before; none for a new file), and both texts as its body. The answer has the fields of
    `parsers.parsed`; without them, nothing is known of the texts.
    """
    process = _Process()
    try:
        while (frame := connection.receive()) is not None:
            if process.parsed >= _MOST_TEXTS:
                process.end()
                process = _Process()
            try:
                answer = process.answer(frame)
            except (OSError, WireError) as error:
                process.end()
                process = _Process()
                answer = {"unknown": str(error)}
            try:
                connection.send(answer)
            except ConnectionError:
                return
    finally:
        process.end()


class _Process:
    """A process that parses one text after another."""

    def __init__(self) -> None:
        ours, its = socket.socketpair()
        self.parsed = 0
        self._number = os.fork()
        if self._number == 0:
            ours.close()
            _parse_all(WireConnection(its))
        its.close()
        ours.settimeout(_PATIENCE_SECONDS)
        self._connection = WireConnection(ours)

    def answer(self, request: Frame) -> Header:
        """What it answers.

        Raises:
            OSError: it does not.
        """
        self.parsed += 1
        self._connection.send(request.header, request.body)
        if (answer := self._connection.receive()) is None:
            raise OSError("the parser ended without an answer")
        return answer.header

    def end(self) -> None:
        """End it, whatever it does."""
        self._connection.close()
        os.kill(self._number, signal.SIGKILL)
        os.waitpid(self._number, 0)


def _parse_all(connection: WireConnection) -> NoReturn:
    """Parse what comes until nobody asks any more, and end this process."""
    try:
        while (frame := connection.receive()) is not None:
            parsers.limit()
            try:
                answer = _answer(frame)
            except (ImportError, KeyError, OSError, WireError) as error:
                answer = {"unknown": str(error)}
            connection.send(answer)
    finally:
        os._exit(0)


def _answer(frame: Frame) -> Header:
    language, packages = text(frame.header, "language"), texts(frame.header, "packages")
    end = integer(frame.header, "before") if "before" in frame.header else None
    before, after = (None, frame.body) if end is None else (frame.body[:end], frame.body[end:])
    sys.path += [package for package in packages if package not in sys.path]
    parsers.load(language)
    return parsers.parsed(language, before, after)
