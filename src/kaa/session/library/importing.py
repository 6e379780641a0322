"""Takes a session file from elsewhere into the library. The file itself is only read."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from kaa.session.entries import FORMAT_VERSION, SessionHeader
from kaa.session.errors import SessionWriteError
from kaa.session.export.source import SnapshotFile
from kaa.session.file.append_file import PRIVATE_FILE, create_private_folders
from kaa.session.file.jsonl import encode_line
from kaa.session.file.new_name import give_new_name
from kaa.session.library.agents import copy_agents
from kaa.session.naming import file_name, is_session_id, iso_timestamp, new_session_id, unix_milliseconds


class Imported(msgspec.Struct, frozen=True):
    """A session that is in the library now.

    Attributes:
        was_there: this very session was in the library before; at most agents were added that were missing.
        moved_from: the directory it was about, where that does not exist on this machine.
        missing_agents: of how many of its agents there are no sessions beside the file.
    """

    path: Path
    header: SessionHeader
    was_there: bool = False
    moved_from: str | None = None
    missing_agents: int = 0

    @property
    def report(self) -> str:
        """What was done, in some lines for people."""
        lines = [f"{'was there already' if self.was_there else 'imported'}: {self.path}"]
        if self.moved_from is not None:
            lines.append(f"its directory {self.moved_from} is not on this machine; it is about {self.header.cwd} now")
        if self.missing_agents:
            agents = "an agent" if self.missing_agents == 1 else f"{self.missing_agents} agents"
            lines.append(f"the work of {agents} is not there: it belongs in the folder FILE.agents next to the file")
        return "\n".join(lines)


def import_session(source: Path, folder_of: Callable[[str], Path], cwd: str) -> Imported:
    """Copy a session into the library, whatever its version.

    It keeps its id, so that importing it again finds it; where another session has that id here, as one that was
    continued after it was exported, the copy gets one of its own.

    Args:
        cwd: the session's directory from now on, if its own does not exist here.

    Raises:
        SessionReadError: there is no such file, or it cannot be read.
        NotASessionError: it is something else.
        SessionWriteError: the copy cannot be written.
    """
    with SnapshotFile.open(source) as snapshot:
        original = snapshot.header
        is_here = bool(original.cwd) and os.path.isdir(original.cwd)
        header = msgspec.structs.replace(
            original,
            version=max(original.version, FORMAT_VERSION),
            id=original.id if is_session_id(original.id) else new_session_id(),
            cwd=original.cwd if is_here else cwd,
            parent_session=_existing(original.parent_session),
        )
        folder = folder_of(header.cwd)
        path = _place(folder, header)
        moved_from = original.cwd if not is_here and original.cwd else None
        copy = folder / f".{new_session_id()}.import"
        try:
            _copy(snapshot, header, copy)
            if path.exists():
                if _same(copy, path):
                    return Imported(path, header, was_there=True, missing_agents=copy_agents(source, path))
                header = msgspec.structs.replace(header, id=new_session_id())
                path = _place(folder, header)
                _copy(snapshot, header, copy)
            give_new_name(copy, path)
        except OSError as error:
            raise SessionWriteError.because(path, error) from error
        finally:
            with contextlib.suppress(OSError):
                copy.unlink(missing_ok=True)
    return Imported(path, header, moved_from=moved_from, missing_agents=copy_agents(source, path))


def _place(folder: Path, header: SessionHeader) -> Path:
    """The session's file. The header is not ours: of its time only what is one gets into the name."""
    return folder / file_name(iso_timestamp(unix_milliseconds(header.timestamp)), header.id)


def _copy(snapshot: SnapshotFile, header: SessionHeader, path: Path) -> None:
    create_private_folders(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with open(descriptor, "wb") as out:
        out.write(encode_line(header))
        _copy_entries(snapshot, out)
        out.flush()
        os.fsync(out.fileno())


def _copy_entries(snapshot: SnapshotFile, out: BinaryIO) -> None:
    """Every line that is an entry, byte for byte; what is none, as a torn line, stays behind in the file."""
    out.writelines(snapshot.line(node) + b"\n" for node in snapshot.tree.nodes)


def _existing(parent: str | None) -> str | None:
    return parent if parent is not None and os.path.isfile(parent) else None


def _same(one: Path, other: Path) -> bool:
    import filecmp  # lazy: a start does not need it

    return filecmp.cmp(one, other, shallow=False)
