"""The work of agents as it is shown: within the transcript of whoever called for them, behind the call."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kaa.core.messages import AssistantMessage
from kaa.session.agents import AgentBegun, AgentNotes
from kaa.session.entries import Custom, MessageEntry
from kaa.session.errors import SessionError
from kaa.session.store import ReadableSession, read_entry
from kaa.session.transcript import DisplayEntry, Transcript

# kaa runs no agents more than five deep; a file from elsewhere may claim anything.
_MOST_NESTED: Final = 20


class NestedTranscript(NamedTuple):
    """The work of an agent.

    Attributes:
        at: how many entries of the caller's transcript come before it.
        task: the first line of what it was to do.
        entries: what it was told, said and did; empty if its session cannot be read.
        problem: what is missing; empty if nothing is.
        nested: the work of the agents that it called for.
    """

    at: int
    agent: str
    task: str
    entries: Sequence[DisplayEntry]
    problem: str
    nested: "Sequence[NestedTranscript]"


class _Begun(NamedTuple):
    """An agent that waits for its place. `at`: in the conversation's own transcript."""

    begun: AgentBegun
    at: int
    timestamp: str


def nested_transcripts(
    store: ReadableSession, transcript: Transcript, entries_of: Callable[[str], Transcript]
) -> Sequence[NestedTranscript]:
    """The agents of a conversation, each once. Reads their sessions: run it in a thread.

    Args:
        entries_of: gives what is shown of the session of an agent, by its id. A `SessionError` becomes a problem.

    Raises:
        SessionError: the session of the conversation cannot be read any more.
    """
    notes, waiting = AgentNotes(), dict[str, _Begun]()
    for node in store.tree.path():
        entry = read_entry(store, node) if node.type == "custom" else None
        if isinstance(entry, Custom) and (begun := notes.add(entry.custom_type, entry.data)) is not None:
            waiting.setdefault(begun.agent, _Begun(begun, transcript.before(node), entry.timestamp))

    def work_of(agent: _Begun, at: int, depth: int) -> NestedTranscript:
        entries: Sequence[DisplayEntry] = ()
        problem = ""
        try:
            entries = read = entries_of(agent.begun.agent)
            problem = "the last line of its session is not whole" if read.is_torn else ""
            nested = called_for(agent.begun.agent, entries, depth)
        except SessionError as error:
            problem, nested = str(error), []
        return NestedTranscript(at, agent.begun.agent, agent.begun.task, entries, problem, nested)

    def called_for(caller: str, entries: Sequence[DisplayEntry], depth: int) -> list[NestedTranscript]:
        own = [one for one in waiting.values() if one.begun.parent == caller] if depth < _MOST_NESTED else []
        for one in own:
            del waiting[one.begun.agent]
        return [work_of(one, _behind_call(entries, one), depth + 1) for one in own]

    found = []
    for agent in [one for one in waiting.values() if one.begun.parent is None]:
        del waiting[agent.begun.agent]
        found.append(work_of(agent, agent.at, 1))
    while waiting:  # whoever called for them is not there
        agent = waiting.pop(next(iter(waiting)))
        found.append(work_of(agent, agent.at, 1))
    return sorted(found, key=lambda one: one.at)


def _behind_call(entries: Sequence[DisplayEntry], agent: _Begun) -> int:
    """Behind which entry of its caller an agent stands. Ids of calls may repeat, so the last one until then counts."""
    at = len(entries)
    for index, entry in enumerate(entries):
        match entry:
            case MessageEntry(message=AssistantMessage() as reply, timestamp=time) if time <= agent.timestamp:
                if any(call.id == agent.begun.call for call in reply.tool_calls):
                    at = index + 1
            case _:
                pass
    return at
