"""Runs agents and tools for extensions, between the same hooks and approvals as the calls of the conversation's agent.

An agent has a fresh context, a narrowed workspace, and the conversation's budget and models.
"""

import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple, TypeVar, cast

import msgspec

from kaa.core.agent import Agent
from kaa.core.budget import Budget, Ledger
from kaa.core.events import AgentEnd, Event, MessageEnd, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from kaa.core.execution import ToolExecutor
from kaa.core.hooks import AfterTool, Block, FixedHooks
from kaa.core.messages import AssistantMessage, ToolCall, ToolResultMessage, user_message
from kaa.core.provider import ThinkingLevel
from kaa.core.tool import Permit, ToolResult
from kaa.ext.agents import AgentError, AgentResult, AgentTask, ToolTask
from kaa.ext.asking import Asker, AttributingAsker
from kaa.ext.context import EXTENSION_CALLER, OWN_CALLER
from kaa.ext.errors import CommandError, RegistrationError
from kaa.ext.questions import Approval, Deny, Dismissed, Question
from kaa.ext.registry import Registry
from kaa.host.paths import is_below
from kaa.llm.auth.errors import CredentialError
from kaa.llm.models.registry import NoModelError
from kaa.llm.thinking_levels import nearest_level
from kaa.session.changed_paths import changed_paths
from kaa.session.context import build_context
from kaa.session.entries import RequestUsage
from kaa.session.errors import SessionError
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.shell.active_tools import ActiveTools
from kaa.shell.agent_building import AgentSpec, BuiltAgent, build_agent, nested_instructions
from kaa.shell.agent_roster import AgentRoster, call_line
from kaa.shell.approvals.rule_file import ApprovalRules, ApprovalsError, parse_rules
from kaa.shell.checkpoints.turns import TurnCheckpoints
from kaa.shell.compaction.compacting import Compacting
from kaa.shell.compaction.summarizing import Summarizer
from kaa.shell.containment import contain
from kaa.shell.gatekeeper import Gatekeeper, create_gatekeeper
from kaa.shell.home import Home
from kaa.shell.models.link import ModelLink
from kaa.shell.result_limit import limiting
from kaa.shell.settings import Settings
from kaa.workspace.protocol import WiderError, Workspace

# The kind of the entries that say what an agent used.
_USAGE_KIND = "agent"
_MAX_NAME_CHARACTERS = 64
_MOST_NESTED = 5
_OWN_RIGHTS = ("granted", "outside")
_UNASKED: Final = "the user is not asked for this agent. Do without it, and say so in your report"

AnswerT = TypeVar("AnswerT")


class AgentOrigin(msgspec.Struct, frozen=True):
    """The conversation that agents work for.

    Attributes:
        asker: asks the person, in the name of the conversation.
        spec: what its own agent is made of.
        notify: told, in a sentence, of what is worth knowing.
    """

    asker: Asker
    registry: Registry
    spec: AgentSpec
    built: BuiltAgent
    gate: Gatekeeper
    checkpoints: TurnCheckpoints
    home: Home
    environ: Mapping[str, str]
    notify: Callable[[str], None]
    settings: Callable[[], Settings]


class _Guard(NamedTuple):
    """What judges calls: the extensions with their hooks, and the approvals."""

    registry: Registry
    gate: Gatekeeper


class _Held(NamedTuple):
    """What an agent is held to, and with it all agents within it. `tools`: None for all; all `limits` hold."""

    tools: frozenset[str] | None = None
    limits: tuple[ApprovalRules, ...] = ()

    def within(self, task: AgentTask) -> "_Held":
        """What an agent is held to that works on a task for this one.

        Raises:
            ApprovalsError: a rule of the task is none.
        """
        limits = (parse_rules(task.only, task.denied, "the limits of the agent"),) if task.only or task.denied else ()
        tools = None if task.tools is None else frozenset(filter(self.permits, task.tools))
        return _Held(self.tools if tools is None else tools, (*self.limits, *limits))

    def permits(self, tool: str) -> bool:
        """Whether it may have a tool."""
        return self.tools is None or tool in self.tools


