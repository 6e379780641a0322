"""The slot that parses: it forks a process for each request, so that a text that crashes a parser ends nothing else."""

import json
import os
import select
import signal
import sys

from kaa.hands.connection import WireConnection
from kaa.hands.fields import integer, text, texts
from kaa.hands.parsing import parsers
from kaa.hands.wire import Frame, Header, WireError

# A process has five seconds of processor time; one that waits does nothing useful.
_PATIENCE_MILLISECONDS = 10_000
_READ_BYTES = 64 * 1024


def serve(connection: WireConnection) -> None:
    """Answer requests in order until the brain is gone.

    A request has a `language`, `packages` (directories where further parsers are), `before` (how many bytes of the body
    are the text before; none for a new file), and both texts as its body. The answer has the fields of
    `parsers.parsed`; without them, nothing is known of the texts.
    """
    while (frame := connection.receive()) is not None:
        try:
            answer = _answer(frame)
        except (ImportError, KeyError, OSError, WireError) as error:
            answer = {"unknown": str(error)}
        try:
            connection.send(answer)
        except ConnectionError:
            return


def _answer(frame: Frame) -> Header:
    language, packages = text(frame.header, "language"), texts(frame.header, "packages")
    end = integer(frame.header, "before") if "before" in frame.header else None
    before, after = (None, frame.body) if end is None else (frame.body[:end], frame.body[end:])
    sys.path += [package for package in packages if package not in sys.path]
    parsers.load(language)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        _end_with(theirs, language, before, after)
    os.close(theirs)
    try:
        answer = _received(ours)
    finally:
        os.close(ours)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if not answer:
        raise OSError("the parser ended without an answer")
    found: Header = json.loads(answer)
    return found


def _end_with(answers: int, language: str, before: bytes | None, after: bytes) -> None:
    """Parse, send what was found, and end this process."""
    try:
        parsers.limit()
        os.write(answers, json.dumps(parsers.parsed(language, before, after)).encode())
    finally:
        os._exit(0)


def _received(pipe: int) -> bytes:
    """What comes through a pipe, in time; a part of it otherwise."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    found = b""
    while poll.poll(_PATIENCE_MILLISECONDS) and (part := os.read(pipe, _READ_BYTES)):
        found += part
    return found
