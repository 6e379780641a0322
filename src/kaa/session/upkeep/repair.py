"""Mends a session so that every program can read all of it. Nothing readable is lost, and what is not is kept aside."""

import itertools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.core.messages import now_ms
from kaa.session.entries import FORMAT_VERSION, SessionHeader
from kaa.session.errors import SessionWriteError
from kaa.session.file.append_file import PRIVATE_FILE, AppendFile
from kaa.session.file.decoding import read_head
from kaa.session.file.jsonl import encode_object, lenient_object
from kaa.session.library.agents import copy_agents
from kaa.session.library.copying import write_session
from kaa.session.naming import file_name, iso_timestamp, new_entry_id, new_session_id, session_id_in
from kaa.session.store import new_header
from kaa.session.tree import Node
from kaa.session.upkeep.survey import Survey, survey

_STRING_OR_NULL = rb'\s*:\s*(null|"(?:[^"\\]|\\.)*")'
_PLACES = {name: re.compile(b'"' + name.encode() + b'"' + _STRING_OR_NULL) for name in ("id", "parentId", "targetId")}
# Tried, each of them by reading the whole line: tool calls have ids too, and a line may hold any number of them.
_MOST_PLACES = 16

_DAMAGED = frozenset({"damaged", "glued", "header_again"})


class Repaired(NamedTuple):
    """What was written.

    Attributes:
        original: as it was before: the session itself, or its backup.
        damaged: holds the lines that cannot be read; None if there are none.
        mended: how many entries got another id or parent.
    """

    session: Path
    original: Path
    damaged: Path | None
    mended: int


def repair(path: Path, *, in_place: bool = False) -> Repaired:
    """Write the session anew without what is wrong with it.

    Args:
        in_place: put the result in its place and keep the original beside it as `.bak`. Otherwise the result is a
            session of its own beside the original, which is left as it is.

    Raises:
        SessionReadError: it cannot be read.
        NotASessionError: it is something else; it was not touched.
        SessionBusyError: somebody has it open.
        SessionWriteError: the result cannot be written; the original is as it was.
    """
    file = AppendFile.open(path)  # nobody may write until this is done
    try:
        return _repaired(survey(path), file, in_place=in_place)
    finally:
        file.close()


def _repaired(surveyed: Survey, file: AppendFile, *, in_place: bool) -> Repaired:
    path, header = surveyed.path, _header(surveyed)
    if in_place:
        target = _free(path, ".repaired")
    else:
        header = new_header(header.cwd, str(path.absolute()))
        target = path.with_name(file_name(header.timestamp, header.id))
    mending = _Mending(surveyed, file)
    write_session(target, header, mending.lines())
    damaged = _keep_damaged(surveyed, file)
    if not in_place:
        copy_agents(path, target)
        return Repaired(target, path, damaged, mending.count)
    return Repaired(path, _swap(path, target), damaged, mending.count)


def _header(surveyed: Survey) -> SessionHeader:
    """The session's header in today's format; of a lost one, what can still be known."""
    if surveyed.header is not None:
        return msgspec.structs.replace(surveyed.header, version=max(surveyed.header.version, FORMAT_VERSION))
    session_id = session_id_in(surveyed.path.name) or new_session_id()
    return SessionHeader(FORMAT_VERSION, session_id, iso_timestamp(now_ms()))


class _Mending:
    """The entries of a session as they should be. `count`: how many had to be changed."""

    def __init__(self, surveyed: Survey, file: AppendFile) -> None:
        self._surveyed = surveyed
        self._file = file
        self.count = 0

    def lines(self) -> Iterator[bytes]:
        """Byte for byte, but for what an entry says of its place and must not."""
        whole = (self._file.read(node.offset, node.length) + b"\n" for node in self._surveyed.tree.nodes)
        header = self._surveyed.header
        if header is not None and header.version < FORMAT_VERSION:
            from kaa.session.file.migration import migrate  # lazy: few sessions are that old

            yield migrate(whole)
            return
        for line, changes in zip(whole, self._changes(), strict=True):
            self.count += bool(changes)
            for name, value in changes.items():
                line = _replaced(line, name, value)  # noqa: PLW2901 - one change after the other
            yield line

    def _changes(self) -> Iterator[dict[str, str | None]]:
        """What each entry must say else: of several with one id, all but the last get a new one."""
        nodes = self._surveyed.tree.nodes
        last = {node.id: node for node in nodes}
        ids: dict[Node, str] = {}
        known: dict[str, Node] = {}
        for _, head, node in self._surveyed.entries():
            ids[node] = node.id if last[node.id] is node else new_entry_id(last)
            wanted = {"id": ids[node], "parentId": ids[node.parent] if node.parent is not None else None}
            given = {"id": head.id, "parentId": head.parent_id, "targetId": head.target_id}
            if head.type == "leaf" and head.target_id is not None:
                target = known.get(head.target_id, node.parent)
                wanted["targetId"] = ids[target] if target is not None else None
            known[node.id] = node
            yield {name: value for name, value in wanted.items() if given[name] != value}


def _replaced(line: bytes, name: str, value: str | None) -> bytes:
    """The line with another value; all its other bytes stay where the value stands in it as is usual."""
    field = b'"%s":%s' % (name.encode(), msgspec.json.encode(value))
    for place in itertools.islice(_PLACES[name].finditer(line), _MOST_PLACES):
        candidate = line[: place.start()] + field + line[place.end() :]
        if _place(line, name) != value == _place(candidate, name):
            return candidate
    return encode_object({**(lenient_object(line) or {}), name: value})


def _place(line: bytes, name: str) -> object:
    head = read_head(line)
    return {"id": head.id, "parentId": head.parent_id, "targetId": head.target_id}[name] if head is not None else ...


def _keep_damaged(surveyed: Survey, file: AppendFile) -> Path | None:
    """Write down what no reader understands."""
    pieces = [
        file.read(line.offset, line.length if line.node is None else line.node.offset - line.offset)
        for line in surveyed.lines
        if line.kind in _DAMAGED
    ]
    if not pieces:
        return None
    target = _free(surveyed.path, ".damaged")
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        with open(descriptor, "wb") as damaged:
            damaged.writelines(piece + b"\n" for piece in pieces)
    except OSError as error:
        raise SessionWriteError.because(target, error) from error
    return target


def _swap(path: Path, repaired: Path) -> Path:
    """Put the repaired file in the place of the original, which is kept. At every moment there is one of them."""
    backup = _free(path, ".bak")
    try:
        try:
            os.link(path, backup)
        except OSError:  # a file system without links
            shutil.copy2(path, backup)
        repaired.replace(path)
    except OSError as error:
        repaired.unlink(missing_ok=True)
        raise SessionWriteError.because(path, error) from error
    return backup


def _free(path: Path, ending: str) -> Path:
    """A name beside a file that nothing has yet."""
    names = (path.with_name(f"{path.name}{ending}{number or ''}") for number in itertools.count())
    return next(name for name in names if not name.exists())
