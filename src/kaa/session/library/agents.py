"""Copies the sessions of agents along with that of their conversation."""

import contextlib
import itertools
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from kaa.session.agents import agent_path
from kaa.session.errors import SessionWriteError
from kaa.session.export.agents import agent_session, agents_in
from kaa.session.export.selection import ExportSelection
from kaa.session.export.source import SnapshotFile
from kaa.session.file.append_file import PRIVATE_FILE, create_private_folders
from kaa.session.file.jsonl import encode_line
from kaa.session.file.new_name import give_new_name
from kaa.session.naming import new_session_id

_ALL = ExportSelection(all_branches=True)


def copy_agents(original: Path, copy: Path) -> int:
    """Copy the sessions of the agents that a copy of a session names. What is there already is left as it is.

    Returns:
        How many agents there are no sessions of, or none that can be read.

    Raises:
        SessionError: one of the two cannot be read, or the copies cannot be written.
    """
    missing = 0
    with SnapshotFile.open(original) as conversation, SnapshotFile.open(copy) as copied:
        for agent in agents_in(copied, _ALL):
            target = agent_path(copy, agent.id)
            if target.exists():
                continue
            with agent_session(conversation, agent.id) as (session, _):
                if session is None:
                    missing += 1
                    continue
                is_there = session.header.cwd == conversation.header.cwd
                cwd = copied.header.cwd if is_there else session.header.cwd  # that of a worktree stays
                header = msgspec.structs.replace(session.header, cwd=cwd, parent_session=str(copy))
                entries = (session.line(node) + b"\n" for node in session.tree.nodes)
                _write(target, itertools.chain((encode_line(header),), entries))
    return missing


def _write(target: Path, lines: Iterable[bytes]) -> None:
    unfinished = target.with_name(f".{new_session_id()}.copy")
    try:
        create_private_folders(target.parent)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            with open(descriptor, "wb") as file:
                file.writelines(lines)
            with contextlib.suppress(FileExistsError):
                give_new_name(unfinished, target)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise SessionWriteError.because(target, error) from error
