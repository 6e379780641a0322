"""Says at the opening of a session what a kaa that ended left unfinished, where that is, and how to go on with it."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kaa.builtin.amounts import listed
from kaa.session.as_user_message import custom_type_of
from kaa.session.entries import CustomMessage
from kaa.session.errors import SessionWriteError
from kaa.session.file.file_store import FileStore, agents_folder
from kaa.session.file.lock import holders
from kaa.session.naming import session_id_in
from kaa.session.unfinished import UnfinishedWork, forget_work, told_of, unfinished_work
from kaa.shell.worktrees.registry import WorktreeRegistry, name_for_agent, project_of
from kaa.tui.sanitize import squeezed

_MOST_NAMED = 10


def tell_of_killed_work(
    store: FileStore,
    environ: Mapping[str, str],
    notify: Callable[[str], None],
    *,
    somebody_looks: bool,
    is_running: bool,
) -> None:
    """Tell what was under way in a session when its kaa ended. Each is told once, to the user and to the model.

    Args:
        store: the session that was opened. What is its own is told in any case.
        somebody_looks: a person sees the notice: then other sessions of the project are told of, too.
        is_running: something runs in the background of this process, perhaps for a conversation that was closed.
    """
    pids = holders()
    for work in unfinished_work(store.path):
        session = store.path.with_name(work.session)
        goes_on = work.in_order and (is_running if work.pid == os.getpid() else _is_alive(work.pid))
        if goes_on:
            continue
        if session == store.path:
            notify(_notice(work, session, environ, ""))
            if _tell_model(work, store):
                forget_work(session)
        elif not session.exists() and not _is_alive(work.pid):
            forget_work(session)
        elif somebody_looks and not work.is_told and work.cwd == store.header.cwd and not _is_open(session, work, pids):
            notify(_notice(work, session, environ, f" in the session {_id_of(session)}"))
            told_of(session, work)


def _tell_model(work: UnfinishedWork, store: FileStore) -> bool:
    """Add a message for the model to its session, if it is to know. Returns whether nothing is left to be told."""
    if not work.for_model:
        return True
    text = "\n".join(work.for_model.values())
    try:
        store.append(CustomMessage(custom_type=custom_type_of("extension"), content=text, display=False))
    except SessionWriteError:  # a full disk, or it is only looked at: the next opening tells it
        return False
    store.request_sync()
    return True


def _notice(work: UnfinishedWork, session: Path, environ: Mapping[str, str], where: str) -> str:
    ended = "ended" if work.in_order else "was killed"
    lines = [f"kaa {ended}{where} while this was running:", *(f"- {about}" for about in work.works.values())]
    if worktrees := list(_worktrees(session, work.cwd, environ)):
        lines.append(
            f"- Worktrees of its agents: {listed(worktrees, _MOST_NAMED)}. `kaa worktrees list` shows what"
            " changed in them, `kaa worktrees merge NAME` takes that over, `kaa worktrees drop NAME` removes it."
        )
    if where:
        lines.append(f"`kaa --session {_id_of(session)}` or `/resume {_id_of(session)}` continues that session.")
    return "\n".join(lines)


def _worktrees(session: Path, cwd: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The worktrees that the agents of a session work in, as far as they are there."""
    agents = {name_for_agent(path.stem) for path in agents_folder(session).glob("*.jsonl")}
    for worktree in WorktreeRegistry(environ, project_of(cwd, environ)).all() if agents else ():
        if worktree.name in agents and worktree.is_whole and worktree.exists:
            yield worktree.name


def _is_open(session: Path, work: UnfinishedWork, pids: Mapping[int, int]) -> bool:
    """Whether a kaa has a session open, as far as the system tells."""
    if not pids:
        return _is_alive(work.pid)
    try:
        return session.stat().st_ino in pids
    except OSError:
        return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _id_of(session: Path) -> str:
    """The id of a session, which the name of its file has."""
    return squeezed(session_id_in(session.name) or session.stem)
