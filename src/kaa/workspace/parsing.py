"""Syntax errors of texts, from a process of the hands that parses."""

import asyncio
import os
import sys
from typing import Protocol, TypeAlias, runtime_checkable

import msgspec

from kaa.workspace.channel import parse as decoded
from kaa.workspace.slots import SlotRequests

# Calls that are not permitted write nothing, and nobody asks for what they would have written.
_MOST_EXPECTED = 16

_Texts: TypeAlias = tuple[str, bytes | None, bytes]  # the language, and the texts before and after


class SyntaxFault(msgspec.Struct, frozen=True):
    """An error. `line` and `column` count from 1."""

    line: int
    column: int
    message: str


class Parsed(msgspec.Struct, frozen=True):
    """What was found.

    Attributes:
        before: in the text before, if there was one and the text after has errors.
        python: the version of Python that parsed, such as `3.13`.
    """

    before: tuple[SyntaxFault, ...]
    after: tuple[SyntaxFault, ...]
    python: str


@runtime_checkable
class Parsing(Protocol):
    """Parses texts where nothing else ends if one crashes a parser. No part of `Workspace`: few have use for it."""

    def expect_parsing(self, language: str, path: str, before: bytes | None) -> None:
        """What will be written to a file is to be parsed: begin with it while it is written, without waiting.

        Args:
            language: as for `parse`, which gives the answer.
            before: what is in it; None for a new one.
        """

    async def parse(self, language: str, before: bytes | None, after: bytes) -> Parsed | None:
        """The syntax errors of a text; None if nothing is known of them.

        Args:
            language: `bash`, `json`, `python`, `toml` or `yaml`.
            before: what it was; None for a new one.

        Raises:
            OSError: no process can be started.
        """


class _Answer(msgspec.Struct, frozen=True):
    """What the process answers; without a version it knows nothing."""

    before: tuple[SyntaxFault, ...] = ()
    after: tuple[SyntaxFault, ...] = ()
    python: str = ""


class Parser:
    """Parses in one slot, and begins with what it expects as soon as that is written."""

    def __init__(self, requests: SlotRequests) -> None:
        self._requests = requests
        self._expected: dict[str, tuple[str, bytes | None]] = {}  # by path
        self._begun: dict[_Texts, asyncio.Task[Parsed | None]] = {}

    def expect(self, language: str, path: str, before: bytes | None) -> None:
        """`path` is absolute."""
        self._requests.expect()
        self._expected[path] = language, before
        while len(self._expected) > _MOST_EXPECTED:
            del self._expected[next(iter(self._expected))]

    def written(self, path: str, after: bytes) -> None:
        """Begin to parse what is written to a file now, if that is expected. `path` is absolute."""
        if (expected := self._expected.pop(path, None)) is None:
            return
        texts = (*expected, after)
        task = self._begun[texts] = asyncio.create_task(self._parsed(*texts))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # else it is reported as not seen
        while len(self._begun) > _MOST_EXPECTED:
            self._begun.pop(next(iter(self._begun))).cancel()

    async def parse(self, language: str, before: bytes | None, after: bytes) -> Parsed | None:
        begun = self._begun.pop((language, before, after), None)
        return await (begun or self._parsed(language, before, after))

    def close(self) -> None:
        for task in self._begun.values():
            task.cancel()
        self._requests.close()

    async def _parsed(self, language: str, before: bytes | None, after: bytes) -> Parsed | None:
        # PyYAML is the one parser that is not in the standard library.
        packages = list(filter(os.path.isabs, sys.path)) if language == "yaml" else []
        request = {"language": language, "packages": packages, **({} if before is None else {"before": len(before)})}
        answer = decoded((await self._requests.call("", request, (before or b"") + after)).header, _Answer)
        return Parsed(answer.before, answer.after, answer.python) if answer.python else None
