"""Copies of a session: everything, or the path to one entry. The source is only read and needs no lock.

Lines are copied byte for byte, those we do not understand too, so that ids and all that other programs wrote stay.
"""

import contextlib
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from kaa.core.messages import now_ms
from kaa.session.entries import FORMAT_VERSION, Label, SessionHeader
from kaa.session.errors import EntryNotFoundError, NotASessionError, SessionReadError, SessionWriteError
from kaa.session.file.append_file import create_private_folders
from kaa.session.file.decoding import decode_entry, read_head
from kaa.session.file.file_store import HEADER_BYTES, find_header
from kaa.session.file.jsonl import encode_line
from kaa.session.file.whole_file import whole_file
from kaa.session.naming import iso_timestamp, new_entry_id
from kaa.session.store import grow
from kaa.session.tree import Node, SessionTree

_BUFFER_BYTES = 1024 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def copy_everything(source: Path, header: SessionHeader, target: Path) -> None:
    """Copy all branches of a session into a new file.

    Args:
        target: its path; the file appears when it is whole.

    Raises:
        SessionReadError: the source cannot be read.
        NotASessionError: it is something else.
        SessionWriteError: the copy cannot be written.
    """
    with _opened(source) as (old, lines):
        entries = _migrated(lines) if old.version < FORMAT_VERSION else lines
        write_session(target, header, (line.rstrip(b"\n") + b"\n" for line in entries if _is_to_copy(line)))


def copy_path(source: Path, header: SessionHeader, target: Path, entry_id: str | None, *, inclusive: bool) -> bool:
    """Copy what leads to an entry into a new file. Labels of what is copied are kept, wherever they were given.

    Args:
        target: its path; the file appears when it is whole.
        entry_id: where the copy ends; None for the end of the current branch.

    Returns:
        Whether there is a copy; there is none of a path that is empty.

    Raises:
        EntryNotFoundError: the source has no such entry.
        SessionReadError: the source cannot be read.
        NotASessionError: it is something else.
        SessionWriteError: the copy cannot be written.
    """
    with _opened(source) as (old, file):
        lines = _migrated(file) if old.version < FORMAT_VERSION else file
        tree = SessionTree()
        grow(tree, lines)
        end = tree.leaf if entry_id is None else tree.get(entry_id)
        if entry_id is not None and end is None:
            raise EntryNotFoundError(source, entry_id)
        if end is not None and not inclusive:
            end = end.parent
        path = _without_turns(lines, tree.path(end)) if end is not None else []
        if not path:
            return False
        write_session(target, header, _lines_of_path(lines, tree, path))
    return True


def write_session(target: Path, header: SessionHeader, lines: Iterable[bytes]) -> None:
    """Write a whole session file, or none at all.

    Args:
        target: where; there must be no file yet.
        header: its first line.

    Raises:
        SessionWriteError: it cannot be written.
    """
    try:
        create_private_folders(target.parent)
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with whole_file(target.name, folder) as file:
                file.write(encode_line(header))
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
        finally:
            os.close(folder)
    except OSError as error:
        raise SessionWriteError.because(target, error) from error


@contextlib.contextmanager
def _opened(source: Path) -> Iterator[tuple[SessionHeader, BinaryIO]]:
    """The header of a session, and its lines from the first on."""
    try:
        with source.open("rb", buffering=_BUFFER_BYTES) as lines:
            header = find_header(lines.read(HEADER_BYTES))
            if header is None:
                raise NotASessionError(source, "it does not begin with a session header")
            lines.seek(0)
            yield header, lines
    except OSError as error:
        raise SessionReadError(source, error) from error


def _migrated(lines: Iterable[bytes]) -> BinaryIO:
    from kaa.session.file.migration import migrate  # lazy: few sessions are that old

    return io.BytesIO(migrate(lines))


def _is_to_copy(line: bytes) -> bool:
    """Everything but headers, of which pi may write two, and the beginning of a line that is being written."""
    head = read_head(line.removeprefix(_BYTE_ORDER_MARK))
    return line.endswith(b"\n") if head is None else head.type != "session"


def _without_turns(lines: BinaryIO, path: list[Node]) -> list[Node]:
    """Leave out `leaf` entries, which would lead elsewhere, unless the next entry hangs below one (pi may do so)."""
    kept: list[Node] = []
    for node in reversed(path):
        if node.type != "leaf" or (kept and _parent_id(lines, kept[-1]) == node.id):
            kept.append(node)
    kept.reverse()
    return kept


def _parent_id(lines: BinaryIO, node: Node) -> object:
    head = read_head(_line(lines, node))
    return head.parent_id if head is not None else None


def _lines_of_path(lines: BinaryIO, tree: SessionTree, path: list[Node]) -> Iterator[bytes]:
    for node in path:
        yield _line(lines, node) + b"\n"
    copied = {node.id for node in path}
    brought, all_labels = (_labels(lines, nodes, copied) for nodes in (path, tree.nodes))
    missing: dict[str, str | None] = {
        target: label for target, label in all_labels.items() if brought.get(target) != label
    }
    missing |= dict.fromkeys(target for target in brought if target not in all_labels)
    parent, now = path[-1].id, iso_timestamp(now_ms())
    for target, label in missing.items():
        entry_id = new_entry_id(copied)
        yield encode_line(Label(id=entry_id, parent_id=parent, timestamp=now, target_id=target, label=label))
        copied.add(entry_id)
        parent = entry_id


def _labels(lines: BinaryIO, nodes: list[Node], targets: set[str]) -> dict[str, str]:
    """The names in force of `targets`, as some entries give them."""
    labels: dict[str, str | None] = {}
    for node in nodes:
        if node.type == "label":
            entry = decode_entry(_line(lines, node))
            if isinstance(entry, Label) and entry.target_id in targets:
                labels[entry.target_id] = entry.label or None
    return {target: label for target, label in labels.items() if label is not None}


def _line(lines: BinaryIO, node: Node) -> bytes:
    lines.seek(node.offset)
    return lines.read(node.length)
