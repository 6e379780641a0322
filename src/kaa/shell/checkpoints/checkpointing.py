"""File checkpoints of a conversation: taken turn by turn, and the way that files go from one entry to another.

Files are at an entry as the change sets on the path to it left them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from kaa.builtin.counted import counted
from kaa.core.agent import Agent
from kaa.core.events import (
    AgentEnd,
    CheckpointTaken,
    Event,
    MessageUpdate,
    RestoreProgress,
    ToolCallStart,
    ToolExecutionEnd,
    TurnEnd,
    UserCommandEnd,
    UserCommandStart,
)
from kaa.core.messages import ToolCall
from kaa.ext.api import CommandError, Risk
from kaa.session.naming import folder_name
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.session.tree import Node
from kaa.shell.budgeting import Ask
from kaa.shell.checkpoints.entries import CHECKPOINT, NO_CHECKPOINT, CheckpointEntries, missing, naming
from kaa.shell.checkpoints.reach import FileReach
from kaa.shell.home import Home
from kaa.shell.settings import CheckpointSettings
from kaa.workspace.checkpoints.contract import (
    ChangeSet,
    CheckpointLimits,
    Checkpoints,
    FileChange,
    MissingCheckpointError,
    Permit,
    RestorePlan,
    RestoreResult,
)
from kaa.workspace.protocol import Workspace

_USER_COMMAND = "!"  # no model gives this id to a call
_MEGABYTE = 1024 * 1024
_MANY_PATHS = 1_000  # fewer are put back before anybody reads of it
_SWITCHED_OFF = "checkpoints.enabled is false in settings.json"


def limits_of(settings: CheckpointSettings) -> CheckpointLimits:
    """What may be kept of a project."""
    return CheckpointLimits(settings.max_megabytes, settings.max_days, settings.announce_megabytes)


def permission(confirm: Ask | None, notify: Callable[[str], None]) -> Permit:
    """Asks the user before much is copied. Where nobody can be asked, it is copied, and the user is told."""

    async def permit(files: int, size: int) -> bool:
        amount = f"{size / _MEGABYTE:,.0f} MB ({counted(files, 'file')})"
        if confirm is None:
            notify(
                f"checkpoints: the first one of this project copies {amount}; set checkpoints.enabled to false, or let "
                ".gitignore leave folders out, if that is not wanted"
            )
            return True
        return await confirm(
            f"Copy {amount} of this project, so that /undo can restore files?",
            "This is the first checkpoint of the project; later ones copy only what changed.\n"
            "No turns checkpoints off for this session: kaa then cannot undo changes to files.\n"
            "A .gitignore can leave folders out; checkpoints.announceMegabytes in settings.json says from how many "
            "MB on kaa asks.",
        )

    return permit


def take_checkpoints(
    agent: Agent,
    store: SessionStore,
    recorder: SessionRecorder,
    workspace: Workspace,
    home: Home,
    settings: CheckpointSettings,
    risks: Mapping[str, Risk],
    notify: Callable[[str], None],
    confirm: Ask | None,
) -> "Checkpointing":
    """Have checkpoints taken of an agent's turns in a project, if the settings want them."""
    folder = home.checkpoints / folder_name(workspace.root)
    return Checkpointing(
        agent,
        store,
        recorder,
        (lambda: workspace.checkpoints(str(folder), store.header.id, limits_of(settings), permission(confirm, notify)))
        if settings.enabled
        else None,
        FileReach(risks),
        lambda: any(process.state == "running" for process in workspace.processes.list()),
        notify,
    )


