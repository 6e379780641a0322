"""Tells the model of agents in the background that a killed kaa took with it: nobody else reports for them."""

from contextlib import suppress

import msgspec

from kaa.session.agents import ENDED, AgentEnded, AgentNotes
from kaa.session.as_user_message import custom_type_of
from kaa.session.entries import Custom, CustomMessage, Entry
from kaa.session.errors import SessionWriteError
from kaa.session.file.file_store import FileStore
from kaa.session.store import read_entry


def tell_of_lost_agents(store: FileStore) -> None:
    """Add a message for each agent in the background that has no end, and note its end, so that it is told once.

    An agent that a call waited for needs none: the interrupted call has its id. Nothing may be at work yet.
    """
    notes = AgentNotes()
    for node in store.tree.nodes:
        entry = read_entry(store, node) if node.type == "custom" else None
        if isinstance(entry, Custom):
            notes.add(entry.custom_type, entry.data)
    drafts: list[Entry] = []
    for name, agent in notes.agents.items():
        begun = agent.begun[-1]
        if agent.ended is not None or begun.call:
            continue
        ended = AgentEnded(name, "interrupted")
        text = f"[agent {name}] It was stopped, because kaa was killed. This name continues it. Task: {begun.task}"
        drafts.append(Custom(custom_type=ENDED, data=msgspec.to_builtins(ended)))
        drafts.append(CustomMessage(custom_type=custom_type_of("extension"), content=text, display=True))
    if drafts:
        with suppress(SessionWriteError):  # a full disk: the next opening tells it
            store.append(*drafts)
            store.request_sync()
