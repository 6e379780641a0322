"""Ids, timestamps and names exactly as pi writes them, so that both programs find each other's sessions."""

import os
import re
import time
from collections.abc import Container
from datetime import UTC, datetime

_ENTRY_ID_ATTEMPTS = 100
# With the time before it and `.jsonl.partial` behind it, well within the 255 bytes of a file's name.
_SESSION_ID = re.compile("[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")


def new_session_id() -> str:
    """A UUIDv7 (RFC 9562 §5.7), which sorts by time; Python 3.11 has none of its own."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = milliseconds << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76  # version
    value = value & ~(0x3 << 62) | 0x2 << 62  # variant
    return _dashed(value)


def is_session_id(text: str) -> bool:
    """Whether a session may have this id: as in pi, letters, digits and `._-` between, and no longer than names are."""
    return _SESSION_ID.fullmatch(text) is not None


def new_entry_id(taken: Container[str]) -> str:
    """Eight random hex digits that are not in `taken`; a whole UUIDv4 if luck is that bad."""
    for _ in range(_ENTRY_ID_ATTEMPTS):
        candidate = os.urandom(4).hex()
        if candidate not in taken:
            return candidate
    value = int.from_bytes(os.urandom(16), "big")
    return _dashed(value & ~(0xF << 76) & ~(0x3 << 62) | 0x4 << 76 | 0x2 << 62)


def _dashed(value: int) -> str:
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def iso_timestamp(milliseconds: int) -> str:
    """Unix milliseconds as `2026-11-20T07:49:44.305Z`."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03d}Z"


def unix_milliseconds(timestamp: str) -> int:
    """The inverse of `iso_timestamp`; 0 for what is no timestamp."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return 0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def folder_name(cwd: str) -> str:
    """The folder that holds the sessions of a project: `/a/b/proj` gives `--a-b-proj--`."""
    bare = cwd[1:] if cwd[:1] in ("/", "\\") else cwd
    return f"--{bare.replace('/', '-').replace(chr(92), '-').replace(':', '-')}--"


def is_same_directory(claimed: str, cwd: str) -> bool:
    """Whether a session's header, which may say anything, names the directory `cwd`, if only by way of a link."""
    if claimed == cwd:
        return True
    try:
        return os.path.realpath(claimed) == os.path.realpath(cwd)
    except ValueError:  # no path at all, such as one with a NUL
        return False


def file_name(timestamp: str, session_id: str) -> str:
    """`2026-11-20T07-49-44-305Z_<session id>.jsonl`."""
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{session_id}.jsonl"


def session_id_in(name: str) -> str | None:
    """The session id that a file name of ours or pi's carries, None for other names."""
    if not name.endswith(".jsonl"):
        return None
    _, _, session_id = name.removesuffix(".jsonl").partition("_")
    return session_id or None
