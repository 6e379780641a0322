"""The agents of a conversation, as its session knows them: who began, for which call, how it ended, and in which file.

The session of an agent is a file in a folder beside that of the conversation (`agents_folder`); those of agents within
agents are in the same folder. Two entries of the conversation say that an agent began and how it ended.
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from kaa.core.budget import BudgetUsage
from kaa.core.messages import Json
from kaa.session.file.file_store import agents_folder

BEGUN: Final = "agent"
ENDED: Final = "agent_end"
"""The kinds of the two entries (`customType`)."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST_NAME = 100


class AgentBegun(msgspec.Struct, frozen=True):
    """What is noted of an agent that begins, or goes on.

    Attributes:
        task: the first line of what it is to do.
        call: the id of the call that began it; empty if none did, as in the background.
        parent: the agent that called for it; None: the conversation's own.
        reports: it works in the background, and a message of its own brings its report.
    """

    agent: str
    task: str
    call: str = ""
    parent: str | None = None
    reports: bool = False


class AgentEnded(msgspec.Struct, frozen=True):
    """What is noted of an agent that ended."""

    agent: str
    reason: str
    seconds: float = 0.0
    used: BudgetUsage = BudgetUsage()


class NotedAgent:
    """What a session says of one agent.

    Attributes:
        begun: each time it began, or went on.
        ended: how it ended; None if it works, or was interrupted.
    """

    def __init__(self, begun: AgentBegun) -> None:
        self.begun = [begun]
        self.ended: AgentEnded | None = None


class AgentNotes:
    """Collects what the entries of a session say of agents, in the order of the file.

    Attributes:
        agents: by id, in the order in which they first began.
    """

    def __init__(self) -> None:
        self.agents: dict[str, NotedAgent] = {}

    def add(self, kind: Json, data: Json) -> AgentBegun | None:
        """Take in the kind and the data of a `custom` entry. Returns what it says of a beginning, if it is that."""
        try:
            if kind == BEGUN:
                begun = msgspec.convert(data, AgentBegun)
                if (known := self.agents.get(begun.agent)) is None:
                    self.agents[begun.agent] = NotedAgent(begun)
                else:
                    known.begun.append(begun)
                    known.ended = None
                return begun
            if kind == ENDED:
                ended = msgspec.convert(data, AgentEnded)
                if (known := self.agents.get(ended.agent)) is not None:
                    known.ended = ended
        except msgspec.ValidationError:
            pass  # written by something else
        return None


def agent_path(session: Path, agent_id: str) -> Path:
    """The file of an agent's session. Of an id, which is not ours, only what is safe gets into the name."""
    stem, _, end = agent_id.rpartition("-")
    name = f"{_NOT_IN_NAMES.sub('_', stem)[:_LONGEST_NAME]}-{_NOT_IN_NAMES.sub('_', end)[:_LONGEST_NAME]}"
    return agents_folder(session) / f"{name.lstrip('.')}.jsonl"
