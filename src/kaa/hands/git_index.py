"""Where git's index has repositories of their own (gitlinks): `git status` starts another git in each of them.

An entry for a whole directory (sparse index) stands for what a tree object says; there may be gitlinks in it.
git does not check the paths of an index that it reads: `git checkout .` writes `.git/hooks/x` and `../x` if it says so.

The parser follows git's own (read-cache.c, gitformat-index(5)). What git reads and we do not would be a hole, so
everything that git may take for the beginning of entries is read as one, with both lengths that hashes have.
"""

import functools
import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from kaa.hands.lazy_pattern import LazyPattern

_KIND = 0o170000
_GITLINK = 0o160000
_DIRECTORY = 0o040000
_KIND_AT = 26  # in an entry, the byte of the mode that has the kind, in its upper half; git ignores what is above
_KINDS_THAT_LEAD = frozenset((_GITLINK >> 12, _DIRECTORY >> 12))
_HEADER = struct.Struct(">4sII")  # signature, version, number of entries
_VERSION_WITH_COMPRESSED_PATHS = 4
_MODE_AT = 24  # in an entry, after two times, device and inode
_HASH_AT = 40  # after mode, owner, group and size
_HASH_BYTES = (20, 32)  # SHA-1, SHA-256: the repository's configuration says which
_MIN_ENTRY_BYTES = 62
_EXTENDED = 0x4000
_NAME_LENGTH = 0xFFF  # as large as this: the name ends at a null character
_EXTENSION = struct.Struct(">4sI")
_END_OF_ENTRIES = b"EOIE"
_KNOWN_EXTENSIONS = (b"link", b"sdir")  # of others that begin in lower case git says that it does not understand them
_SHARED = b"link"  # an extension that says which other file has the entries that this one does not change
_MAX_SHARED = 64
_BLOCKS = b"IEOT"  # an extension that says where threads begin to read, and how many entries
_BLOCK = struct.Struct(">II")
_PART_BYTES = 1024 * 1024  # 6 ms to search, at worst
_MAX_BLOCKS = 1024  # git makes one for each thread
# What git accepts in no path that it adds (verify_path in read-cache.c).
_FIRST_OF_ESCAPES = (b"", b".", b"/", b"\0")
_ESCAPES = LazyPattern(rb"(?:^|/)(?:\.{0,2}|\.git)(?:/|$)", re.IGNORECASE)


class IndexRefusedError(ValueError):
    """It cannot be read in reasonable time, or not at all. The message says why, as a clause."""


class _Block(NamedTuple):
    """Entries one after another."""

    start: int
    entries: int


@functools.lru_cache(maxsize=4)  # the guard asks again and again
def gitlinks(data: bytes, *, sha256: bool | None = False) -> frozenset[str]:
    """The paths of gitlinks, relative to the working tree, at least all those that git finds.

    A path that ends in a slash is that of a directory in which there may be more of them.

    Args:
        data: the content of an index, or of the shared part of one.
        sha256: the repository's hashes have 32 bytes, as its configuration says; None if that is not known, and other
            paths are checked elsewhere.

    Raises:
        IndexRefusedError: to read it would take too long, what it says cannot be followed, or a path in it leads out of
            the working tree.
    """
    if len(data) < _HEADER.size:
        return frozenset()
    _, version, entries = _HEADER.unpack_from(data)
    blocks = (_Block(_HEADER.size, entries), *_blocks(data))
    compressed = version == _VERSION_WITH_COMPRESSED_PATHS
    own = None if sha256 is None else _HASH_BYTES[sha256]
    paths = (path for size in _HASH_BYTES for path in _paths(data, blocks, size, size == own, compressed=compressed))
    found = frozenset(path.decode("utf-8", "surrogateescape") for path in paths)
    if "" in found and shared_parts(data):
        raise IndexRefusedError("it makes a repository of a file that another index names")
    return found - {""}


def shared_parts(data: bytes) -> frozenset[str]:
    """The names of files beside an index that may have more entries of it (split index).

    Raises:
        IndexRefusedError: there are too many.
    """
    names: set[str] = set()
    at = _find(data, _SHARED)
    while at >= 0:
        start, size = at + 8, int.from_bytes(data[at + 4 : at + 8], "big")
        if _HASH_BYTES[0] <= size <= len(data) - start:  # else the word is part of something else
            names |= {f"sharedindex.{data[start : start + length].hex()}" for length in _HASH_BYTES}
        if len(names) > _MAX_SHARED:
            raise IndexRefusedError("it has more parts than can be checked")
        at = _find(data, _SHARED, at + 1)
    return frozenset(names)


