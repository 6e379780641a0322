"""Has checkpoints taken turn by turn, and writes into the session which change sets there are."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from kaa.core.agent import Agent
from kaa.core.events import (
    AgentEnd,
    AgentStart,
    CheckpointTaken,
    Event,
    MessageUpdate,
    ToolCallStart,
    ToolExecutionEnd,
    TurnEnd,
    TurnStart,
    UserCommandEnd,
    UserCommandStart,
)
from kaa.core.messages import ToolCall
from kaa.ext.api import Risk
from kaa.ext.asking import Asker
from kaa.ext.errors import CommandError
from kaa.session.naming import folder_name
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.shell.home import Home
from kaa.shell.settings import CheckpointSettings
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.workspace.checkpoints.contract import ChangeSet, Checkpoints, Kept

_USER = "!"  # the id of a command of the user's own, and its owner: no model gives it to a call
_LEFT = "git's configuration or hooks, which checkpoints do not cover: see git config --list --local, .git/hooks"
_THINKING_SECONDS = 0.05  # a model that answers sooner is not kept waiting
_SWITCHED_OFF = "checkpoints.enabled is false in settings.json"


def take_checkpoints(
    agent: Agent,
    store: SessionStore,
    recorder: SessionRecorder,
    workspace: Workspace,
    home: Home,
    settings: CheckpointSettings,
    risk_of: Callable[[str], Risk],
    notify: Callable[[str], None],
    asker: Asker,
) -> "TurnCheckpoints":
    """Have checkpoints taken of an agent's turns in a project, if the settings want them."""
    folder = home.checkpoints / folder_name(workspace.root)

    def make() -> "Checkpoints":
        from kaa.shell.checkpoints.permission import limits_of, permission  # lazy: many chats change nothing

        permit = permission(asker, notify, folder)
        return workspace.checkpoints(str(folder), store.header.id, limits_of(settings), permit)

    def settings_of_git() -> object:
        from kaa.shell.checkpoints.git_settings import git_settings  # lazy, as above

        return git_settings(workspace.root)

    return TurnCheckpoints(
        agent,
        store,
        recorder,
        make if settings.enabled else None,
        _FileReach(risk_of),
        lambda: any(process.state == "running" for process in workspace.processes.list()),
        notify,
        settings_of_git,
    )


