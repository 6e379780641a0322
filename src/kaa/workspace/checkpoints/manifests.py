"""What a project looked like the last time, so that only what differs is read again. One file for each process.

A manifest is lines of JSON, each a list of [path, state]; later ones replace earlier ones.
"""

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Collection, Iterable
from typing import TypeAlias

import msgspec

from kaa.hands.digest import blake2b
from kaa.host import regular_files
from kaa.host.regular_files import regular
from kaa.workspace.checkpoints.contract import StateRow
from kaa.workspace.checkpoints.packs import write_all

_MODE = 0o600
_COMPACT_LINES = 200
_Line: TypeAlias = list[tuple[str, StateRow | None]]


class Manifests:
    """The manifests in a folder, and the one that this process writes.

    Attributes:
        own: name of the one that this process writes; empty before `begin`.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._descriptor = -1
        self._adding = threading.Lock()  # what changed and what was learned may come at the same time
        self.own = ""

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return sum(os.path.getsize(self._path(name)) for name in self.names())

    def last(self, root: str, wanted: str) -> bytes:
        """The one that is wanted, or else what was last known of the project at `root`; empty if nothing was."""
        names = [name for name in self.names() if name.startswith(_prefix(root))]
        for name in [wanted] if wanted in names else sorted(names, key=self._changed, reverse=True):
            if (known := self.read(name)) is not None:
                return known
        return b""

    def read(self, name: str) -> bytes | None:
        """What one says; None if it is not there or damaged."""
        try:
            with open(self._path(name), "rb", opener=regular) as file:
                data = file.read()
            known = data[: data.rfind(b"\n") + 1]  # a torn last line is not known
            _rows(known)
        except (OSError, ValueError, RecursionError):
            return None
        return known

    def begin(self, root: str, known: bytes, needed: Collection[str]) -> None:
        """Go on from what is known in a file of our own; remove those of the project that nobody uses or needs.

        Raises:
            OSError: the disk is full or failed.
        """
        self.close()
        if known.count(b"\n") > _COMPACT_LINES:
            known = _compacted(known)
        self.own = f"{_prefix(root)}{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(self._path(self.own), flags, _MODE)
        regular_files.lock(self._descriptor, fcntl.LOCK_EX)
        try:
            write_all(self._descriptor, known, self._path(self.own))
        except OSError:
            os.unlink(self._path(self.own))
            self.close()
            raise
        for name in self.names():
            if name not in (self.own, *needed) and name.startswith(_prefix(root)):
                self._remove_unless_in_use(name)

    def add(self, rows: Iterable[tuple[str, object, object]]) -> None:
        """Note how some paths are now.

        Raises:
            OSError: the disk is full or failed.
        """
        line = json.dumps([[path, after] for path, _, after in rows], separators=(",", ":"))
        with self._adding:
            end = os.fstat(self._descriptor).st_size
            try:
                write_all(self._descriptor, line.encode("ascii") + b"\n", self._path(self.own))
            except OSError:
                os.ftruncate(self._descriptor, end)  # the next line must not stand behind half a one
                raise

    def names(self) -> list[str]:
        """All manifests, of other projects that share the folder too."""
        return os.listdir(self._folder)

    def digests(self) -> set[str]:
        """All contents that they name."""
        return {digest for name in self.names() for digest in self._digests(name)}

    def forget(self, before: float) -> int:
        """Remove those that were not changed since (Unix time, seconds) and nobody uses. Returns how many."""
        old = [name for name in self.names() if self._changed(name) < before]
        return sum(map(self._remove_unless_in_use, old))

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _digests(self, name: str) -> set[str]:
        return {row[1] for _, row in _rows(self.read(name) or b"") if row is not None and row[1]}

    def _changed(self, name: str) -> float:
        with contextlib.suppress(OSError):
            return os.path.getmtime(self._path(name))
        return 0.0

    def _remove_unless_in_use(self, name: str) -> bool:
        try:
            descriptor = regular(self._path(name), os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(self._path(name))
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)


def _prefix(root: str) -> str:
    """Two projects may share a folder, as `/a-b` and `/a/b` do."""
    return blake2b(os.fsencode(root), digest_size=8).hexdigest() + "-"


def _compacted(manifest: bytes) -> bytes:
    """The same in one line."""
    known = dict(_rows(manifest))
    rows = [[path, row] for path, row in known.items() if row is not None]
    return json.dumps(rows, separators=(",", ":")).encode("ascii") + b"\n"


def _rows(manifest: bytes) -> list[tuple[str, StateRow | None]]:
    """What it says, in its order.

    Raises:
        ValueError: a line of it is none of ours.
        RecursionError: the same.
    """
    return [row for line in manifest.splitlines() for row in _line(line)]


def _line(line: bytes) -> list[tuple[str, StateRow | None]]:
    try:
        return msgspec.json.decode(line, type=_Line)
    except msgspec.DecodeError:  # a name that is not UTF-8 is half of a surrogate pair, which only `json` reads
        return msgspec.convert(json.loads(line), _Line)
