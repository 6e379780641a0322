"""Frames and file descriptors on a stream socket, for both ends: the brain and the hands; and checked fields.

A frame is two 32-bit big-endian lengths, a JSON object and raw bytes. JSON and not marshal or pickle, because
neither end may be able to run code in the other. Descriptors travel with the first byte of their frame.
"""

import array
import json
import os
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview
Header: TypeAlias = dict[str, object]
MAX_HEADER_BYTES = 16 * 1024 * 1024  # Linux takes 6 MiB of arguments and environment at most; JSON may double that
MAX_BODY_BYTES = 256 * 1024 * 1024
_LENGTHS = struct.Struct("!II")
_to_json = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode  # `dumps` makes one each time
_RECEIVE_BYTES = 64 * 1024
_MAX_DESCRIPTORS = 5  # the standard streams of an extension, and its connection
# What the guard writes into the pipe of its alarm if commands plant names in a loop; other bytes ask for a look only.
FLOOD_ALARM = b"!"
# In the header of any frame from the hands: there was no current bytecode of a module, and they compiled it.
COMPILED = "compiled"
# Where recvmsg cannot set close-on-exec itself (macOS), it is set right after: the hands have one thread.
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class WireError(Exception):
    """The other end broke the protocol, or what should be sent is too large for it."""


class Frame(NamedTuple):
    header: Header
    body: bytes


def encode(header: Mapping[str, object], body: Buffer = b"") -> bytes:
    """Everything of a frame that comes before its body.

    Raises:
        WireError: header or body are too large.
    """
    text = _to_json(header).encode("ascii")
    _check_lengths(len(text), len(body))
    return _LENGTHS.pack(len(text), len(body)) + text


class FrameDecoder:
    """Puts frames together from bytes in any chunking."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._lengths: tuple[int, int] | None = None

    def feed(self, data: Buffer) -> None:
        """Add bytes as they were received."""
        self._buffer += data

    def next(self) -> Frame | None:
        """Take the next complete frame, or None if more bytes are needed.

        Raises:
            WireError: what was received is no frame. Nothing after it can be understood.
        """
        if self._lengths is None:
            if len(self._buffer) < _LENGTHS.size:
                return None
            header_bytes, body_bytes = _LENGTHS.unpack_from(self._buffer)
            _check_lengths(header_bytes, body_bytes)
            self._lengths = (header_bytes, body_bytes)
        header_bytes, body_bytes = self._lengths
        body_start = _LENGTHS.size + header_bytes
        end = body_start + body_bytes
        if len(self._buffer) < end:
            return None
        with memoryview(self._buffer) as view:
            text, body = bytes(view[_LENGTHS.size : body_start]), bytes(view[body_start:end])
        del self._buffer[:end]
        self._lengths = None
        return Frame(_parse_header(text), body)


def receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """Receive some bytes and the descriptors that came with them, closed on exec. No bytes: the other end is gone.

    Raises:
        WireError: more descriptors came than anyone sends.
    """
    # Not socket.recv_fds(): up to Python 3.13 it ignores its flags, and commands would inherit the descriptors.
    space = socket.CMSG_SPACE(_MAX_DESCRIPTORS * array.array("i").itemsize)
    data, ancillary, flags, _ = sock.recvmsg(_RECEIVE_BYTES, space, _CLOSE_ON_EXEC)
    descriptors = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
    if not _CLOSE_ON_EXEC:
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
    if flags & socket.MSG_CTRUNC:
        close_all(descriptors)
        raise WireError("more file descriptors came than the protocol allows")
    return data, list(descriptors)


def send_some(sock: socket.socket, data: Buffer, descriptors: Sequence[int] = ()) -> int:
    """Send the start of `data` together with descriptors; returns how many bytes were taken."""
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
    return sock.sendmsg([data], [rights] if descriptors else [])


def close_all(descriptors: Iterable[int]) -> None:
    """Close descriptors that nobody wants."""
    for descriptor in descriptors:
        os.close(descriptor)


def _check_lengths(header_bytes: int, body_bytes: int) -> None:
    if header_bytes > MAX_HEADER_BYTES:
        raise WireError(f"a header of {header_bytes} bytes is larger than the {MAX_HEADER_BYTES} allowed")
    if body_bytes > MAX_BODY_BYTES:
        raise WireError(f"{body_bytes} bytes at once are more than the {MAX_BODY_BYTES} allowed")


def _parse_header(text: bytes) -> Header:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WireError(f"a header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise WireError("a header is not a JSON object")
    return header


def text(header: Header, name: str) -> str:
    """A field of a request that must be a text."""
    value = header.get(name)
    if not isinstance(value, str):
        raise WireError(f"{name!r} must be a text")
    return value


def integer(header: Header, name: str) -> int:
    """A field of a request that must be a whole number, not negative."""
    value = header.get(name)
    if not isinstance(value, int) or value < 0:
        raise WireError(f"{name!r} must be a whole number, not negative")
    return value


def texts(header: Header, name: str) -> list[str]:
    """A field of a request that must be a list of texts."""
    value = header.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise WireError(f"{name!r} must be a list of texts")
    return value


def pairs(header: Header, name: str) -> list[tuple[str, str]]:
    """A field of a request that must be a list of pairs of texts."""
    found = []
    for item in value if isinstance(value := header.get(name), list) else [None]:
        match item:
            case [str(first), str(second)]:
                found.append((first, second))
            case _:
                raise WireError(f"{name!r} must be a list of pairs of texts")
    return found


def text_map(header: Header, name: str) -> dict[str, str]:
    """A field of a request that must map texts to texts."""
    value = header.get(name)
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise WireError(f"{name!r} must map texts to texts")
    return value


def flag(header: Header, name: str) -> bool:
    """A field of a request that must be true or false."""
    value = header.get(name)
    if not isinstance(value, bool):
        raise WireError(f"{name!r} must be true or false")
    return value


def is_real(header: Header) -> bool:
    """Whether the paths of a request are real: an operation fails where a part of one is a symlink by now."""
    return "real" in header and flag(header, "real")


def mapping(header: Header, name: str) -> Header:
    """A field of a request that must be an object."""
    value = header.get(name)
    if not isinstance(value, dict):
        raise WireError(f"{name!r} must be an object")
    return value