class TurnCheckpoints:
    """Has checkpoints taken of an agent's turns.

    Args:
        agent: its turns are what checkpoints are taken of.
        checkpoints: gives those of this session and project, when they are first needed; None if they are off.
        path_of: the one file that a call of this tool can change, None if it can change anything, "" if nothing.
        in_background: whether something runs in the background that may change files.
        notify: told, in a sentence, why no checkpoints can be taken.
        git_settings: gives something that differs when git's configuration or hooks have changed.
    """

    def __init__(
        self,
        agent: Agent,
        store: SessionStore,
        recorder: SessionRecorder,
        checkpoints: "Callable[[], Checkpoints] | None",
        path_of: Callable[[ToolCall], str | None],
        in_background: Callable[[], bool],
        notify: Callable[[str], None],
        git_settings: Callable[[], object] = tuple,
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
        self._running: dict[str, str] = {}  # calls that may change files, and whose they are; "": the agent's own
        self._collecting: asyncio.Task[None] | None = None
        self._looked = False  # by a call that changes nothing
        self._beginning: asyncio.TimerHandle | None = None
        self._problem = "" if checkpoints is not None else _SWITCHED_OFF
        self._told = ""  # why nothing could be kept, as the user knows; until something is kept again
        self._missed = ""  # why nothing is kept of what the turn does
        self._git_settings = git_settings
        self._git_before: dict[str, object] = {}  # by call
        self._git_changed = False
        agent.subscribe(self._observe)

    @property
    def are_wanted(self) -> bool:
        return self._make is not None

    async def before(self, call: ToolCall) -> None:
        """The hook before tools: wait until what the call will change can be told from what was there."""
        path = self._path_of(call)
        if path != "":
            await self.before_change(path, call.id, "")

    async def before_change(self, path: str | None = None, call_id: str = _USER, owner: str = _USER) -> None:
        """Wait until what changes from here on can be told from what was there.

        That no checkpoint can be taken stops nobody: it is said once.

        Args:
            path: the only file that is about to change; None if it may be anything.
            call_id: of the call that is about to change something; by default, a command of the user's own.
            owner: the id of the agent within this one that calls, for `agent_ended`.

        Raises:
            SessionWriteError: the session can no longer be written.
        """
        checkpoints = self._made()
        if checkpoints is None:
            self._missed = self._problem
            return
        self._touched = True
        try:
            await self.settled()
            await checkpoints.ready(path, call=call_id)
            self._running[call_id] = owner
            self._git_before[call_id] = self._git_settings()
        except OSError as error:
            self.report(error)
        else:
            self._problem = ""

    def call_ended(self, call_id: str) -> None:
        """A call is over: what changes from here on is not its doing."""
        if call_id in self._running and self._checkpoints is not None:
            del self._running[call_id]
            self._git_changed |= self._git_before.pop(call_id) != self._git_settings()
            ended = self._checkpoints.ended(call_id, in_background=self._in_background())
            self._collecting = asyncio.ensure_future(self._go_on(self._collecting, ended))

    def agent_ended(self, agent: str) -> None:
        """End all calls of an agent within this one."""
        self._end_calls_of(agent)
        if not self._agent.is_running:
            self._collect()

    async def keeps(self, patterns: Sequence[str], *, name: str = "", kind: str = "") -> "Kept":
        from kaa.workspace.checkpoints.contract import Kept  # lazy: many turns change nothing

        checkpoints = self._made()
        if checkpoints is None:
            return Kept(False)
        try:
            await self.settled()
            return await checkpoints.keeps(patterns, name=name, kind=kind)
        except OSError as error:
            self.report(error)
            return Kept(False)

    async def caught_up(self) -> "Checkpoints | None":
        """The checkpoints, once everything is in the session that the agent did until now; None if they are off.

        Raises:
            OSError: it cannot be told what changed.
            SessionWriteError: the session can no longer be written.
        """
        checkpoints = self._made()
        if checkpoints is not None:
            self._collect(in_a_turn=self._agent.is_running)
            await self.settled()
            await self._recover(checkpoints)
        return checkpoints

    async def settled(self) -> None:
        """Wait until what has been collected is in the session."""
        while (collecting := self._collecting) is not None:
            await asyncio.shield(collecting)
            if self._collecting is collecting:
                self._collecting = None

    def required(self) -> "Checkpoints":
        """The checkpoints.

        Raises:
            CommandError: they are off.
        """
        checkpoints = self._made()
        if checkpoints is None:
            raise CommandError(f"file checkpoints are off: {self._problem}")
        return checkpoints

    def record(self, change_set: "ChangeSet", after: str | None, *, rewind: bool = False) -> None:
        """Name a change set in the session, as `naming` has it.

        Raises:
            SessionWriteError: the session can no longer be written.
        """
        from kaa.shell.checkpoints.entries import CHECKPOINT, naming  # lazy: many turns change nothing

        self._recorder.custom(CHECKPOINT, naming(change_set.id, len(change_set.files), after, rewind=rewind))
        if self._told:
            self._told = ""
            self._notify("checkpoints are on again: kaa can undo what changes in the project from here on")
        self._agent.emit(CheckpointTaken(change_set.id, len(change_set.files)))

    def report(self, error: OSError) -> None:
        """Tell the user, once, why nothing can be kept now."""
        said = error.strerror or str(error)
        self._missed = f"{error.filename}: {said}" if error.filename else said
        self._problem = self._missed
        if said != self._told:  # each try names another file
            self._told = said
            self._notify(f"checkpoints are off: {self._problem}; kaa cannot undo what changes in the project now")

    async def close(self) -> None:
        """Take in what the last turn did and let go of the project.

        Raises:
            SessionWriteError: the session can no longer be written.
        """
        if self._beginning is not None:
            self._beginning.cancel()
        if self._checkpoints is None:
            return
        try:
            self._collect()
            await self.settled()
        except OSError as error:
            self.report(error)
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

    def _made(self) -> "Checkpoints | None":
        if self._make is not None and self._checkpoints is None:
            self._checkpoints = self._make()
        return self._checkpoints

    def _begin(self) -> "Checkpoints | None":
        checkpoints = self._made()
        if checkpoints is not None:
            checkpoints.begin()
        return checkpoints

    def _observe(self, event: Event) -> None:
        match event:
            case AgentStart() if self._touched:  # what changed since the last run is not this one's doing
                self._collect()
            # Models look before they change something: until then, the project has been taken in. It is while they
            # think about the result: the first call need not wait for code and processes of checkpoints.
            case MessageUpdate(assistant_message_event=ToolCallStart(name=name)):
                if self._checkpoints is None and self._path_of(ToolCall("", name, {})) == "":
                    self._looked = True
                else:
                    self._begin()
            case TurnStart() if self._looked and self._beginning is None:
                self._beginning = asyncio.get_running_loop().call_later(_THINKING_SECONDS, self._begin)
            case UserCommandStart():
                self._command_runs = True
                self._begin()
            case ToolExecutionEnd(tool_call_id=call_id):
                self.call_ended(call_id)
            case TurnEnd() | AgentEnd():
                self._end_calls_of("")
                self._collect()
            case UserCommandEnd():
                self._command_runs = False
                self.call_ended(_USER)
                if not self._agent.is_running:
                    self._collect()
            case _:
                pass

    def _end_calls_of(self, owner: str) -> None:
        for call_id in [call_id for call_id, each in self._running.items() if each == owner]:
            self.call_ended(call_id)

    async def _go_on(self, earlier: asyncio.Task[None] | None, ended: Awaitable[None]) -> None:
        try:
            if earlier is not None:
                await earlier
        finally:
            try:
                await ended
            except OSError as error:
                self.report(error)

    def _collect(self, *, in_a_turn: bool = False) -> None:
        """Begin to take in what changed, if anything can have."""
        if self._checkpoints is None:
            self._record_missed(self._leaf_id)
        if self._touched and self._checkpoints is not None:
            self._touched = in_a_turn or self._command_runs or bool(self._running) or self._in_background()
            self._collecting = asyncio.ensure_future(
                self._keep(self._checkpoints, self._collecting, self._leaf_id, more_to_come=self._touched)
            )

    async def _keep(
        self, checkpoints: "Checkpoints", earlier: asyncio.Task[None] | None, after: str | None, *, more_to_come: bool
    ) -> None:
        if earlier is not None:
            await earlier
        try:
            await self._recover(checkpoints)
            change_set = await checkpoints.collect(more_to_come=more_to_come)
        except OSError as error:
            self.report(error)
            return
        finally:
            self._record_missed(after)
        if change_set is not None:
            self.record(change_set, after)

    async def _recover(self, checkpoints: "Checkpoints") -> None:
        """Once: what a turn did that was killed belongs behind what was the leaf when the session was opened."""
        if self._recovered:
            return
        found = await checkpoints.interrupted()  # to whoever asks first
        if found is not None:
            self.record(found, self._opened_at)
        self._recovered = True

    def _record_missed(self, after: str | None) -> None:
        """Note that nothing is kept of what was done behind an entry."""
        reason, self._missed = self._missed, ""
        has_part, self._git_changed = self._git_changed, False
        if after is not None and (reason or has_part):
            from kaa.shell.checkpoints.entries import NO_CHECKPOINT, missing  # lazy, as above

            self._recorder.custom(NO_CHECKPOINT, missing(reason or _LEFT, after, part=not reason))


class _FileReach:
    """Tells before a call of a tool runs which files it can change.

    Args:
        risk_of: what a tool can do at most, by its name, at the moment.
    """

    def __init__(self, risk_of: Callable[[str], Risk]) -> None:
        self._risk_of = risk_of

    def __call__(self, call: ToolCall) -> str | None:
        """The only file that it can change, None if it can be any, "" for none."""
        match self._risk_of(call.name), call.arguments.get("path"):
            case "read", _:
                return ""
            case "write", str(path) if path and path.isascii():  # other spellings may mean another file
                return path
            case _:
                return None
