"""A conversation whose agent has an agent of its own, as files."""

from pathlib import Path
from typing import Any

from tests.support.rich_session import call, reply, result, text, thought, user
from tests.support.sessions import HEADER, JsonObject, entry, write_session

LEAD, SCOUT = "lead-aaaaaa", "scout-bbbbbb"


def begun(entry_id: str, parent: str, agent: str, call_id: str, task: str, caller: str | None = None) -> JsonObject:
    """An agent begins."""
    data = {"agent": agent, "task": task, "call": call_id, "parent": caller}
    return entry("custom", entry_id, parent, customType="agent", data=data)


def ended(entry_id: str, parent: str, agent: str, reason: str = "done") -> JsonObject:
    """An agent ends."""
    used = {"cost": 0.25, "tokens": 1200, "turns": 2, "seconds": 1.0, "unpriced": 0}
    return entry(
        "custom", entry_id, parent, customType="agent_end", data={"agent": agent, "reason": reason, "used": used}
    )


def told(entry_id: str, task: str) -> JsonObject:
    """The first entry of an agent's session: its task."""
    return entry("custom_message", entry_id, None, customType="kaa.agent", content=[text(task)], display=True)


def write_agent(session: Path, agent: str, *entries: JsonObject) -> Path:
    """The session of an agent of a conversation."""
    folder = session.with_name(f"{session.name}.agents")
    folder.mkdir(exist_ok=True)
    header = {**HEADER, "id": f"{agent}-session", "parentSession": str(session)}
    return write_session(folder / f"{agent}.jsonl", *entries, header=header)


def write_with_agents(folder: Path, **fields: Any) -> Path:
    """A conversation with a lead, which has a scout."""
    session = write_session(
        folder / "s.jsonl",
        user("u", None, "Find the door."),
        reply("r", "u", text("I ask."), call("1", "agent", agent="lead", task="Lead the search.")),
        begun("b1", "r", LEAD, "1", "Lead the search."),
        begun("b2", "b1", SCOUT, "1", "Look around.", LEAD),
        ended("e2", "b2", SCOUT),
        ended("e1", "e2", LEAD),
        result("t", "e1", "1", "agent", "The report of the lead."),
        reply("z", "t", text("It is found.")),
    )
    write_agent(
        session,
        LEAD,
        told("l1", "The whole task of the lead."),
        reply("l2", "l1", thought("a lead thinks"), call("1", "agent", agent="scout", task="Look around.")),
        result("l3", "l2", "1", "agent", "The report of the scout."),
        reply("l4", "l3", text("The lead is done.")),
    )
    write_agent(
        session,
        SCOUT,
        told("s1", "The whole task of the scout."),
        reply("s2", "s1", call("1", "bash", command="ls doors")),
        result("s3", "s2", "1", "bash", "oak  iron"),
        reply("s4", "s3", text("The scout saw two doors.")),
    )
    return session
