"""Tells the model of agents in the background that a killed kaa took with it: nobody else reports for them."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import msgspec

from kaa.core.messages import AssistantMessage
from kaa.session.agents import ENDED, AgentEnded, AgentNotes, NotedAgent, agent_path
from kaa.session.as_user_message import custom_message, custom_type_of
from kaa.session.context import build_context
from kaa.session.entries import Custom, CustomMessage, Entry
from kaa.session.errors import SessionError, SessionWriteError
from kaa.session.export.source import SnapshotFile
from kaa.session.file.file_store import FileStore
from kaa.session.store import read_entry

# How each message begins that tells of an agent in the background.
_TELLS_OF: Final = re.compile(r"\[agent ([^\]\s]{1,200})\] ")
_MOST_CHARACTERS = 20_000


def tell_of_lost_agents(store: FileStore, *, is_copy: bool) -> None:
    """Add a message for each agent in the background whose end was not told.

    One that has no end gets it noted, and is told that it was stopped. One that ended gets what it said last into the
    conversation: its kaa was killed before the report came. An agent that a call waited for needs none: the interrupted
    call has its id. Nothing may be at work yet.

    Args:
        is_copy: it was made a moment ago from another one, for which agents may still work.
    """
    notes, told = AgentNotes(), set[str]()
    for node in store.tree.nodes:
        entry = read_entry(store, node) if node.type in ("custom", "custom_message") else None
        if isinstance(entry, Custom):
            if (begun := notes.add(entry.custom_type, entry.data)) is not None:
                told.discard(begun.agent)
        elif isinstance(entry, CustomMessage) and (tells := _TELLS_OF.match(custom_message(entry).text)):
            told.add(tells[1])
    drafts: list[Entry] = []
    for name, agent in notes.agents.items():
        if not agent.begun[-1].call and name not in told:
            drafts += _told(store, name, agent, is_copy=is_copy)
    if drafts:
        with suppress(SessionWriteError):  # a full disk: the next opening tells it
            store.append(*drafts)
            store.request_sync()


def _told(store: FileStore, name: str, agent: NotedAgent, *, is_copy: bool) -> Iterator[Entry]:
    task = agent.begun[0].task  # what it was told later may be to come to an end
    if agent.ended is None:
        yield Custom(custom_type=ENDED, data=msgspec.to_builtins(AgentEnded(name, "interrupted")))
        gone = "It worked for the original of this copy" if is_copy else "It was stopped, because kaa was killed"
        text = f"[agent {name}] {gone}. This name continues it. Task: {task}"
    elif agent.begun[-1].reports:
        how = "It has ended" if agent.ended.reason == "done" else f"It has ended ({agent.ended.reason})"
        late = f"and {'this copy was made' if is_copy else 'kaa ended'} before its report came. This name continues it."
        text = f"[agent {name}] {how}, {late} Task: {task}\nWhat it said last:\n\n{_last_words(store, name)}"
    else:
        return
    yield CustomMessage(custom_type=custom_type_of("extension"), content=text, display=True)


def _last_words(store: FileStore, name: str) -> str:
    try:
        with SnapshotFile.open(agent_path(store.path, name)) as session:
            messages = build_context(session).messages
    except SessionError as error:
        return f"(its session cannot be read: {error})"
    said = (one.text for one in reversed(messages) if isinstance(one, AssistantMessage))
    text = next(filter(None, said), "(it said nothing)")
    cut = f"\n… (/agents {name} shows all of it)" if len(text) > _MOST_CHARACTERS else ""
    return text[:_MOST_CHARACTERS] + cut
