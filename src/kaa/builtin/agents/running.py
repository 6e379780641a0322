"""Runs the agent of a definition: chooses its tools, its model and its rights, and puts its report together."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from fnmatch import fnmatchcase
from itertools import chain
from typing import Final

import msgspec

from kaa.builtin.agents import AGENT_TOOL, BUILT_IN, RUNNING_AGENT, AgentEnds
from kaa.builtin.agents.listing import used_in_short
from kaa.builtin.amounts import counted, listed
from kaa.builtin.mcp.names import tool_prefix
from kaa.builtin.skills.instructions import instructions
from kaa.components.agent_definition import AgentDefinition, AgentModel, ModelRole
from kaa.components.agent_definition.models import queries_for
from kaa.components.agent_definition.permissions import narrower
from kaa.components.allowed_tools import limits_in
from kaa.components.skill import SkillFile
from kaa.components.tool_names import OWN_TOOLS, rule_names
from kaa.core.budget import Budget
from kaa.core.messages import Json
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.agents import AgentError, AgentResult
from kaa.ext.api import ToolContext
from kaa.session.changed_paths import PATCH_TOOL

MOST_AT_ONCE: Final = 8
_MOST_IN_ALL = 64
_MOST_OBJECTIONS = 8  # of hooks to the end of an agent, as in Claude Code
_DEPTH: ContextVar[int] = ContextVar("_DEPTH", default=0)  # how many agents a call is within
# What each agent around a call says of the agents that may be started: names or globs. All of it holds.
_STARTABLE: ContextVar[tuple[tuple[str, ...], ...]] = ContextVar("_STARTABLE", default=())

_REPORT = (
    "You work for another agent. It gets only your last message: make that a short report of what you found or did,"
    " with paths and lines, and of what you could not do. Nobody answers questions."
)

_LAST_TURN = (
    "You have reached the limit of {most}. Call no more tools: write your report now, with what you found or did"
    " until here and what is still to be done."
)
_CHANGING = ("edit", "write")
# They are for conversations with a person.
_OF_PERSONS = ("ask_question", "request_permission", "write_todos")
_OF_CLAUDE = {"Explore": "explore", "general-purpose": "general"}
_MOST_SHOWN = 20
_MOST_SKILLS = 20
_MOST_NAME_CHARACTERS = 64


class _Places:
    """How many agents of a conversation may work at once.

    Those that wait for agents of their own keep no place from these: each depth has places of its own.
    """

    def __init__(self) -> None:
        self._of_depth: dict[int, asyncio.Semaphore] = {}
        self._taken = 0

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a place.

        Raises:
            ToolError: too many agents wait or work within each other.
        """
        if self._taken >= _MOST_IN_ALL:
            raise ToolError(f"{_MOST_IN_ALL} agents work or wait already. Do this yourself, or later.")
        depth = _DEPTH.get()
        self._taken += 1
        within = _DEPTH.set(depth + 1)
        try:
            async with self._of_depth.setdefault(depth, asyncio.Semaphore(MOST_AT_ONCE)):
                yield
        finally:
            _DEPTH.reset(within)
            self._taken -= 1


class Job(msgspec.Struct, frozen=True):
    """What an agent is to do.

    Attributes:
        resume: the id of an agent that goes on; None for a new one.
        isolated: it works in a worktree of its own.
        skills: whose instructions it has from the beginning.
    """

    definition: AgentDefinition
    resume: str | None
    task: str
    tools: Sequence[str]
    isolated: bool = False
    skills: tuple[SkillFile, ...] = ()


