"""Reads of a session file what the catalogue does not know yet, without locking or changing it."""

import os
from typing import NamedTuple

from kaa.session.catalogue.digest import SessionDigest
from kaa.session.catalogue.places import SessionFile
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
    """

    digest: SessionDigest | None
    end: int
    tail: bytes


def read_file(file: SessionFile, known: Reading | None = None) -> Reading:
    """Read a file, or what it has grown by.

    Args:
        file: which.
        known: what an earlier reading gave, whose digest is continued.

    Raises:
        OSError: it cannot be read.
    """
    with open(file.path, "rb", buffering=_READ_BUFFER_BYTES) as lines:
        if known is None or not _only_grew(lines.fileno(), known):
            header = find_header(os.pread(lines.fileno(), HEADER_BYTES, 0))
            if header is None:
                return Reading(None, 0, b"")
            known = Reading(SessionDigest.of(header), 0, b"")
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
    return Reading(digest, end, recent[-_TAIL_BYTES:])


def _only_grew(descriptor: int, known: Reading) -> bool:
    if known.digest is None:
        return False
    return os.pread(descriptor, len(known.tail), known.end - len(known.tail)) == known.tail