def _paths(
    data: bytes, blocks: tuple[_Block, ...], hash_bytes: int, is_own: bool, *, compressed: bool
) -> Iterator[bytes]:
    """Paths of the gitlinks, if hashes are of that length.

    Args:
        is_own: the repository's hashes are that long, so that the other paths count too.
        compressed: each path says how much it has of the one before.

    Raises:
        IndexRefusedError: as for `gitlinks`.
    """
    remaining = 2 * (len(data) // _MIN_ENTRY_BYTES) + len(blocks)  # each by itself and in a block
    for number, (start, entries) in enumerate(blocks):
        offset, name, left = start, b"", entries
        found: list[bytes] = []
        escaping = b""
        try:
            while left:
                if not compressed:
                    skipped, offset = _skip_files(data, offset, hash_bytes, min(left, remaining))
                    left, remaining = left - skipped, remaining - skipped
                if left and (remaining := remaining - 1) <= 0:
                    break
                if left:
                    mode, name, offset = _entry(data, offset, hash_bytes, name if compressed else None)
                    left -= 1
                    path = name.partition(b"\0")[0]
                    found += _led_to(mode, path)
                    if path and _ESCAPES.search(path.removesuffix(b"/")):  # a split index leaves some empty
                        escaping = path
        except (struct.error, ValueError, IndexError):  # git fails as well, before it obeys any
            continue
        if left:
            raise IndexRefusedError("it says of more entries than it can have")
        if number or _has_extensions_at(data, offset, hash_bytes):
            if escaping and is_own:
                raise IndexRefusedError(f"it has the path {escaping.decode('utf-8', 'backslashreplace')!r}")
            yield from found


def _led_to(mode: int, path: bytes) -> tuple[bytes, ...]:
    """Where an entry leads; the paths in a directory begin with its own, which need not end in a slash."""
    if mode & _KIND == _DIRECTORY:
        return (path.rpartition(b"/")[0] + b"/",)
    return (path,) if mode & _KIND == _GITLINK else ()


def _skip_files(data: bytes, offset: int, hash_bytes: int, most: int) -> tuple[int, int]:
    """How many entries can be skipped because they lead nowhere, and where the next begins: 0.8 us for each."""
    flags_at = _HASH_AT + hash_bytes
    last = len(data) - flags_at - 2
    skipped = 0
    while skipped < most and offset <= last:
        flags = data[offset + flags_at] << 8 | data[offset + flags_at + 1]
        length = flags & _NAME_LENGTH
        if data[offset + _KIND_AT] >> 4 in _KINDS_THAT_LEAD or flags & _EXTENDED or length == _NAME_LENGTH:
            break
        name = data[offset + flags_at + 2 : offset + flags_at + 2 + length]
        if name[:1] in _FIRST_OF_ESCAPES or b"/." in name or b"//" in name or b"/\0" in name or name[-1:] == b"/":
            break
        offset += (flags_at + 2 + length + 8) & ~7
        skipped += 1
    return skipped, offset


def _has_extensions_at(data: bytes, offset: int, hash_bytes: int) -> bool:
    """Whether git could read on after the entries; if not, hashes are of the other length."""
    if _find(data, _END_OF_ENTRIES) >= 0:  # git goes by what that says
        return True
    while offset <= len(data) - hash_bytes - _EXTENSION.size:
        signature, size = _EXTENSION.unpack_from(data, offset)
        if not signature[:1].isupper() and signature not in _KNOWN_EXTENSIONS:
            return False
        offset += _EXTENSION.size + size
    return True


def _entry(data: bytes, start: int, hash_bytes: int, previous: bytes | None) -> tuple[int, bytes, int]:
    """Mode and path of an entry, and where the next begins.

    Args:
        previous: the path before, if paths are compressed.
    """
    (mode,) = struct.unpack_from(">I", data, start + _MODE_AT)
    (flags,) = struct.unpack_from(">H", data, start + _HASH_AT + hash_bytes)
    name = start + _HASH_AT + hash_bytes + (4 if flags & _EXTENDED else 2)
    common = b""
    if previous is not None:
        removed, name = _number(data, name)
        common = previous[: max(len(previous) - removed, 0)]
    length = (flags & _NAME_LENGTH) - len(common)
    end = data.index(b"\0", name) if flags & _NAME_LENGTH == _NAME_LENGTH else name + max(length, 0)
    following = start + ((end - start + 8) & ~7) if previous is None else end + 1
    return mode, common + data[name:end], following


def _find(data: bytes, word: bytes, start: int = 0) -> int:
    """Where a word begins, or -1. In parts: other threads, which wait for `find`, have their turn in between."""
    while start < len(data):
        if (at := data.find(word, start, start + _PART_BYTES + len(word) - 1)) >= 0:
            return at
        start += _PART_BYTES
    return -1


def _number(data: bytes, offset: int) -> tuple[int, int]:
    """A number of variable length (varint.c), and where it ends."""
    value = data[offset] & 127
    while data[offset] & 128:
        offset += 1
        value = ((value + 1) << 7) | (data[offset] & 127)
        if value > len(data):  # no path is that long; the number could be
            raise ValueError(value)
    return value, offset + 1


def _blocks(data: bytes) -> Iterator[_Block]:
    """Where blocks of entries begin, as anything says that looks like the extension for it."""
    found = 0
    at = _find(data, _BLOCKS)
    while at >= 0:
        size = int.from_bytes(data[at + 4 : at + 8], "big")
        table = data[at + 12 : at + 8 + size]
        for start, entries in _BLOCK.iter_unpack(table[: len(table) // _BLOCK.size * _BLOCK.size]):
            if (found := found + 1) > _MAX_BLOCKS:
                raise IndexRefusedError("it says of more blocks than git makes")
            yield _Block(start, entries)
        at = _find(data, _BLOCKS, at + 1)