def job_of(
    name: str,
    task: str,
    definitions: Mapping[str, AgentDefinition],
    context: ToolContext,
    *,
    isolated: bool = False,
    skills: Mapping[str, SkillFile] = {},
) -> Job:
    """What an agent is to do.

    Args:
        name: of the definition; or the id of an agent that ended, which goes on.
        definitions: of the user and the project, by name.
        isolated: whether it is to work in a worktree, whatever its definition says.
        skills: those that the model may use, by name.

    Raises:
        ToolError: there is no such definition, none of its tools is there, or the task is empty.
    """
    known = _known(definitions)
    definition, resume = definition_named(name, definitions), None
    if definition is None:
        resume, named = name.strip(), name.strip().rpartition("-")[0]
        definition = next((one for key, one in known.items() if key[:_MOST_NAME_CHARACTERS] == named), None)
    if definition is None:
        here = " that this agent may start" if _STARTABLE.get() else ""
        raise ToolError(f"There is no agent {name!r}{here}. Agents: {', '.join(known) or 'none'}.")
    if not task.strip():
        raise ToolError("The task is empty: say what the agent is to do, and what to report.")
    tools = tools_of(definition, context.active_tools, context.deferred_tools)
    if not tools:
        raise ToolError(f"The agent {definition.name} cannot be run: none of the tools of its definition is there.")
    wanted = {one: _skill(one, definition, skills) for one in definition.skills[:_MOST_SKILLS]}
    for one in (one for one, file in wanted.items() if file is None):
        context.show.notice(
            f"The agent {definition.name} works without the skill {one}: the model has none of this name"
        )
    for server in definition.mcp_servers:
        if not any(_fits(tool, _of_server(server, definition)) for tool in tools):
            why = "it only reads" if definition.permission == "read-only" else "/mcp shows the servers that there are"
            context.show.notice(f"The agent {definition.name} works without the MCP server {server}: {why}")
    found = tuple(file for file in wanted.values() if file is not None)
    return Job(definition, resume, task, tools, isolated or definition.worktree, found)


def definition_named(name: str, definitions: Mapping[str, AgentDefinition]) -> AgentDefinition | None:
    """The definition of this name, kaa's own among them; also by what Claude Code calls its own. None if there is none.

    The name alone means an agent of a plugin, too, if only one has it.

    Args:
        definitions: of the user and the project, by name.
    """
    known, called = _known(definitions), name.strip().lstrip("@")
    if found := known.get(name) or known.get(called) or known.get(_OF_CLAUDE.get(called, "")):
        return found
    of_plugins = [one for key, one in known.items() if called and key.endswith(f":{called}")]
    return of_plugins[0] if len(of_plugins) == 1 else None


async def run_job(job: Job, models: Mapping[ModelRole, str], context: ToolContext) -> ToolResult:
    """Run an agent to its end. The result is its report, with what it used. Arguments and errors as of `run_agent`."""
    result = await run_agent(job, models, context)
    return text_result(report_of(result), details=_details(result))


