"""The agents of a conversation: those at work, those that were, and the sessions of all.

The session of an agent is a file in a folder beside that of the conversation (`NAME.jsonl.agents`). No list of sessions
shows it, and it goes into the trash and comes back with the conversation's. Where that has no file, neither do they.
That an agent began, and how it ended, stands in the session of the conversation, whichever agent called for it.
"""

import io
import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kaa.core.agent import Agent
from kaa.core.budget import Ledger
from kaa.core.events import AgentEnd, Event, ToolExecutionStart
from kaa.core.messages import user_message
from kaa.ext.agents import AgentError, AgentStatus
from kaa.session.agents import BEGUN, ENDED, AgentBegun, AgentEnded, AgentNotes, agent_path
from kaa.session.changed_paths import changed_paths
from kaa.session.entries import Custom
from kaa.session.errors import SessionError
from kaa.session.file.file_store import FileStore
from kaa.session.recorder import SessionRecorder
from kaa.session.store import MemoryStore, SessionStore, new_header, read_entry
from kaa.session.transcript import Transcript
from kaa.session.unfinished import note_work
from kaa.tui.sanitize import squeezed

_MOST_IN_MEMORY = 50  # sessions without a file that can be continued
_MOST_SHOWN = 200
# What tells most about a call, if it has it.
_SUBJECTS = ("command", "path", "pattern", "url", "task", "name")


class _Live:
    def __init__(self, begun: AgentBegun, agent: Agent, ledger: Ledger) -> None:
        self.begun = begun
        self.agent = agent
        self.ledger = ledger
        self.since = time.monotonic()
        self.doing = ""
        self.reason = "aborted"

    def observe(self, event: Event) -> None:
        match event:
            case ToolExecutionStart():
                self.doing = call_line(event)
            case AgentEnd(reason=reason):
                self.reason = reason
            case _:
                pass

    @property
    def seconds(self) -> float:
        """How long it works already."""
        return time.monotonic() - self.since


