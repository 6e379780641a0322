"""The way that files go from one entry of the session to another, and the notes of it.

Files are at an entry as the change sets on the path to it left them. Checkpoints leave out `.git`, so commits stay.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from kaa.core.agent import Agent
from kaa.core.events import RestoreProgress
from kaa.core.messages import AssistantMessage, ToolResultMessage
from kaa.ext.errors import CommandError
from kaa.ext.navigation import SessionChanges
from kaa.session.entries import MessageEntry
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore, read_entry
from kaa.session.tree import Node
from kaa.shell.checkpoints.entries import DELETED, REWIND, CheckpointEntries, deleted, rewinding
from kaa.shell.checkpoints.turns import TurnCheckpoints
from kaa.workspace.checkpoints.contract import Checkpoints, FileChange, MissingCheckpointError
from kaa.workspace.checkpoints.plans import RestorePlan, RestoreResult

_DELETED = "deleted by someone else"
_MANY_PATHS = 1_000  # fewer are put back before anybody reads of it
_COMMITS: Final = re.compile(r"\bgit\s+(?:-[cC]\s+\S+\s+|-\S+\s+)*(?:commit|merge|cherry-pick|revert|rebase|am|pull)\b")


class FileTravel:
    """Takes the project's files elsewhere.

    Args:
        turns: what was done to files, turn by turn.
    """

    def __init__(self, agent: Agent, store: SessionStore, recorder: SessionRecorder, turns: TurnCheckpoints) -> None:
        self._agent = agent
        self._store = store
        self._recorder = recorder
        self._turns = turns
        self._entries = CheckpointEntries(store)
        self._deleted: set[str] = set()  # by our restores

    async def preview(self, target_entry_id: str | None) -> RestorePlan:
        """What would happen to files if they were made what they were after an entry. Touches nothing.

        Args:
            target_entry_id: of this session, on whatever branch; None for before the first entry.

        Raises:
            CommandError: files changed on the way, and checkpoints are off or no longer kept.
            OSError: the project cannot be looked at.
            SessionWriteError: the session can no longer be written.
        """
        if (checkpoints := await self._turns.caught_up()) is not None:
            await self._finish_rewind(checkpoints)
        undo, redo = self._entries.way(self._leaf_id, target_entry_id)
        gaps = self._entries.gaps(self._leaf_id, target_entry_id)
        if not undo and not redo:
            return RestorePlan(gaps=gaps)
        try:
            plan = await self._turns.required().preview(undo, redo)
        except MissingCheckpointError as error:
            raise CommandError(str(error)) from error
        others = {step.path for step in plan.steps if step.action == "create"} & self._entries.deleted_by_others
        return msgspec.structs.replace(plan.leaving_out(sorted(others), _DELETED), gaps=gaps)

    async def since(self, entry_id: str | None) -> SessionChanges:
        """What the session did to files on the way from an entry of the current branch to where it is.

        Args:
            entry_id: the files after it are compared; None for before the first entry.

        Raises:
            CommandError: checkpoints are off or no longer kept.
            OSError: the project cannot be looked at.
            SessionWriteError: the session can no longer be written.
        """
        if (checkpoints := await self._turns.caught_up()) is not None:
            await self._finish_rewind(checkpoints)
        _, done = self._entries.way(entry_id, self._leaf_id)
        gaps = self._entries.gaps(entry_id, self._leaf_id)
        if not done:
            return SessionChanges(gaps=gaps)
        try:
            return SessionChanges(tuple(await self._turns.required().differences(done)), gaps)
        except MissingCheckpointError as error:
            raise CommandError(str(error)) from error

    async def restore(self, plan: RestorePlan) -> RestoreResult:
        """Carry out a plan. What changed since it was made is kept, and so is every conflict.

        Whoever calls this holds the agent, and also moves the conversation there.

        Raises:
            CommandError: checkpoints are off, or a content is no longer kept.
            OSError: the project cannot be touched.
            SessionWriteError: the session can no longer be written.
        """
        if by_others := {*plan.gone} - self._deleted - self._entries.deleted_by_others:
            self._recorder.custom(DELETED, deleted(by_others, by_others=True))
        if plan.is_empty:
            return RestoreResult()
        try:
            result = await self._turns.required().restore(plan, self._tell_progress)
        except MissingCheckpointError as error:
            raise CommandError(str(error)) from error
        by_us = {step.path for step in result.done if step.action == "delete"}
        self._deleted |= by_us
        if known := by_us & self._entries.deleted_by_others:
            self._recorder.custom(DELETED, deleted(known, by_others=False))
        return result

    async def rewind(self, plan: RestorePlan, entry_id: str | None) -> RestoreResult:
        """Carry out a plan without the conversation, and note where files are now.

        That they go there is noted first: what was done when kaa is killed in between is found by `finish`.

        Args:
            plan: as `preview` made it for the entry.
            entry_id: None for before the first entry.

        Raises:
            CommandError: checkpoints are off, or a content is no longer kept.
            OSError: the project cannot be touched, or the note cannot be kept.
            SessionWriteError: the session can no longer be written.
        """
        if plan.is_empty:
            return await self.restore(plan)
        checkpoints = self._turns.required()
        undo, redo = self._entries.way(self._leaf_id, entry_id)
        try:
            kept = [conflict.path for conflict in plan.conflicts]
            way = await checkpoints.merge(undo, redo, kept, plan.moves)
        except MissingCheckpointError as error:
            raise CommandError(str(error)) from error
        if way is None:
            return await self.restore(plan)
        self._recorder.custom(REWIND, rewinding(way.id))
        self._store.request_sync()
        result = await self.restore(plan)
        await self._end_rewind(checkpoints, way.id, {conflict.path for conflict in (*result.kept, *result.failed)})
        return result

    async def finish(self) -> None:
        """Note what a `rewind` did that was killed or broke off, if there was one.

        Raises:
            CommandError: it cannot be told.
            SessionWriteError: the session can no longer be written.
        """
        if self._entries.unfinished_rewind is None:
            return
        try:
            await self._finish_rewind(self._turns.required())
        except OSError as error:
            said = error.strerror or str(error)
            raise CommandError(f"the effects of an interrupted restore are unknown: {said}") from error

    async def carry(self, entry_id: str | None) -> None:
        """Note that files are as they were after the entry that was left: the conversation moved without them.

        If that cannot be noted, the user is told.

        Args:
            entry_id: None for before the first entry.

        Raises:
            SessionWriteError: the session cannot be written.
        """
        undo, redo = self._entries.way(self._leaf_id, entry_id)
        if not undo and not redo:
            return
        try:
            merged = await self._turns.required().merge(undo, redo)
        except (MissingCheckpointError, CommandError):
            return  # whoever goes that way later is told that it is no longer known
        except OSError as error:
            self._turns.report(error)
            return
        if merged is not None:
            self._turns.record(merged, None)

    def is_rewind(self, node: Node) -> bool:
        """Whether an entry notes that files went elsewhere without the conversation."""
        return self._entries.is_rewind(node)

    async def changes(self, entry_id: str) -> tuple[FileChange, ...]:
        """What was done to files right behind an entry, or by the checkpoint that it names.

        Raises:
            CommandError: checkpoints are off, or it is no longer kept.
        """
        checkpoints = self._turns.required()
        await self._turns.settled()
        try:
            found = [await checkpoints.change_set(change_set_id) for change_set_id in self._entries.of(entry_id)]
        except MissingCheckpointError as error:
            raise CommandError(str(error)) from error
        return tuple(change for change_set in found for change in change_set.files)

    async def _finish_rewind(self, checkpoints: Checkpoints) -> None:
        begun = self._entries.unfinished_rewind
        if begun is None:
            return
        try:
            rest = await checkpoints.preview([], [begun])
        except MissingCheckpointError:
            self._recorder.custom(REWIND, rewinding(None))
            return
        kept = {move.path for move in rest.moves} | {conflict.path for conflict in rest.conflicts}
        await self._end_rewind(checkpoints, begun, kept)

    async def _end_rewind(self, checkpoints: Checkpoints, begun: str, kept: Collection[str]) -> None:
        """Note the way that files went, but for some paths."""
        went = await checkpoints.merge([], [begun], tuple(kept))
        if went is None:
            self._recorder.custom(REWIND, rewinding(None))
        else:
            self._turns.record(went, None, rewind=True)

    @property
    def _leaf_id(self) -> str | None:
        leaf = self._store.tree.leaf
        return None if leaf is None else leaf.id

    def _tell_progress(self, done: int, total: int) -> None:
        if total >= _MANY_PATHS:
            self._agent.emit(RestoreProgress(done, total))


def has_commits(store: SessionStore, nodes: Iterable[Node]) -> bool:
    """Whether a command of git that makes commits succeeded."""
    called: set[str] = set()
    for node in nodes:
        line = store.line(node) if node.type == "message" else b""
        if b"git" not in line and not (called and b"toolResult" in line):
            continue
        entry = read_entry(store, node)
        message = entry.message if isinstance(entry, MessageEntry) else None
        match message:
            case AssistantMessage():
                calls = (call for call in message.tool_calls if _COMMITS.search(str(call.arguments.get("command", ""))))
                called |= {call.id for call in calls}
            case ToolResultMessage(tool_call_id=call_id, is_error=False) if call_id in called:
                return True
            case _:
                pass
    return False