async def run_agent(job: Job, models: Mapping[ModelRole, str], context: ToolContext) -> AgentResult:
    """Run an agent to its end. If it stopped at its limit of turns, the reason is "budget", and its text says so.

    Args:
        models: the user's, by what they are for.

    Raises:
        ToolError: the agent could not be run or did not finish.
    """
    definition = job.definition
    rights: Sequence[str] | None = () if definition.permission == "read-only" else None
    limits = limits_in(definition.only, definition.denied)
    prompt_parts = [definition.prompt, *[await instructions(file, "", context) for file in job.skills]]
    system_prompt = "\n\n".join(filter(None, prompt_parts)) or None

    async def run(prompt: str, resume: str | None, turns: int | None = definition.max_turns) -> AgentResult:
        return await context.run_agent(
            prompt,
            name=definition.name[:_MOST_NAME_CHARACTERS],
            system_prompt=system_prompt,
            model=queries_for(definition.model, models),
            thinking=definition.thinking,
            tools=job.tools,
            writable=rights,
            hosts=rights,
            budget=None if turns is None else Budget(turns=turns),
            asks=definition.permission == "ask",
            resume=resume,
            only=limits.only,
            denied=limits.denied,
            isolated=job.isolated and rights is None,  # what only reads needs no copy
        )

    async def run_to_report(prompt: str, resume: str | None) -> AgentResult:
        try:
            return await run(prompt, resume)
        except AgentError as error:
            ended, most = error.result, definition.max_turns
            if ended is None or most is None or ended.reason != "budget" or ended.used.turns < most:
                raise
            turns = counted(most, "turn")
            with suppress(AgentError):  # the reason for the end stays the limit
                whole = _together(ended, await run(_LAST_TURN.format(most=turns), ended.agent, 1))
                text = f"It stopped at its limit of {turns}, and reports what it has.\n\n{whole.text}"
                return msgspec.structs.replace(whole, text=text, reason=ended.reason)
            raise

    ends = context.state(AgentEnds, AgentEnds)
    async with context.state(_Places, _Places).one():
        within = RUNNING_AGENT.set(definition.name)
        startable = () if definition.agents is None else (definition.agents,)
        limited = _STARTABLE.set((*_STARTABLE.get(), *startable))
        starts = f" You can start these agents only: {', '.join(definition.agents)}." if definition.agents else ""
        try:
            result = await run_to_report(f"{job.task}\n\n{_REPORT}{starts}", job.resume)
            for _ in range(_MOST_OBJECTIONS if ends.objection is not None else 0):
                assert ends.objection is not None
                if not (reason := await ends.objection(result.agent, definition.name, result.text, context)):
                    break
                result = _together(result, await run_to_report(reason, result.agent))
        except AgentError as error:
            if error.result is None:
                raise
            text = f"{error}\n\nIts last message:\n{report_of(error.result)}"
            raise ToolError(text, _details(error.result)) from error
        finally:
            _STARTABLE.reset(limited)
            RUNNING_AGENT.reset(within)
    return result


def _together(before: AgentResult, after: AgentResult) -> AgentResult:
    """What came of an agent that went on."""
    sums = {field: getattr(before.used, field) + getattr(after.used, field) for field in before.used.__struct_fields__}
    changed = tuple(dict.fromkeys((*before.changed, *after.changed)))
    return msgspec.structs.replace(
        after,
        used=msgspec.structs.replace(after.used, **sums),
        changed=changed,
        worktree=after.worktree or before.worktree,
    )


def tools_of(definition: AgentDefinition, active: Iterable[str], deferred: Iterable[str]) -> list[str]:
    """The tools that the agent of a definition gets.

    A tool is left out whose calls kaa cannot hold to the patterns of the definition. What only reads gets no tools of
    servers and extensions, for which the limits of the workspace do not hold.

    Args:
        deferred: those that it could find; for definitions that name them.
    """
    unlimited = limits_in(definition.only, definition.denied).unlimited
    without = [*definition.excluded_tools, *unlimited, *_OF_PERSONS]
    starts = definition.agents is not None
    active = with_edits(active)
    every = list(dict.fromkeys((*active, *deferred)))
    of_servers = [pattern for server in definition.mcp_servers for pattern in _of_server(server, definition)]
    if definition.tools is None:
        wanted = [name for name in active if name in OWN_TOOLS and (starts or name != AGENT_TOOL)]
    else:
        wanted = [name for name in every if _fits(name, definition.tools)]
    found = dict.fromkeys((*wanted, *(name for name in every if _fits(name, of_servers))))
    names = [name for name in found if not any(_fits(one, without) for one in rule_names(name))]
    if definition.permission == "read-only":
        return [name for name in names if name in OWN_TOOLS and name not in _CHANGING]
    return names


def with_edits(active: Iterable[str]) -> tuple[str, ...]:
    """The tools of the conversation, with those for which its model has patches: an agent may have another model."""
    return tuple(chain.from_iterable(_CHANGING if name == PATCH_TOOL else (name,) for name in active))


def _known(definitions: Mapping[str, AgentDefinition]) -> dict[str, AgentDefinition]:
    """The definitions that this call may use, kaa's own among them."""
    every = {**DEFINITIONS, **{key: _no_wider(one) for key, one in definitions.items()}}
    return {key: one for key, one in every.items() if _may_be_started(key)}


