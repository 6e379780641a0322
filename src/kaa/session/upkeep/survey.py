"""A session file looked at line by line, as it is: what readers use of each line, and what they pass over."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, TypeAlias

from kaa.session.entries import SessionHeader
from kaa.session.errors import NotASessionError, SessionReadError
from kaa.session.file.decoding import LineHead, find_glued_entry, read_head
from kaa.session.file.file_store import HEADER_BYTES, find_header
from kaa.session.tree import Node, SessionTree

# header: the first line. entry: a whole one. glued: one behind the beginning of another. damaged: nothing to be read.
# header_again: pi may write a second one.
LineKind: TypeAlias = Literal["header", "entry", "glued", "damaged", "header_again"]


class SurveyedLine(NamedTuple):
    """A line of the file.

    Attributes:
        number: from 1 on.
        offset: where it begins, in bytes.
        length: in bytes, without its line feed.
        node: that entry's place in the tree.
    """

    number: int
    kind: LineKind
    offset: int
    length: int
    head: LineHead | None = None
    node: Node | None = None


class Survey(NamedTuple):
    """A file that holds a session, or what is left of one.

    Attributes:
        header: None if the first line is none any more.
        lines: without blank ones, of which a damaged file may have any number.
        is_terminated: whether the last line has its line feed.
    """

    path: Path
    header: SessionHeader | None
    lines: list[SurveyedLine]
    is_terminated: bool
    tree: SessionTree

    def entries(self) -> Iterator[tuple[SurveyedLine, LineHead, Node]]:
        """The lines that hold an entry."""
        return ((line, line.head, line.node) for line in self.lines if line.head is not None and line.node is not None)


def survey(path: Path) -> Survey:
    """Look at a file. It is neither locked nor changed.

    Raises:
        SessionReadError: it cannot be read.
        NotASessionError: it holds neither a header nor an entry.
    """
    try:
        with path.open("rb", buffering=HEADER_BYTES) as file:
            header = find_header(os.pread(file.fileno(), HEADER_BYTES, 0))
            tree = SessionTree()
            lines = list(_surveyed(file, tree, has_header=header is not None))
            end = os.pread(file.fileno(), 1, max(file.tell() - 1, 0))
    except OSError as error:
        raise SessionReadError(path, error) from error
    if header is None and not any(node.type == "message" for node in tree.nodes):
        raise NotASessionError(path, "it has neither a session header nor a message")
    return Survey(path, header, lines, end in (b"\n", b""), tree)


def _surveyed(file: BinaryIO, tree: SessionTree, *, has_header: bool) -> Iterator[SurveyedLine]:
    offset = 0
    for number, line in enumerate(file, start=1):
        bare = line.rstrip(b"\r\n")
        if bare:
            yield _looked_at(number, bare, offset, tree, is_header=has_header and number == 1)
        offset += len(line)


def _looked_at(number: int, bare: bytes, offset: int, tree: SessionTree, *, is_header: bool) -> SurveyedLine:
    if is_header:
        return SurveyedLine(number, "header", offset, len(bare))
    head = read_head(bare)
    if head is not None and head.type == "session":
        return SurveyedLine(number, "header_again", offset, len(bare), head)
    if head is not None:
        return SurveyedLine(number, "entry", offset, len(bare), head, tree.add(head, offset, len(bare)))
    glued = find_glued_entry(bare)
    if glued is None or glued[1].type == "session":
        return SurveyedLine(number, "damaged", offset, len(bare))
    start, head = glued
    node = tree.add(head, offset + start, len(bare) - start)
    return SurveyedLine(number, "glued", offset, len(bare), head, node)