class AgentRoster:
    """Implements `kaa.ext.agents.AgentControl`."""

    def __init__(self, store: SessionStore, recorder: SessionRecorder, cwd: str) -> None:
        self._store = store
        self._recorder = recorder
        self._cwd = cwd
        self._live: dict[str, _Live] = {}
        self._open: dict[str, SessionStore] = {}
        self._in_memory: dict[str, MemoryStore] = {}
        self._notes = AgentNotes()  # of the first entries of the session, `_noted` of them
        self._noted = 0

    def open_session(self, agent_id: str, *, resume: bool) -> SessionStore:
        """The session of an agent that is about to begin, or to go on.

        Raises:
            AgentError: there is none to go on with, or it is in use.
            SessionError: the file cannot be read.
        """
        if agent_id in self._live:
            raise AgentError(f"The agent {agent_id} is still at work.")
        path = self._path(agent_id)
        if not resume:
            parent = self._store.path
            return (
                MemoryStore(self._cwd)
                if path is None
                else FileStore.create(path, new_header(self._cwd, None if parent is None else str(parent)))
            )
        if path is None and (kept := self._in_memory.get(agent_id)) is not None:
            return kept
        if path is None or not path.is_file():
            raise AgentError(f"There is no agent {agent_id} to resume.")
        return FileStore.open(path)

    @contextmanager
    def at_work(
        self,
        agent_id: str,
        store: SessionStore,
        agent: Agent,
        ledger: Ledger,
        *,
        task: str,
        call: str,
        parent: str | None,
        reports: bool,
    ) -> Iterator[None]:
        """Note that an agent begins and ends, and show it meanwhile.

        Raises:
            SessionWriteError: the session of the conversation cannot be written.
        """
        first_line = squeezed(task.strip().partition("\n")[0])[:_MOST_SHOWN]
        live = _Live(AgentBegun(agent_id, first_line, call, parent, reports), agent, ledger)
        self._note(BEGUN, live.begun)
        unsubscribe = agent.subscribe(live.observe)
        self._live[agent_id], self._open[agent_id] = live, store
        self._note_work(live.begun)
        try:
            yield
        finally:
            unsubscribe()
            del self._live[agent_id], self._open[agent_id]
            self._note_work(live.begun)
            if isinstance(store, MemoryStore):
                self._keep(agent_id, store)
            self._note(ENDED, AgentEnded(agent_id, live.reason, round(live.seconds, 1), ledger.used))

    def list(self) -> Sequence[AgentStatus]:
        nodes = self._store.tree.nodes
        for node in itertools.islice(nodes, self._noted, None):
            entry = read_entry(self._store, node) if node.type == "custom" else None
            if isinstance(entry, Custom):
                self._notes.add(entry.custom_type, entry.data)
        self._noted = len(nodes)
        return [self._status(one.begun[0], one.ended) for one in self._notes.agents.values()]

    def steer(self, agent_id: str, text: str) -> None:
        self._working(agent_id).agent.steer(user_message(text))

    def stop(self, agent_id: str) -> None:
        self._working(agent_id).agent.abort()

    def transcript(self, agent_id: str) -> str:
        from kaa.session.export.markdown import write_markdown  # lazy, both: few want to see it
        from kaa.session.export.selection import ExportSelection
        from kaa.session.export.source import SnapshotFile

        out = io.BytesIO()
        path = self._path(agent_id)
        try:
            if (store := self._open.get(agent_id) or self._in_memory.get(agent_id)) is not None:
                write_markdown(store, ExportSelection(), out)
            elif path is not None and path.is_file():
                with SnapshotFile.open(path) as snapshot:
                    write_markdown(snapshot, ExportSelection(), out)
            else:
                raise AgentError(f"There is no agent {agent_id}.")
        except SessionError as error:
            raise AgentError(str(error)) from error
        return out.getvalue().decode("utf-8", "replace")

    def entries(self, agent_id: str) -> Transcript:
        from kaa.session.reopened import ReopenedSession  # lazy: few want to see it

        path = self._path(agent_id)
        if path is not None:
            try:
                session = ReopenedSession(path)
            except SessionError as error:
                raise AgentError(str(error)) from error
            return Transcript(session, is_torn=session.is_torn)
        store = self._open.get(agent_id) or self._in_memory.get(agent_id)
        if store is None:
            raise AgentError(f"There is no agent {agent_id}.")
        return Transcript(store)

    def _working(self, agent_id: str) -> _Live:
        live = self._live.get(agent_id)
        if live is None:
            at_work = ", ".join(self._live) or "none"
            raise AgentError(f"The agent {agent_id} is not at work. At work: {at_work}.")
        return live

    def _status(self, begun: AgentBegun, ended: AgentEnded | None) -> AgentStatus:
        path = self._path(begun.agent)
        session = str(path) if path is not None and begun.agent not in self._in_memory else None
        fixed = (begun.agent, begun.parent, begun.task, session)
        if (live := self._live.get(begun.agent)) is not None:
            return AgentStatus(*fixed, "working", live.doing, live.ledger.used, live.seconds)
        if ended is None:
            return AgentStatus(*fixed, "interrupted")
        return AgentStatus(*fixed, ended.reason, "", ended.used, ended.seconds)

    def _path(self, agent_id: str) -> Path | None:
        return None if self._store.path is None else agent_path(self._store.path, agent_id)

    def _keep(self, agent_id: str, store: MemoryStore) -> None:
        self._in_memory.pop(agent_id, None)
        self._in_memory[agent_id] = store
        if len(self._in_memory) > _MOST_IN_MEMORY:
            del self._in_memory[next(iter(self._in_memory))]

    def _note_work(self, changed: AgentBegun) -> None:
        """Note which agents work that no call waits for, now that one began or ended: nobody else tells of them."""
        if changed.call or changed.parent is not None:
            return
        begun = [one.begun for one in self._live.values() if not one.begun.call and one.begun.parent is None]
        named = ", ".join(f"{one.agent} ({one.task})" for one in begun)
        note_work(
            self._store.path,
            self._cwd,
            "agents",
            f"Agents: {named}. `/agents` shows what they did; the model can continue one by its name." if named else "",
        )

    def _note(self, kind: str, data: AgentBegun | AgentEnded) -> None:
        self._recorder.custom(kind, msgspec.to_builtins(data))


def call_line(call: ToolExecutionStart) -> str:
    """What an agent does, in a line for people."""
    named = (text for name in _SUBJECTS if isinstance(text := call.args.get(name), str))
    subject = next(named, "") or ", ".join(changed_paths(call.tool_name, call.args))
    return f"{call.tool_name} {squeezed(subject)[:_MOST_SHOWN]}".rstrip()