def _no_wider(definition: AgentDefinition) -> AgentDefinition:
    """A definition that takes the place of one of kaa's own may do no more: people know what that can do."""
    own = DEFINITIONS.get(_OF_CLAUDE.get(definition.name, definition.name).lower())
    if own is None:
        return definition
    return msgspec.structs.replace(definition, permission=narrower(definition.permission, own.permission))


def _skill(name: str, definition: AgentDefinition, skills: Mapping[str, SkillFile]) -> SkillFile | None:
    """The skill that a definition means; that of a plugin may mean another of the plugin."""
    plugin, colon, _ = definition.name.rpartition(":")
    return skills.get(f"{plugin}:{name}") if colon and f"{plugin}:{name}" in skills else skills.get(name)


def _of_server(name: str, definition: AgentDefinition) -> list[str]:
    """What the names of a server's tools look like; that of a plugin may mean a server of the plugin."""
    plugin, colon, _ = definition.name.rpartition(":")
    servers = [name, *([f"{plugin}-{name}"] if colon else [])]
    if definition.servers and name in msgspec.json.decode(definition.servers, type=dict[str, Json]):
        servers.append(f"{name}-agent")  # where another one has its name
    return [f"{tool_prefix(server)}*" for server in servers]


def _may_be_started(name: str) -> bool:
    """Whether all agents around this call may start the agent of a definition."""
    return all(
        any(fnmatchcase(name.lower(), _OF_CLAUDE.get(one, one).lower()) for one in names) for names in _STARTABLE.get()
    )


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _details(result: AgentResult) -> dict[str, Json]:
    return {"agent": result.agent, "worktree": result.worktree}


def report_of(result: AgentResult) -> str:
    """Return what an agent reports, with what it used and changed."""
    changes = f"; it edited {listed(result.changed, _MOST_SHOWN)}" if result.changed else ""
    refused = "; some of its calls were refused" if result.reason == "denied" else ""
    place = f"; its changes are in the worktree {result.worktree}" if result.worktree else ""
    merge = ""
    if result.worktree:
        named = ", ".join(result.unmerged[:_MOST_SHOWN])
        unmerged = f", but not {named}: git ignores or cannot add it" if named else ""
        merge = f"\nThe user merges them with `kaa worktrees merge {result.worktree}`{unmerged}."
    facts = f"{used_in_short(result.used)}{changes}{refused}{place}"
    return f"{result.text.strip() or '(it said nothing)'}\n\n[{result.agent} (this name continues it): {facts}]{merge}"


_EXPLORE = """\
You search a project for another agent. You can read and run commands that change nothing; everything is read-only.
Search broadly first (`rg`, `git grep`, `git log`, file names), then read only what answers the question. Do not \
guess: name what you did not find. Answer briefly with paths and line numbers (`src/app.py:12`), and quote only \
decisive lines.
"""
_REVIEW = """\
You review changes in a project for another agent. Everything is read-only. If the task names no change, look at \
`git status` and `git diff HEAD`. Read the changed functions, their callers and their tests. Report a problem only if \
the change causes it, you can name the input or situation in which it fails, and the author would fix it. Verify each \
finding in the code. Leave out style, taste, praise and summaries. Answer with the findings, the most severe first, \
each with `path:line`, what fails and how to fix it; or with "No findings" and what you checked.
"""

DEFINITIONS: Final = {
    one.name: one
    for one in (
        AgentDefinition(
            "explore", BUILT_IN["explore"], _EXPLORE, "kaa", model=AgentModel("small"), permission="read-only"
        ),
        AgentDefinition("general", BUILT_IN["general"], "", "kaa"),
        AgentDefinition("review", BUILT_IN["review"], _REVIEW, "kaa", permission="read-only"),
    )
}
"""By name. Their prompts replace kaa's; `general` has that of the conversation."""
