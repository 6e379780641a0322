"""The agents of a session as an export shows them: under the calls that began them, each with a session of its own."""

import contextlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from kaa.session.agents import AgentBegun, AgentNotes, NotedAgent, agent_path
from kaa.session.errors import NotASessionError, SessionError
from kaa.session.export.selection import ExportSelection, fields_of, selected_nodes
from kaa.session.export.source import SessionSource, SnapshotFile
from kaa.session.tree import Node

# kaa runs no agents more than five deep; a file from elsewhere may claim anything.
MOST_NESTED: Final = 20


class Beginning(NamedTuple):
    """Where an agent began, or went on: the entry of the conversation that says so, and its time."""

    node: Node
    begun: AgentBegun
    timestamp: str


class ExportedAgent(NamedTuple):
    """An agent that goes into an export.

    Attributes:
        beginnings: in the order of the file.
    """

    id: str
    noted: NotedAgent
    beginnings: list[Beginning]

    @property
    def outcome(self) -> str:
        """How it ended, in a few words."""
        ended = self.noted.ended
        if ended is None:
            return "at work, or interrupted"
        used = ended.used
        cost = f", ${used.cost:.2f}" if used.cost >= 0.005 else ""
        return f"{ended.reason}, {used.turns} turns, {used.tokens:,} tokens{cost}, {ended.seconds:.0f} s"


class AgentSession(NamedTuple):
    """The session of an agent, as far as it can be read.

    Attributes:
        source: None if there is none.
        problem: what is missing of it, in a sentence; empty if nothing is.
    """

    source: SnapshotFile | None
    problem: str


def agents_in(source: SessionSource, selection: ExportSelection) -> list[ExportedAgent]:
    """The agents that began in the selected entries; none without calls of tools, because their work is output of one.

    Raises:
        SessionError: the session cannot be read any more.
    """
    if not selection.tools:
        return []
    notes = AgentNotes()
    beginnings: dict[str, list[Beginning]] = {}
    for node in selected_nodes(source, selection):
        if node.type != "custom":
            continue
        fields = fields_of(source.line(node)) or {}
        begun = notes.add(fields.get("customType"), fields.get("data"))
        if begun is not None:
            beginnings.setdefault(begun.agent, []).append(Beginning(node, begun, str(fields.get("timestamp"))))
    return [ExportedAgent(id_, noted, beginnings[id_]) for id_, noted in notes.agents.items()]


@contextlib.contextmanager
def agent_session(source: SessionSource, agent_id: str) -> Iterator[AgentSession]:
    """Open the session of an agent of this session. What is missing or damaged is named and stops nothing."""
    if source.path is None:
        yield AgentSession(None, f"The session of {agent_id} was not kept in a file.")
        return
    path = agent_path(source.path, agent_id)
    if path.is_symlink() or path.parent.is_symlink():  # kaa makes none; in a copy from elsewhere, it may lead anywhere
        yield AgentSession(None, f"The session of {agent_id} is not used: {path.name} is reached by a link.")
        return
    with contextlib.ExitStack() as held:
        snapshot: SnapshotFile | None = None
        try:
            snapshot = held.enter_context(SnapshotFile.open(path))
            problem = f"The end of {path.name} is missing: its last line is not whole." if snapshot.is_torn else ""
        except NotASessionError:
            problem = f"The session of {agent_id} cannot be read: {path.name} is not a session file."
        except SessionError as error:
            why = error.__cause__.strerror if isinstance(error.__cause__, OSError) else error
            problem = f"The session of {agent_id} is missing: {path.name}: {why}."
        yield AgentSession(snapshot, problem)


def problems_of_agents(source: SessionSource, selection: ExportSelection) -> list[str]:
    """What is missing of the sessions of agents, in sentences."""
    problems = []
    for agent in agents_in(source, selection):
        with agent_session(source, agent.id) as (_, problem):
            problems += [problem] if problem else []
    return problems


def redacted(text: str, selection: ExportSelection) -> str:
    """A text of the conversation's about an agent, as it may leave the machine."""
    return text if selection.redactor is None else selection.redactor.redact(text)
