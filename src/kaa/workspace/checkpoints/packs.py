"""Contents by their digest, in files that only grow: one for each process, so that nobody waits for anybody.

A pack is records: a magic word, the length and the digest of a content, and the content. A torn one at the end, as a
crash leaves it, is passed over. What is read is checked, so that damage is told and never restored.
"""

import os
import struct
import threading
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from kaa.hands.digest import blake2b
from kaa.host.regular_files import regular

_RECORD = struct.Struct(">4sI20s")
_MAGIC = b"kaaP"
_DIGEST_BYTES = 20
_MODE = 0o600
_COPIED_AT_ONCE = 4 * 1024 * 1024


class _Place(NamedTuple):
    pack: str
    offset: int
    length: int


class Packs:
    """The contents in a folder. May be used from several threads.

    What the folder has is only found out when a content is asked for: most sessions add some and ask for none.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._places: dict[bytes, _Place] = {}
        self._read_until: dict[str, int] = {}
        self._own: str | None = None
        self._descriptor = -1
        self._reading = ""  # the pack that was read last stays open: what is next is mostly in it too
        self._reading_descriptor = -1
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return sum(os.path.getsize(os.path.join(self._folder, name)) for name in self._names())

    def add(self, contents: Iterable[bytes]) -> None:
        """Keep some contents, each once, as far as it is known what is kept.

        Raises:
            OSError: the disk is full or failed; what was kept before is safe.
        """
        with self._lock:
            named = {_digest(content): content for content in contents}
            self._append([(digest, content) for digest, content in named.items() if digest not in self._places])

    def get(self, digest: str) -> bytes | None:
        """A content; None if it is not there or damaged.

        Raises:
            OSError: the disk failed.
        """
        with self._lock:
            key = bytes.fromhex(digest)
            if key not in self._places:
                self._catch_up()  # another process may have kept it
            content = self._read(self._places[key]) if key in self._places else None
        return content if content is not None and _digest(content) == key else None

    def length(self, digest: str) -> int:
        """How long a content is; 0 if it is not there, as far as is known since `look_again`."""
        place = self._places.get(bytes.fromhex(digest))
        return place.length if place is not None else 0

    def keep_only(self, digests: Collection[str]) -> None:
        """Remove all contents but these. Nobody else may use the folder meanwhile.

        Raises:
            OSError: the disk failed. Nothing that is to be kept was removed.
        """
        with self._lock:
            self._catch_up()
            former = self._names()
            kept = [
                (key, place) for digest in sorted(digests) if (place := self._places.get(key := bytes.fromhex(digest)))
            ]
            self._close_own()
            self._places, self._read_until = {}, {}
            try:
                self._copy(kept)
            except OSError:  # half a copy would only take the room that is missing
                if self._own is not None:
                    os.unlink(os.path.join(self._folder, self._own))
                self._close_own()
                self._places, self._read_until = {}, {}
                raise
            for name in former:
                os.unlink(os.path.join(self._folder, name))

    def discard_own(self) -> None:
        """Remove what this process kept."""
        with self._lock:
            own = self._own
            self._close_own()
            if own is not None:
                os.unlink(os.path.join(self._folder, own))
                self._places = {key: place for key, place in self._places.items() if place.pack != own}

    def look_again(self) -> None:
        """Forget what was known of the folder: somebody may have removed some of it."""
        with self._lock:
            self._close_own()
            self._places, self._read_until = {}, {}
            self._catch_up()

    def close(self) -> None:
        with self._lock:
            self._close_own()

    def _copy(self, kept: Iterable[tuple[bytes, _Place]]) -> None:
        """Write some contents into a pack of our own."""
        batch: list[tuple[bytes, bytes]] = []
        size = 0
        for key, place in kept:
            content = self._read(place)
            if content is None:
                continue
            batch.append((key, content))
            size += len(content)
            if size > _COPIED_AT_ONCE:
                self._append(batch)
                batch, size = [], 0
        self._append(batch)
        if self._descriptor >= 0:
            os.fsync(self._descriptor)  # before the only other copies go

    def _append(self, contents: list[tuple[bytes, bytes]]) -> None:
        if not contents:
            return
        if self._own is None:
            self._own = f"{os.urandom(8).hex()}.pack"
            path = os.path.join(self._folder, self._own)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, _MODE)
        start = os.lseek(self._descriptor, 0, os.SEEK_END)
        data = bytearray()
        places = {}
        for key, content in contents:
            data += _RECORD.pack(_MAGIC, len(content), key)
            places[key] = _Place(self._own, start + len(data), len(content))
            data += content
        try:
            write_all(self._descriptor, data, os.path.join(self._folder, self._own))
        except OSError:
            os.ftruncate(self._descriptor, start)
            raise
        self._places.update(places)
        self._read_until[self._own] = start + len(data)

    def _read(self, place: _Place) -> bytes | None:
        if place.pack != self._reading:
            self._close_reading()
            try:
                descriptor = regular(os.path.join(self._folder, place.pack), os.O_RDONLY)
            except FileNotFoundError:
                return None
            self._reading, self._reading_descriptor = place.pack, descriptor
        return os.pread(self._reading_descriptor, place.length, place.offset)

    def _names(self) -> list[str]:
        return sorted(name for name in os.listdir(self._folder) if name.endswith(".pack"))

    def _catch_up(self) -> None:
        """Take in what has been added since by other processes."""
        for name in self._names():
            if name == self._own:
                continue
            start = self._read_until.get(name, 0)
            with open(os.path.join(self._folder, name), "rb", opener=regular) as pack:
                for key, place in _records(pack.fileno(), name, start):
                    self._places.setdefault(key, place)
                    self._read_until[name] = place.offset + place.length

    def _close_own(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._own = -1, None
        self._close_reading()

    def _close_reading(self) -> None:
        if self._reading_descriptor >= 0:
            os.close(self._reading_descriptor)
        self._reading_descriptor, self._reading = -1, ""


def write_all(descriptor: int, data: bytes | bytearray, path: str) -> None:
    """Write to the end, however much the system takes at once.

    Raises:
        OSError: the disk is full or failed.
    """
    remaining = memoryview(data)
    try:
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def _records(descriptor: int, name: str, offset: int) -> Iterator[tuple[bytes, _Place]]:
    size = os.fstat(descriptor).st_size
    while offset + _RECORD.size <= size:
        magic, length, key = _RECORD.unpack(os.pread(descriptor, _RECORD.size, offset))
        start = offset + _RECORD.size
        if magic != _MAGIC or start + length > size:
            return
        yield key, _Place(name, start, length)
        offset = start + length


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()
