"""`/agents`: the agents that work or have worked for the conversation, and those that there are."""

from collections.abc import Iterator, Mapping, Sequence

from kaa.builtin.agents import BUILT_IN
from kaa.builtin.amounts import counted
from kaa.components.agent_definition import AgentDefinition
from kaa.core.budget import BudgetUsage
from kaa.ext.agents import AgentControl, AgentError, AgentStatus
from kaa.ext.errors import CommandError

_MOST_SHOWN = 100
_MOST_LINES = 400


def answer(arguments: str, agents: AgentControl, definitions: Mapping[str, AgentDefinition]) -> str:
    """What the command does and says.

    Args:
        arguments: nothing; the id of an agent; `stop ID`; or `tell ID TEXT`. The beginning of an id is enough.
        definitions: those of the user and the project, by name.

    Raises:
        CommandError: no agent is meant, or several are; or it is not at work.
    """
    try:
        return _answer(arguments.split(None, 2), agents, definitions)
    except AgentError as error:
        raise CommandError(str(error)) from error


def used_in_short(used: BudgetUsage) -> str:
    """What an agent used, for people and models."""
    cost = f", ${used.cost:.2f}" if used.cost >= 0.005 else ""
    return f"{counted(used.turns, 'turn')}, {used.tokens:,} tokens{cost}"


def _answer(words: Sequence[str], agents: AgentControl, definitions: Mapping[str, AgentDefinition]) -> str:
    match words:
        case []:
            return "\n".join([*_tasks(agents.list()), "Agents:", *_known(definitions)])
        case ["stop", wanted]:
            agents.stop(agent := _meant(wanted, agents))
            return f"{agent} was stopped."
        case ["tell", wanted, text]:
            agents.steer(agent := _meant(wanted, agents), text)
            return f"{agent} gets the message when its current calls end."
        case [wanted]:
            return _end_of(agents.transcript(_meant(wanted, agents)))
        case _:
            raise CommandError("Use /agents, /agents ID, /agents stop ID, or /agents tell ID TEXT.")


def _meant(wanted: str, agents: AgentControl) -> str:
    """The id of the agent that has this id, or the only one whose id begins so."""
    ids = [one.agent for one in agents.list()]
    fitting = [wanted] if wanted in ids else [one for one in ids if one.startswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    known = ", ".join(fitting or ids) or "none yet"
    raise CommandError(f"{'Several agents begin' if fitting else 'No agent begins'} with {wanted}: {known}.")


def _end_of(transcript: str) -> str:
    lines = transcript.splitlines()
    left_out = len(lines) - _MOST_LINES
    return "\n".join([*([f"({left_out} lines before this)"] if left_out > 0 else []), *lines[-_MOST_LINES:]])


def _tasks(agents: Sequence[AgentStatus]) -> Iterator[str]:
    depths: dict[str, int] = {}
    for one in agents:
        depth = depths[one.agent] = 0 if one.parent is None else depths.get(one.parent, -1) + 1
        indent = "  " * depth
        yield f"{indent}{one.agent}: {one.task[:_MOST_SHOWN]}"
        doing = f": {one.doing[:_MOST_SHOWN]}" if one.doing else ""
        yield f"{indent}  {one.state}{doing}, {used_in_short(one.used)}, {one.seconds:.0f} s"
    if agents:
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