class Checkpointing:
    """Has checkpoints taken turn by turn, and finds the way between two entries.

    Args:
        agent: its turns are what checkpoints are taken of.
        store: the session.
        recorder: writes into it.
        checkpoints: gives those of this session and project, when they are first needed; None if they are off.
        path_of: the one file that a call of this tool can change, None if it can change anything, "" if nothing.
        in_background: whether something runs in the background that may change files.
        notify: told, in a sentence, why no checkpoints can be taken.
    """

    def __init__(
        self,
        agent: Agent,
        store: SessionStore,
        recorder: SessionRecorder,
        checkpoints: Callable[[], Checkpoints] | None,
        path_of: Callable[[ToolCall], str | None],
        in_background: Callable[[], bool],
        notify: Callable[[str], None],
    ) -> None:
        self._agent = agent
        self._store = store
        self._recorder = recorder
        self._make = checkpoints
        self._checkpoints: Checkpoints | None = None
        self._path_of = path_of
        self._in_background = in_background
        self._notify = notify
        self._opened_at = self._leaf_id
        self._recovered = False
        self._touched = False
        self._command_runs = False
        self._running: set[str] = set()  # calls that may change files
        self._collecting: asyncio.Task[None] | None = None
        self._entries = CheckpointEntries(store)
        self._problem = "" if checkpoints is not None else _SWITCHED_OFF
        self._missed = ""  # why nothing is kept of what the turn does
        agent.subscribe(self._observe)

    async def before(self, call: ToolCall) -> None:
        """The hook before tools: wait until what the call will change can be told from what was there."""
        path = self._path_of(call)
        if path != "":
            await self.before_change(path, call.id)

    async def before_change(self, path: str | None = None, call_id: str = _USER_COMMAND) -> None:
        """Wait until what changes from here on can be told from what was there.

        That no checkpoint can be taken stops nobody: it is said once.

        Args:
            path: the only file that is about to change; None if it may be anything.
            call_id: of the call that is about to change something; by default, a command of the user's own.

        Raises:
            SessionWriteError: the session can no longer be written.
        """
        checkpoints = self._made()
        if checkpoints is None:
            self._missed = self._problem
            return
        self._touched = True
        try:
            await self._settle()
            await checkpoints.ready(path, call=call_id)
            self._running.add(call_id)
        except OSError as error:
            self._tell(error)
        else:
            self._problem = ""

    async def preview(self, target_entry_id: str | None) -> RestorePlan:
        """What would happen to files if they were made what they were after an entry. Touches nothing.

        Args:
            target_entry_id: of this session, on whatever branch; None for before the first entry.

        Raises:
            CommandError: checkpoints are off, or what would be needed is no longer kept.
            OSError: the project cannot be looked at.
            SessionWriteError: the session can no longer be written.
        """
        checkpoints = self._required()
        await self._catch_up(checkpoints)
        undo, redo = self._entries.way(self._leaf_id, target_entry_id)
        try:
            plan = await checkpoints.preview(undo, redo)
        except MissingCheckpointError as error:
            raise CommandError(str(error)) from error
        return msgspec.structs.replace(plan, gaps=self._entries.gaps(self._leaf_id, target_entry_id))

    async def restore(self, plan: RestorePlan) -> RestoreResult:
        """Carry out a plan. What changed since it was made is kept, and so is every conflict.

        Whoever calls this holds the agent, and also moves the conversation there, or says `rewound`.

        Raises:
            CommandError: checkpoints are off, or a content is no longer kept.
            OSError: the project cannot be touched.
        """
        try:
            return await self._required().restore(plan, self._tell_progress)
        except MissingCheckpointError as error:
            raise CommandError(str(error)) from error

    async def carry(self, entry_id: str | None) -> None:
        """Note that files are as they were after the entry that was left: the conversation moved without them.

        Args:
            entry_id: None for before the first entry.

        Raises:
            SessionWriteError: the session cannot be written.
            OSError: the note cannot be kept.
        """
        await self._carry(entry_id, (), rewind=False)

    async def rewound(self, entry_id: str | None, kept: Sequence[str]) -> None:
        """Note that files were restored to what they were after an entry, and the conversation did not move.

        Args:
            entry_id: None for before the first entry.
            kept: paths for which it does not hold.

        Raises:
            SessionWriteError: the session cannot be written.
            OSError: the note cannot be kept.
        """
        await self._carry(entry_id, kept, rewind=True)

    def is_rewind(self, node: Node) -> bool:
        """Whether an entry notes that files went elsewhere without the conversation."""
        return self._entries.is_rewind(node)

    async def _carry(self, entry_id: str | None, kept: Sequence[str], *, rewind: bool) -> None:
        if self._make is None:
            return
        undo, redo = self._entries.way(self._leaf_id, entry_id)
        if not undo and not redo:
            return
        try:
            merged = await self._required().merge(undo, redo, kept)
        except MissingCheckpointError:
            return  # whoever goes that way later is told that it is no longer known
        if merged is not None:
            self._record(merged, None, rewind=rewind)

    async def changes(self, entry_id: str) -> tuple[FileChange, ...]:
        """What was done to files right behind an entry, or by the checkpoint that it names.

        Raises:
            CommandError: checkpoints are off, or it is no longer kept.
        """
        checkpoints = self._required()
        await self._settle()
        try:
            found = [await checkpoints.change_set(change_set_id) for change_set_id in self._entries.of(entry_id)]
        except MissingCheckpointError as error:
            raise CommandError(str(error)) from error
        return tuple(change for change_set in found for change in change_set.files)

    async def close(self) -> None:
        """Take in what the last turn did and let go of the project.

        Raises:
            SessionWriteError: the session can no longer be written.
        """
        if self._checkpoints is None:
            return
        try:
            self._collect()
            await self._settle()
        except OSError as error:
            self._tell(error)
        finally:
            await self._checkpoints.close()

    @property
    def problem(self) -> str | None:
        """Why no checkpoints are taken now; None if they are, or will be when something is about to change files."""
        return self._problem or None

    @property
    def _leaf_id(self) -> str | None:
        leaf = self._store.tree.leaf
        return None if leaf is None else leaf.id

    def _made(self) -> Checkpoints | None:
        if self._make is not None and self._checkpoints is None:
            self._checkpoints = self._make()
        return self._checkpoints

    def _begin(self) -> Checkpoints | None:
        checkpoints = self._made()
        if checkpoints is not None:
            checkpoints.begin()
        return checkpoints

    def _required(self) -> Checkpoints:
        checkpoints = self._made()
        if checkpoints is None:
            raise CommandError(f"file checkpoints are off: {self._problem}")
        return checkpoints

    def _observe(self, event: Event) -> None:
        match event:
            # Models look before they change something: until then, the project has been taken in.
            case MessageUpdate(assistant_message_event=ToolCallStart()):
                self._begin()
            case UserCommandStart():
                self._command_runs = True
                self._begin()
            case ToolExecutionEnd(tool_call_id=call_id):
                self._end(call_id)
            case TurnEnd() | AgentEnd():
                for call_id in self._running - {_USER_COMMAND}:
                    self._end(call_id)
                self._collect()
            case UserCommandEnd():
                self._command_runs = False
                self._end(_USER_COMMAND)
                if not self._agent.is_running:
                    self._collect()
            case _:
                pass

    def _end(self, call_id: str) -> None:
        """A call is over: what changes from here on is not its doing."""
        if call_id in self._running and self._checkpoints is not None:
            self._running.remove(call_id)
            ended = self._checkpoints.ended(call_id, in_background=self._in_background())
            self._collecting = asyncio.ensure_future(self._go_on(self._collecting, ended))

    async def _go_on(self, earlier: asyncio.Task[None] | None, ended: Awaitable[None]) -> None:
        try:
            if earlier is not None:
                await earlier
        finally:
            try:
                await ended
            except OSError as error:
                self._tell(error)

    def _collect(self, *, in_a_turn: bool = False) -> None:
        """Begin to take in what changed, if anything can have.

        Args:
            in_a_turn: whatever runs in it goes on.
        """
        if self._checkpoints is None:
            self._record_missed(self._leaf_id)
        if self._touched and self._checkpoints is not None:
            self._touched = in_a_turn or self._command_runs or self._in_background()
            self._collecting = asyncio.ensure_future(
                self._keep(self._checkpoints, self._collecting, self._leaf_id, more_to_come=self._touched)
            )

    async def _keep(
        self, checkpoints: Checkpoints, earlier: asyncio.Task[None] | None, after: str | None, *, more_to_come: bool
    ) -> None:
        if earlier is not None:
            await earlier
        try:
            await self._recover(checkpoints)
            change_set = await checkpoints.collect(more_to_come=more_to_come)
        except OSError as error:
            self._tell(error)
            return
        finally:
            self._record_missed(after)
        if change_set is not None:
            self._record(change_set, after)

    async def _settle(self) -> None:
        """Wait until what has been collected is in the session."""
        while (collecting := self._collecting) is not None:
            await asyncio.shield(collecting)
            if self._collecting is collecting:
                self._collecting = None

    async def _catch_up(self, checkpoints: Checkpoints) -> None:
        """Have everything in the session that the agent did until now."""
        self._collect(in_a_turn=self._agent.is_running)
        await self._settle()
        await self._recover(checkpoints)

    async def _recover(self, checkpoints: Checkpoints) -> None:
        """Once: what a turn did that was killed belongs behind what was the leaf when the session was opened."""
        if self._recovered:
            return
        found = await checkpoints.interrupted()  # to whoever asks first
        if found is not None:
            self._record(found, self._opened_at)
        self._recovered = True

    def _record(self, change_set: ChangeSet, after: str | None, *, rewind: bool = False) -> None:
        self._recorder.custom(CHECKPOINT, naming(change_set.id, len(change_set.files), after, rewind=rewind))
        self._agent.emit(CheckpointTaken(change_set.id, len(change_set.files)))

    def _tell_progress(self, done: int, total: int) -> None:
        if total >= _MANY_PATHS:
            self._agent.emit(RestoreProgress(done, total))

    def _record_missed(self, after: str | None) -> None:
        """Note that nothing is kept of what was done behind an entry."""
        reason, self._missed = self._missed, ""
        if reason and after is not None:
            self._recorder.custom(NO_CHECKPOINT, missing(reason, after))

    def _tell(self, error: OSError) -> None:
        said = error.strerror or str(error)
        self._missed = f"{error.filename}: {said}" if error.filename else said
        if self._missed != self._problem:
            self._problem = self._missed
            self._notify(f"checkpoints are off: {self._problem}; kaa cannot undo what changes in the project now")
