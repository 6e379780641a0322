"""`/agents`: the agents that work or have worked for the conversation, and those that there are."""

import time
from collections.abc import Iterator, Mapping

import msgspec

from kaa.builtin.agents import BUILT_IN
from kaa.components.agent_definition import AgentDefinition
from kaa.tui.sanitize import squeezed

_MOST_SHOWN = 100


class Work(msgspec.Struct):
    """A task of an agent.

    Attributes:
        name: of the definition.
        task: of the agent.
        begun: when, in seconds of `time.monotonic`.
        ended: what it used and why it ended, for people; empty while it works.
        seconds: how long it took, once it has ended.
    """

    name: str
    task: str
    begun: float
    ended: str = ""
    seconds: float = 0.0


def listing(works: list[Work], definitions: Mapping[str, AgentDefinition]) -> str:
    """The lines, for people.

    Args:
        works: the tasks of the conversation's agents.
        definitions: those of the user and the project, by name.
    """
    return "\n".join([*_tasks(works), "Agents:", *_known(definitions)])


def _tasks(works: list[Work]) -> Iterator[str]:
    for work in works:
        seconds = work.seconds if work.ended else time.monotonic() - work.begun
        state = work.ended or "works"
        yield f"{work.name}: {squeezed(work.task)[:_MOST_SHOWN]}"
        yield f"  {state}, {seconds:.0f} s"
    if works:
        yield ""


def _known(definitions: Mapping[str, AgentDefinition]) -> Iterator[str]:
    for name, about in BUILT_IN.items():
        if name not in definitions:
            yield f"  {name}: {about}"
    for one in definitions.values():
        facts = (
            one.permission or "",
            "" if one.tools is None else f"tools: {', '.join(one.tools)}",
            "" if one.model.role == "inherit" else f"model: {one.model.reference or one.model.role}",
        )
        told = "; ".join(filter(None, facts))
        yield f"  {one.name}: {one.description[:_MOST_SHOWN]}{f' ({told})' if told else ''}"
