"""Reads of a session file what the catalogue does not know yet, without locking or changing it."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from kaa.session.catalogue.digest import Digest
from kaa.session.catalogue.passages import passage
from kaa.session.catalogue.places import SessionFile
from kaa.session.file.decoding import decode_entry, find_glued_entry
from kaa.session.file.file_store import HEADER_BYTES, find_header

_READ_BUFFER_BYTES = 256 * 1024
# That a file only grew is believed if what stood before its old end still stands there.
_TAIL_BYTES = 160


class Reading(NamedTuple):
    """What is known of a file.

    Attributes:
        digest: of its lines; None if it is no session.
        end: the offset in bytes up to which lines are in the digest. A last line without a line feed waits.
        tail: what stands before `end`.
        continues: whether an earlier reading still held.
    """

    digest: Digest | None
    end: int
    tail: bytes
    continues: bool = False


def read_file(file: SessionFile, known: Reading | None = None) -> Reading:
    """Read a file, or what it has grown by.

    Args:
        file: which.
        known: what an earlier reading gave, whose digest is continued.

    Raises:
        OSError: it cannot be read.
    """
    with open(file.path, "rb", buffering=_READ_BUFFER_BYTES) as lines:
        continues = known is not None and _only_grew(lines.fileno(), known)
        if not continues or known is None:
            header = find_header(os.pread(lines.fileno(), HEADER_BYTES, 0))
            if header is None:
                return Reading(None, 0, b"")
            known = Reading(Digest.of(header), 0, b"")
        digest, end = known.digest, known.end
        assert digest is not None
        lines.seek(end)
        recent = known.tail
        for line in lines:
            if not line.endswith(b"\n"):
                break
            digest.add(line)
            end += len(line)
            recent = line if len(line) >= _TAIL_BYTES else (recent + line)[-_TAIL_BYTES:]
    return Reading(digest, end, recent[-_TAIL_BYTES:], continues)


def _only_grew(descriptor: int, known: Reading) -> bool:
    if known.digest is None:
        return False
    return os.pread(descriptor, len(known.tail), known.end - len(known.tail)) == known.tail


def read_passages(path: str, start: int, end: int) -> Iterator[tuple[str, str]]:
    """The ids and texts of the entries between two offsets in bytes.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb", buffering=_READ_BUFFER_BYTES) as lines:
        lines.seek(start)
        for line in lines:
            start += len(line)
            if start > end:
                return
            entry = decode_entry(line)
            if entry is None and (glued := find_glued_entry(line)):
                entry = decode_entry(line[glued[0] :])
            if entry is not None and (text := passage(entry)):
                yield entry.id, text
