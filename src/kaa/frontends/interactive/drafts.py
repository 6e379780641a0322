"""Keeps what is typed and not sent beside its session, so that a kill does not lose it.

A session that has no file yet has its draft where that file would be. If kaa is killed then, the next new session of
the same folder takes the draft over.
"""

import contextlib
import os
from pathlib import Path

import msgspec

from kaa.frontends.interactive.desk import Desk
from kaa.session.file.append_file import PRIVATE_FILE, create_private_folders
from kaa.session.file.file_store import draft_path
from kaa.tui.sanitize import sanitize

# As much typing as a kill may lose.
_DELAY_SECONDS = 0.5
_LARGEST_BYTES = 4 * 1024 * 1024


class _Draft(msgspec.Struct, frozen=True):
    """What stands in the file. `pid`: of the process in whose editor the text is."""

    text: str
    pid: int


_DRAFT = msgspec.json.Decoder(_Draft)


def recover_draft(session: Path) -> str:
    """What was typed in a session and not sent when its kaa was killed; empty if there is nothing.

    Args:
        session: the file of the session, which need not exist yet.
    """
    path = draft_path(session)
    if not path.exists() and not session.exists() and (left := _left_behind(session.parent)) is not None:
        with contextlib.suppress(OSError):
            left.rename(path)
    draft = _read(path)
    return draft.text if draft is not None else ""


class DraftKeeper:
    """Writes what stands in the editor, a moment after each change.

    Args:
        desk: has the editor.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._path: Path | None = None
        self._is_due = False
        desk.on_leave = self.keep

    def begin(self, session: Path | None, typed: str) -> None:
        """Keep the drafts of this session from now on.

        Args:
            session: its file; None for one that is not kept.
            typed: what was typed in it before and not sent; it goes back into the editor.
        """
        before, self._path = self._path, draft_path(session) if session is not None else None
        if before is not None and before != self._path:
            before.unlink(missing_ok=True)  # what is in the editor comes along
        if typed and typed != self._desk.editor.text:
            self._desk.give_back([typed], "\n")
            self._desk.say("kaa had ended before this was sent")
        self.changed()

    def changed(self) -> None:
        """The text in the editor is another one."""
        if not self._is_due:
            self._is_due = True
            self._desk.app.reactor.call_later(_DELAY_SECONDS, self.keep)

    def keep(self) -> None:
        """Write what stands in the editor now. That it cannot be written is no reason to disturb who types."""
        self._is_due = False
        if self._path is None:
            return
        text = self._desk.editor.text
        with contextlib.suppress(OSError):
            if text.strip():
                _write(self._path, _Draft(text, os.getpid()))
            else:
                self._path.unlink(missing_ok=True)


def _read(path: Path) -> _Draft | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with open(descriptor, "rb") as file:
            draft = _DRAFT.decode(file.read(_LARGEST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return msgspec.structs.replace(draft, text=sanitize(draft.text))


def _write(path: Path, draft: _Draft) -> None:
    create_private_folders(path.parent)
    new = path.with_name(f"{path.name}.new")
    data = msgspec.json.encode(_Draft(draft.text.encode("utf-8", "replace").decode(), draft.pid))
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(new, flags, PRIVATE_FILE), "wb") as file:
        file.write(data)
    new.replace(path)


def _left_behind(folder: Path) -> Path | None:
    """The newest draft of a session that has no file, and whose process is gone."""
    suffix = draft_path(Path("s.jsonl")).suffix
    try:
        names = sorted((name for name in os.listdir(folder) if name.endswith(suffix)), reverse=True)
    except OSError:
        return None
    for path in map(folder.joinpath, names):
        draft = None if path.with_suffix("").exists() else _read(path)
        if draft is not None and not _is_alive(draft.pid):
            return path
    return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return pid > 0
