"""The sessions that are open on this machine, and the agents at work in them, as other programs can tell.

Whoever writes a session holds a lock on its file, and so does each agent on its own; Linux lists both.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from kaa.session.file.file_store import agents_folder
from kaa.session.file.lock import holders
from kaa.shell.home import Home

LiveState: TypeAlias = Literal["working", "idle"]

_TAIL_BYTES = 256 * 1024
_MOST_SHOWN = 120


class _Call(msgspec.Struct):
    name: str = ""
    arguments: dict[str, object] = {}


class _Message(msgspec.Struct, rename="camel"):
    role: str = ""
    stop_reason: str = ""
    content: object = None


class _Line(msgspec.Struct):
    type: str = ""
    message: _Message | None = None


class LiveAgent(msgspec.Struct, frozen=True):
    """An agent at work. `doing`: its last call, in a line."""

    id: str
    path: Path
    doing: str


class LiveSession(msgspec.Struct, frozen=True):
    """A session that a kaa has open.

    Attributes:
        doing: its last call, in a line; empty while it is idle.
        agents: those at work for it.
    """

    pid: int
    path: Path
    state: LiveState
    doing: str
    agents: tuple[LiveAgent, ...]

    def knowing(self, *, is_working: bool) -> "LiveSession":
        """The same, with what its kaa itself says: after a kill or Esc, the file ends as if the agent worked."""
        if is_working:
            return msgspec.structs.replace(self, state="working")
        return msgspec.structs.replace(self, state="idle", doing="")


def live_sessions(home: Home) -> list[LiveSession]:
    """The sessions that are open, those changed last first. Empty where the system does not tell of locks."""
    pids = holders()
    found: list[tuple[float, LiveSession]] = []
    for path in home.sessions.glob("*/*.jsonl") if pids else ():
        if (held := _held(path, pids)) is None:
            continue
        pid, modified = held
        doing, is_working = _doing(path)
        session = LiveSession(
            pid, path, "working" if is_working else "idle", doing, tuple(_agents(agents_folder(path), pids))
        )
        found.append((modified, session))
    return [session for _, session in sorted(found, key=lambda one: one[0], reverse=True)]


def _agents(folder: Path, pids: Mapping[int, int]) -> Iterator[LiveAgent]:
    for path in sorted(folder.glob("*.jsonl")):
        if _held(path, pids) is not None:
            yield LiveAgent(path.stem, path, _doing(path)[0])


def _held(path: Path, pids: Mapping[int, int]) -> tuple[int, float] | None:
    """The process that has a file locked, and when the file changed; None if none has."""
    try:
        status = path.stat()
    except OSError:
        return None
    return None if (pid := pids.get(status.st_ino)) is None else (pid, status.st_mtime)


def _doing(path: Path) -> tuple[str, bool]:
    """The last call in a session, and whether its agent works."""
    message = _last_message(path)
    if message is None or (message.role == "assistant" and message.stop_reason != "toolUse"):
        return "", False
    if message.role != "assistant":
        return "asks the model", True
    blocks = message.content if isinstance(message.content, list) else []
    calls = [one for one in blocks if isinstance(one, dict) and one.get("type") == "toolCall"]
    try:
        call = msgspec.convert(calls[-1], _Call) if calls else _Call()
    except msgspec.ValidationError:
        call = _Call()
    subject = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    return " ".join(f"{call.name} {subject}".split())[:_MOST_SHOWN], True


def _last_message(path: Path) -> _Message | None:
    try:
        with path.open("rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL_BYTES, 0))
            lines = file.read().split(b"\n")
    except OSError:
        return None
    for line in reversed(lines):
        try:
            entry = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, RecursionError):
            continue  # the first is only the end of one, and the last may still be written
        if entry.type == "message" and entry.message is not None:
            return entry.message
        if entry.type == "custom_message":  # of an extension, or the task of an agent
            return _Message("user")
    return None