class _Refusing:
    """Answers for the person, with no: what would need a question is not done.

    Where nobody could be asked, less would need one. In the mode `step` the person is asked: otherwise it could do
    nothing at all.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    @property
    def can_ask(self) -> bool:
        return self._asker.can_ask

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        if not self.can_ask or (isinstance(question, Approval) and question.stepping):
            return await self._asker.ask(question)
        refusal: object = Deny(_UNASKED) if isinstance(question, Approval) else Dismissed()
        return cast("AnswerT | Dismissed", refusal)  # the answer of an Approval is one of several, also a Deny


class AgentRuns:
    """Runs agents for the tool calls of a conversation, or of an agent in it (`kaa.ext.agents.AgentRunner`).

    Args:
        workspace: that of the calls; agents get this one or a narrower one.
        emit: gets the events of agents, each with the agent's id.
        caller: the agent whose calls these are; None for the conversation's own.
    """

    def __init__(
        self,
        origin: AgentOrigin,
        workspace: Workspace,
        ledger: Callable[[Budget | None], Ledger],
        emit: Callable[[Event], None],
        depth: int = 0,
        caller: str | None = None,
        control: AgentRoster | None = None,
        held: _Held = _Held(),  # noqa: B008 - it cannot change
    ) -> None:
        self._origin = origin
        self._workspace = workspace
        self._ledger = ledger
        self._emit = emit
        self._depth = depth
        self._caller = caller
        self._held = held
        self.control = control or AgentRoster(origin.spec.store, origin.spec.recorder, workspace.root)
        self._callers: dict[str, _Guard] = {}

    async def run(self, task: AgentTask) -> AgentResult:
        if not task.name.strip() or not task.name.isprintable() or len(task.name) > _MAX_NAME_CHARACTERS:
            raise AgentError(
                f"The agent was not run: {task.name[:_MAX_NAME_CHARACTERS]!a} is no name for it. Use one line of at"
                f" most {_MAX_NAME_CHARACTERS} printable characters."
            )
        self._check_depth("The agent", "A hook that runs an agent is called for the agent's calls, too.")
        agent_id = task.resume or f"{task.name}-{secrets.token_hex(3)}"
        if task.isolated:
            return await self._run_isolated(task, agent_id)
        if task.writable is None and task.hosts is None:
            return await self._run(task, agent_id, self._workspace)
        try:
            workspace = self._workspace.narrowed(writable=task.writable, hosts=task.hosts)
        except (WiderError, OSError) as error:
            raise AgentError(f"The agent was not run: {error}") from error
        try:
            return await self._run(task, agent_id, workspace)
        finally:
            await workspace.close()

    async def _run_isolated(self, task: AgentTask, agent_id: str) -> AgentResult:
        from kaa.shell.worktrees.isolation import isolated  # lazy: few agents work in worktrees
        from kaa.shell.worktrees.registry import name_for_agent

        if task.writable is not None or task.hosts is not None:
            raise AgentError("The agent was not run: an agent with its own limits cannot work in a worktree.")
        origin = self._origin
        place = isolated(name_for_agent(agent_id), self._workspace, origin.home, origin.environ, origin.notify)
        failure: AgentError | None = None
        async with place as at:
            try:
                result = await self._run(task, agent_id, at.workspace)
            except AgentError as error:
                if error.result is None:
                    raise
                failure, result = error, error.result
        result = msgspec.structs.replace(result, worktree=at.worktree, unmerged=at.unmerged)
        if failure is not None:
            raise AgentError(str(failure), result) from failure
        return result

    @asynccontextmanager
    async def in_worktree(self, name: str) -> AsyncIterator[tuple[Workspace, "AgentRuns"]]:
        from kaa.shell.worktrees.isolation import isolated  # lazy, as above

        origin = self._origin
        async with isolated(name, self._workspace, origin.home, origin.environ, origin.notify) as place:
            yield place.workspace, self._like(workspace=place.workspace)

    def pooled(self, budget: Budget) -> "AgentRuns":
        ledger = self._ledger(budget)
        ledger.start_clock()
        return self._like(ledger=ledger.child)

    async def call(self, task: ToolTask) -> ToolResult:
        self._check_depth(task.name, "A tool or hook that calls a tool is called for that call, too.")
        author = f"{EXTENSION_CALLER}{task.extension}" if task.extension else OWN_CALLER
        call = ToolCall(secrets.token_hex(8), task.name, task.arguments)
        if (guard := self._callers.get(author)) is None:  # kept, with the answers that hold for the session
            at = (self._origin, self._workspace, self._ledger, self._emit, self._depth + 1, self._caller, self.control)
            runner = AgentRuns(*at, self._held)
            guard = self._callers[author] = self._guard(author, self._workspace, runner, self._origin.asker)
        if self._workspace.is_narrowed and guard.registry.risk_of(task.name) in _OWN_RIGHTS:
            raise AgentError(f"{task.name} was not run: the limits of this agent do not hold for it.")
        tool = guard.registry.bound(task.name)
        tools = {} if tool is None else {task.name: tool}
        hooks = self._hooks(guard, call.id)

        def emit(event: Event) -> None:
            if task.update is not None and isinstance(event, ToolExecutionUpdate):
                task.update(event.delta, event.skipped_bytes)
            self._pass_on(event, author)

        executor = ToolExecutor(tools, hooks, emit, max_parallel=1)
        try:
            [message] = await executor.run([call])
        finally:
            self._origin.checkpoints.agent_ended(call.id)
        return ToolResult(message.content, message.details, message.is_error, tuple(executor.denials))

    def _like(
        self, *, workspace: Workspace | None = None, ledger: Callable[[Budget | None], Ledger] | None = None
    ) -> "AgentRuns":
        """The same with another workspace, or another purse."""
        at = (workspace or self._workspace, ledger or self._ledger)
        return AgentRuns(self._origin, *at, self._emit, self._depth, self._caller, self.control, self._held)

    def _check_depth(self, what: str, why: str) -> None:
        if self._depth >= _MOST_NESTED:
            raise AgentError(
                f"{what} was not run: it would be the {_MOST_NESTED + 1}th agent or call within another one, and the"
                f" limit is {_MOST_NESTED}. {why}"
            )

    async def _run(self, task: AgentTask, agent_id: str, workspace: Workspace) -> AgentResult:
        try:
            store = self.control.open_session(agent_id, resume=task.resume is not None)
        except SessionError as error:
            raise AgentError(f"The agent was not run: {error}") from error
        try:
            ledger = self._ledger(task.budget)
            agent = await self._build(task, agent_id, workspace, ledger, store)
            with self.control.at_work(
                agent_id,
                store,
                agent,
                ledger,
                task=task.prompt,
                call=task.call_id,
                parent=self._caller,
                reports=task.reports,
            ):
                return await self._work(task, agent_id, agent, ledger)
        finally:
            try:
                await store.close()
            except SessionError as error:
                self._origin.notify(str(error))

    async def _work(self, task: AgentTask, agent_id: str, agent: Agent, ledger: Ledger) -> AgentResult:
        agent.set_allowance(ledger)
        agent.subscribe(lambda event: self._pass_on(event, agent_id))
        if (update := task.update) is not None:

            def show(event: Event) -> None:
                if isinstance(event, ToolExecutionStart):
                    update(f"{call_line(event)}\n")

            update(f"{agent_id}\n")  # also for whoever finds the call interrupted
            agent.subscribe(show)
        try:
            end = await agent.run(user_message(task.prompt, origin="agent"))
        finally:
            self._origin.checkpoints.agent_ended(agent_id)
        result = AgentResult(agent_id, _last_reply(end), ledger.used, end.reason, _changed(end))
        # Without questions, what was refused is nothing that the person has to know of: the report says it.
        if end.reason != "done" and (task.asks or end.reason != "denied"):
            raise AgentError(f"The agent {agent_id} ended early ({end.reason}): {end.error or end.reason}", result)
        return result

    async def _build(
        self, task: AgentTask, agent_id: str, workspace: Workspace, ledger: Ledger, store: SessionStore
    ) -> Agent:
        origin = self._origin
        try:
            held = self._held.within(task)
        except ApprovalsError as error:
            raise AgentError(f"The agent was not run: {error}") from error
        runner = AgentRuns(origin, workspace, ledger.child, self._emit, self._depth + 1, agent_id, self.control, held)
        guard = self._guard(agent_id, workspace, runner, origin.asker if task.asks else _Refusing(origin.asker))
        spec = await self._spec(task, guard.registry, store)
        nested = nested_instructions(spec, workspace, lambda: agent.messages, origin.notify)
        hooks = self._hooks(guard, agent_id, nested)
        built = build_agent(spec, hooks, notify=origin.notify, asker=guard.registry.context.asker)
        agent, recorder, link = built.agent, spec.recorder, spec.models.link
        summarizer = Summarizer(agent, link, built.models, store, origin.settings)
        Compacting(
            agent, store, recorder, summarizer, guard.registry, lambda: origin.settings().compaction, origin.notify
        )
        return agent

    def _guard(self, author: str, workspace: Workspace, runner: "AgentRuns", asker: Asker) -> _Guard:
        """Extensions and approvals for calls that are not the conversation's own."""
        origin = self._origin
        attributing = AttributingAsker(asker, agent=None if author == OWN_CALLER else author)
        registry = origin.registry.of_agent(workspace, attributing, lambda: runner, author)
        gate = create_gatekeeper(
            origin.gate.choice,
            origin.gate.chosen,
            registry.tool,
            workspace=workspace,
            containment=contain(workspace),
            home=origin.home,
            asker=registry.context.asker,
            abort=origin.built.agent.abort,
            keeps=origin.checkpoints.keeps,
            notify=origin.notify,
        )
        gate.owner = AttributingAsker(origin.asker, agent=None if author == OWN_CALLER else author)
        if runner._held.limits:
            gate.load().limit(runner._held.limits)
        return _Guard(registry, gate)

    def _hooks(self, guard: _Guard, owner: str, *nested: AfterTool) -> FixedHooks:
        """What stands around the calls of an agent.

        Args:
            owner: the agent's id, or that of the only call.
        """
        origin, (registry, gate) = self._origin, guard
        limit = limiting(registry.context.workspace)
        works_in_project = is_below(registry.context.workspace.root, [origin.registry.context.workspace.root])

        async def judge(call: ToolCall) -> Block | Permit | None:
            gate.follow(origin.gate)  # mode and rules may change while the agent runs
            return await gate.before(call)

        async def before_change(call: ToolCall) -> None:
            if works_in_project and registry.risk_of(call.name) != "read":
                await origin.checkpoints.before_change(call_id=_change_id(owner, call.id), owner=owner)

        return FixedHooks(
            before=(*registry.run.before, judge, before_change),
            after=(gate.after, limit, *registry.run.after, limit, *nested),
            before_request=tuple(registry.run.before_request),
        )

    async def _spec(self, task: AgentTask, registry: Registry, store: SessionStore) -> AgentSpec:
        """That of the conversation's agent, with a session, a prompt, tools and a model of its own."""
        origin = self._origin
        try:
            names = [one for one in (self._tools() if task.tools is None else task.tools) if self._held.permits(one)]
            if task.tools and not names:
                raise AgentError("The agent was not run: the one that called for it has none of its tools.")
            tools = registry.select_tools(names)
            link = await self._link(task.model, task.thinking)
        except (RegistrationError, NoModelError, CredentialError, CommandError) as error:
            raise AgentError(f"The agent was not run: {error}") from error
        prompt = origin.spec.tools.prompt
        cwd = registry.context.workspace.root
        prompt = msgspec.structs.replace(prompt, custom=task.system_prompt or prompt.custom, cwd=cwd)
        context = build_context(store)
        return msgspec.structs.replace(
            origin.spec,
            models=msgspec.structs.replace(origin.spec.models, link=link),
            tools=ActiveTools(registry, lambda: tools, prompt),
            store=store,
            recorder=SessionRecorder(store, context),
            messages=context.messages,
            run_budget=Budget(),
            session_budget=Budget(),
        )

    def _tools(self) -> tuple[str, ...]:
        """The conversation's active tools that work through the workspace: its limits hold for no others."""
        origin = self._origin
        return tuple(name for name in origin.built.agent.tool_names if origin.registry.risk_of(name) not in _OWN_RIGHTS)

    async def _link(self, model: str | Sequence[str] | None, thinking: ThinkingLevel | None) -> ModelLink:
        models, link = self._origin.built.models, self._origin.spec.models.link
        resolved = await models.another(model) if isinstance(model, str) else None
        for one in model if resolved is None and model is not None else ():
            with suppress(NoModelError, CredentialError, CommandError):
                resolved = await models.another(one)
                break
        if resolved is None:
            current = models.current
            resolved = msgspec.structs.replace(models.in_force, model=current.model, thinking=current.thinking)
        if thinking is not None:
            level = nearest_level(thinking, resolved.model, resolved.endpoint.thinking_levels)
            resolved = msgspec.structs.replace(resolved, thinking=level)
        return ModelLink(resolved, link.transport, fixed=link.fixed)

    def _pass_on(self, event: Event, agent_id: str) -> None:
        """Note what a reply used, and tell of the event."""
        match event:
            case MessageEnd(message=AssistantMessage() as reply):
                usage = RequestUsage(
                    kind=_USAGE_KIND, provider=reply.provider, model=reply.model, usage=reply.usage, agent=agent_id
                )
                self._origin.spec.recorder.note(usage)
            case ToolExecutionEnd(tool_call_id=call_id):
                self._origin.checkpoints.call_ended(_change_id(agent_id, call_id))
            case _:
                pass
        self._emit(msgspec.structs.replace(event, agent=agent_id))


def _change_id(owner: str, call_id: str) -> str:
    """The id of an agent's call for the checkpoints: two agents may call with the same id."""
    return f"{owner} {call_id}"


def _changed(end: AgentEnd) -> tuple[str, ...]:
    """The files that calls of file tools changed."""
    failed = {one.tool_call_id for one in end.messages if isinstance(one, ToolResultMessage) and one.is_error}
    calls = (
        call
        for one in end.messages
        if isinstance(one, AssistantMessage)
        for call in one.tool_calls
        if call.id not in failed
    )
    return tuple(dict.fromkeys(path for call in calls for path in changed_paths(call.name, call.arguments)))


def _last_reply(end: AgentEnd) -> str:
    return next((message.text for message in reversed(end.messages) if isinstance(message, AssistantMessage)), "")
