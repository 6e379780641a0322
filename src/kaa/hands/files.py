"""The file slot: answers one request after another until the brain is gone."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kaa.hands import places, reading, writing
from kaa.hands.connection import WireConnection
from kaa.hands.places import FileLocation
from kaa.hands.settings import HandsSettings
from kaa.hands.wire import MAX_BODY_BYTES, Frame, Header, WireError, integer, is_real, text, texts


class FileReply(NamedTuple):
    """An answer: fields and bytes."""

    header: Header
    body: bytes = b""


def serve(connection: WireConnection, settings: HandsSettings) -> None:
    files = Files(settings)
    while (frame := connection.receive()) is not None:
        reply = files.answer(frame)
        try:
            connection.send(*reply)
        except ConnectionError:
            return


class Files:
    """The operations on files, by the name they have on the wire."""

    def __init__(self, settings: HandsSettings) -> None:
        self._settings = settings
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self._operations: dict[str, Callable[[Frame], FileReply]] = {
            "read": self._read,
            "read_lines": self._read_lines,
            "read_existing": self._read_existing,
            "write": self._write,
            "discard": self._discard,
            "stat": self._stat,
            "list": self._list,
        }

    def answer(self, frame: Frame) -> FileReply:
        """Do what a request asks for; what the system refuses becomes an answer too."""
        try:
            operation = self._operations.get(text(frame.header, "op"))
            if operation is None:
                raise WireError(f"the file slot knows no {frame.header['op']!r}")
            return operation(frame)
        except writing.FileChangedError as error:
            return _error(error.errno or errno.ESTALE, error.strerror or str(error), changed=True)
        except OSError as error:
            return _error(error.errno or errno.EIO, error.strerror or str(error))
        except WireError as error:
            return _error(errno.EINVAL, str(error))
        except MemoryError:
            return _error(errno.ENOMEM, os.strerror(errno.ENOMEM))

    def _path(self, frame: Frame) -> str:
        return self._settings.absolute(text(frame.header, "path"))

    @contextmanager
    def _place(self, frame: Frame, path: str) -> Iterator[FileLocation]:
        """Where a request wants to read: wherever a path leads, but nowhere else than it says if it has to be real."""
        if not is_real(frame.header):
            yield places.followed(path)
            return
        with places.real(path) as place:
            yield place

    def _read(self, frame: Frame) -> FileReply:
        length = None if frame.header.get("length") is None else integer(frame.header, "length")
        with self._place(frame, self._path(frame)) as place:
            piece = reading.read_slice(place, integer(frame.header, "offset"), length)
        return FileReply({"size": piece.size, "digest": piece.digest}, piece.data)

    def _read_lines(self, frame: Frame) -> FileReply:
        limits = [integer(frame.header, name) for name in ("start", "max_lines", "max_bytes")]
        with self._place(frame, self._path(frame)) as place:
            lines, size = reading.read_lines(place, *limits)
        fields = lines._asdict()
        data = fields.pop("data")
        return FileReply({**fields, "size": size}, data)

    def _read_existing(self, frame: Frame) -> FileReply:
        """Contents one after another; their lengths, null for what is not there, are in the header."""
        max_bytes = integer(frame.header, "max_bytes")
        lengths: list[int | None] = []
        body = bytearray()
        for path in texts(frame.header, "paths"):
            data = self._content(frame, self._settings.absolute(path), max_bytes)
            lengths.append(None if data is None else len(data))
            body += data or b""
            if len(body) > MAX_BODY_BYTES:
                raise OSError(errno.EFBIG, "The files are too large to read at once")
        return FileReply({"lengths": lengths}, bytes(body))

    def _content(self, frame: Frame, path: str, max_bytes: int) -> bytes | None:
        try:
            with self._place(frame, path) as place:
                return reading.read_start(place, max_bytes)
        except OSError:  # it is no readable regular file
            return None

    def _write(self, frame: Frame) -> FileReply:
        path = self._path(frame)
        expected = None
        if "absent" in frame.header:
            expected = writing.Expectation(None)
        elif "digest" in frame.header:
            expected = writing.Expectation(text(frame.header, "digest"))
        target = path if is_real(frame.header) else os.path.realpath(path)
        executable = "executable" in frame.header
        mode = integer(frame.header, "mode") if "mode" in frame.header else None
        written = writing.write(target, frame.body, expected, self._umask, executable=executable, mode=mode)
        return FileReply({"info": None if written is None else written._replace(path=path)._asdict()})

    def _discard(self, frame: Frame) -> FileReply:
        top = self._settings.absolute(text(frame.header, "top"))
        writing.discard(self._path(frame), writing.Expectation(text(frame.header, "digest")), top)
        return FileReply({})

    def _stat(self, frame: Frame) -> FileReply:
        known = reading.info(self._path(frame))
        return FileReply({"info": None if known is None else known._asdict()})

    def _list(self, frame: Frame) -> FileReply:
        """Each entry is the first letter of its kind, its name, and a null byte, which no name can have."""
        with self._place(frame, self._path(frame)) as place:
            records = "".join([f"{kind[0]}{name}\0" for kind, name in reading.entries(place)])
        return FileReply({}, os.fsencode(records))


def _error(number: int, message: str, *, changed: bool = False) -> FileReply:
    return FileReply({"error": message, "errno": number, "changed": changed})
