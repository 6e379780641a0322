"""Carries out a plan in batches: one request puts many files back, and the next one is made ready meanwhile."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kaa.hands.wire import Frame
from kaa.workspace.channel import parse
from kaa.workspace.checkpoints.contract import MissingCheckpointError
from kaa.workspace.checkpoints.link import Link, checked
from kaa.workspace.checkpoints.planning import in_order
from kaa.workspace.checkpoints.plans import FileMove
from kaa.workspace.checkpoints.reports import Restored, row_of
from kaa.workspace.checkpoints.store import CheckpointStore
from kaa.workspace.protocol import WorkspaceUnavailableError

_CHANGED_SINCE = "changed since the preview"
# A request takes some hundredths of a second, so that progress is seen; more bytes would only take memory.
_MOVES_AT_ONCE = 250
_BYTES_AT_ONCE = 2 * 1024 * 1024
_REQUESTS_AHEAD = 2  # the slot works on one while the next waits in its socket

Progress: TypeAlias = Callable[[int, int], None]
"""Told how many of how many moves are done."""


class MoveProblem(NamedTuple):
    """A move that was not carried out. `by_system`: the system refused it, so that it can be repeated later."""

    move: FileMove
    reason: str
    by_system: bool


class RestoreOutcome(NamedTuple):
    """What became of moves. `remarks`: by path, what one was carried out without; the others had no problem."""

    problems: list[MoveProblem]
    remarks: dict[str, str]


async def restore(
    link: Link, store: CheckpointStore, session_id: str, moves: Iterable[FileMove], progress: Progress | None
) -> RestoreOutcome:
    """Carry out moves. What is done already can be done again.

    What comes back is put first. A content that could not be put back stays where it is now, if it is somewhere.

    A note is kept meanwhile of where temporary files may be, for whoever comes after a kill. The slot holds it open,
    too: were we killed, it still carries out what it was sent.

    Args:
        moves: in any order.

    Raises:
        WorkspaceUnavailableError: the slot died; some moves may have been carried out.
        OSError: the store failed; the same.
    """
    token = os.urandom(8).hex()
    phases = [*in_order(moves)]
    directories = sorted({move.path.rpartition("/")[0] for phase in phases for move in phase})
    note = await asyncio.to_thread(store.begin_restore, session_id, token, directories)
    try:
        await link.ask({"op": "hold"}, descriptors=[note])
        return await _carry_out(link, store, token, phases, progress)
    finally:
        await asyncio.to_thread(store.end_restore, leftovers=not link.is_alive)


async def _carry_out(
    link: Link, store: CheckpointStore, token: str, phases: Sequence[Sequence[FileMove]], progress: Progress | None
) -> RestoreOutcome:
    problems: list[MoveProblem] = []
    remarks: dict[str, str] = {}
    total = sum(map(len, phases))
    asked: deque[tuple[list[FileMove], asyncio.Future[Frame], int]] = deque()
    answered = 0

    async def take_answer() -> None:
        nonlocal answered
        batch, answer, size = asked.popleft()
        restored = parse(checked(await answer).header, Restored)
        if not len(restored.results) == len(restored.remarks) == len(batch):
            raise WorkspaceUnavailableError("The process for checkpoints sent what cannot be understood.")
        for move, problem, remark in zip(batch, restored.results, restored.remarks, strict=True):
            if remark:
                remarks[move.path] = remark
            if problem is not None:
                problems.append(MoveProblem(move, problem or _CHANGED_SINCE, by_system=bool(problem)))
        answered += size
        if progress is not None:
            progress(answered, total)

    for phase in phases:
        for batch in _batches(phase):
            harmless = _without_last_copies(batch, problems)
            contents = await asyncio.to_thread(_contents, store, harmless, problems)
            rows = [[move.path, row_of(move.expected), row_of(move.target), len(content)] for move, content in contents]
            body = b"".join(content for _, content in contents)
            answer = await link.request({"op": "restore", "token": token, "moves": rows}, body)
            asked.append(([move for move, _ in contents], answer, len(batch)))
            if len(asked) == _REQUESTS_AHEAD:
                await take_answer()
        while asked:  # what could not be put back keeps the next phase from taking it away
            await take_answer()
    return RestoreOutcome(problems, remarks)


def _without_last_copies(moves: Iterable[FileMove], problems: list[MoveProblem]) -> list[FileMove]:
    """Moves without those that would take away what could not be put back elsewhere. They become problems."""
    missing = {
        problem.move.target.digest: problem
        for problem in problems
        if problem.move.target is not None and problem.move.target.size
    }
    found = []
    for move in moves:
        now = move.expected.digest if move.expected is not None else ""
        after = move.target.digest if move.target is not None else ""
        cause = missing.get(now) if now != after else None
        if cause is None:
            found.append(move)
        else:
            problems.append(MoveProblem(move, f"kept, as {cause.move.path} could not be put back", cause.by_system))
    return found


def _batches(moves: Sequence[FileMove]) -> Iterator[list[FileMove]]:
    batch: list[FileMove] = []
    size = 0
    for move in moves:
        batch.append(move)
        size += move.target.size if move.target is not None else 0
        if len(batch) == _MOVES_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _contents(
    store: CheckpointStore, moves: Iterable[FileMove], problems: list[MoveProblem]
) -> list[tuple[FileMove, bytes]]:
    """Moves with what files are to contain. Those whose content is missing become problems."""
    found = []
    for move in moves:
        content = b""
        if move.target is not None and move.target.kind in ("file", "symlink"):
            try:
                content = store.content(move.target)
            except MissingCheckpointError as error:
                problems.append(MoveProblem(move, str(error), by_system=False))
                continue
        found.append((move, content))
    return found
