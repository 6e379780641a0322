"""Syntax errors of texts, from a process of the hands that parses."""

import os
import sys
from typing import Protocol, runtime_checkable

import msgspec

from kaa.workspace.channel import parse as decoded
from kaa.workspace.slot_requests import SlotRequests


class SyntaxFault(msgspec.Struct, frozen=True):
    """An error. `line` and `column` count from 1."""

    line: int
    column: int
    message: str


class Parsed(msgspec.Struct, frozen=True):
    """What was found.

    Attributes:
        before: in the text before, if there was one and the text after has errors.
        after: in the text after.
        python: the version of Python that parsed, such as `3.13`.
    """

    before: tuple[SyntaxFault, ...]
    after: tuple[SyntaxFault, ...]
    python: str


@runtime_checkable
class Parsing(Protocol):
    """Parses texts where nothing else ends if one crashes a parser. No part of `Workspace`: few have use for it."""

    def expect_parsing(self) -> None:
        """A text will be parsed soon: prepare for it, without waiting."""
        ...

    async def parse(self, language: str, before: bytes | None, after: bytes) -> Parsed | None:
        """The syntax errors of a text; None if nothing is known of them.

        Args:
            language: `bash`, `json`, `python`, `toml` or `yaml`.
            before: what it was; None for a new one.
            after: what it is.

        Raises:
            OSError: no process can be started.
        """
        ...


class _Answer(msgspec.Struct, frozen=True):
    """What the process answers; without a version it knows nothing."""

    before: tuple[SyntaxFault, ...] = ()
    after: tuple[SyntaxFault, ...] = ()
    python: str = ""


async def parse(requests: SlotRequests, language: str, before: bytes | None, after: bytes) -> Parsed | None:
    """See `Parsing.parse`. `requests`: to a slot that parses."""
    # PyYAML is the one parser that is not in the standard library.
    packages = list(filter(os.path.isabs, sys.path)) if language == "yaml" else []
    request = {"language": language, "packages": packages, **({} if before is None else {"before": len(before)})}
    answer = decoded((await requests.call("", request, (before or b"") + after)).header, _Answer)
    return Parsed(answer.before, answer.after, answer.python) if answer.python else None
