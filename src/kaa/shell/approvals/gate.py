"""Stands between the model and every tool: lets a call run, asks somebody, or says no.

The hook before judges a call and, where that leaves a doubt, asks. The hook after sees what the sandbox blocked and
asks whether to lift it. The gate must be the last hook before tools, so that what was approved is what runs, and the
first after them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol, TypeAlias

import msgspec

from kaa.core.hooks import Block, Refuse, RunAgain
from kaa.core.messages import Json, ToolCall
from kaa.core.tool import Permit, ToolResult
from kaa.ext.api import Risk
from kaa.shell.approvals import wording
from kaa.shell.approvals.calls import Call, Confines, examine
from kaa.shell.approvals.coverage import Permission, judged_parts, permission
from kaa.shell.approvals.judgement import Allowed, Denied, Doubtful, judge
from kaa.shell.approvals.memory import Memory
from kaa.shell.approvals.requests import (
    Abort,
    AllowAlways,
    AllowForSession,
    AllowOnce,
    Answer,
    ApprovalRequest,
    Approver,
    Deny,
    Lift,
)
from kaa.shell.approvals.rule_file import ApprovalsError
from kaa.shell.approvals.rules import Rule, RuleError, parse_rule
from kaa.shell.approvals.suggestions import suggestion
from kaa.shell.settings import ApprovalPolicy
from kaa.workspace.blocked import Blocked

# Reading a command of this length takes a few milliseconds, and up to 200 if it was made for that.
_LONG_CHARACTERS = 1024

ChangedFiles: TypeAlias = Callable[[], Awaitable[Sequence[str] | None]]


class Sandbox(Confines, Protocol):
    """What a yes can change. Only the gate calls these, and only for an answer of the user's or a rule of theirs."""

    async def settle(self) -> None:
        """Wait until it is certain whether the kernel confines what runs.

        Raises:
            OSError: it cannot be found out.
        """
        ...

    async def allow_git_writes(self) -> None:
        """Let `.git` be written for the rest of the session.

        Raises:
            OSError: the sandbox cannot be changed.
        """
        ...

    def allow_host(self, host: str) -> None:
        """Let a host be reached for the rest of the session."""
        ...

    def unconfined(self) -> object:
        """The means to run one call outside the sandbox: what a tool gets as its permit's grant."""
        ...


class Gate:
    """The hooks, and the questions they ask.

    Args:
        policy: who is asked before what; may be changed at any time.
        memory: rules and answers.
        risks: of all tools, by name; a tool that is missing may do anything.
        sandbox: what confines calls.
        approver: who can be asked; None in headless runs and for sub-agents. May be changed at any time.
        abort: stops the run.
        changed_files: files with changes that are not committed, None if that is not known.
    """

    def __init__(
        self,
        *,
        policy: ApprovalPolicy,
        memory: Memory,
        risks: Mapping[str, Risk],
        sandbox: Sandbox,
        approver: Approver | None,
        abort: Callable[[], None],
        changed_files: ChangedFiles | None = None,
    ) -> None:
        self.policy: ApprovalPolicy = policy
        self.approver = approver
        self._memory = memory
        self._risks = risks
        self._sandbox = sandbox
        self._abort = abort
        self._changed_files = changed_files
        self._questions = _Questions()
        self._lifted: set[Lift] = set()
        self._lifted_when_started: dict[str, frozenset[Lift]] = {}

    async def before(self, call: ToolCall) -> Block | Permit | None:
        """Judge a call; the hook before tools."""
        risk = self._risks.get(call.name, "outside")
        try:
            if risk in ("write", "command"):
                await self._sandbox.settle()
        except OSError as error:
            return Block(f"{call.name} was not run: {error}")
        examined = await self._examine(call)
        verdict = self._judge(examined)
        if isinstance(verdict, Doubtful):
            verdict = await self._resolve(examined)
        if isinstance(verdict, Denied):
            return Block(verdict.reason, denied=True, advice=wording.ADVICE)
        self._lifted_when_started[call.id] = frozenset(self._lifted)
        return self._permit() if verdict.outside and risk != "outside" else None

    async def after(self, call: ToolCall, result: ToolResult) -> RunAgain | Refuse | None:
        """Offer to lift what blocked a call; the hook after tools."""
        blocked = blocked_in(result.details)
        had = self._lifted_when_started.pop(call.id, frozenset())
        if not blocked:
            return None
        lifts = _lifts(blocked)
        if had.issuperset(lifts):  # it was lifted already, and that was not all
            lifts = (Lift("outside"),)
        examined = await self._examine(call)
        async with self._questions.turn() as is_stopped:
            if is_stopped:
                return Refuse(wording.stopped())
            missing = tuple(lift for lift in lifts if lift not in self._lifted)
            verdict = await self._ask_to_lift(examined, blocked, missing) if missing else Allowed()
            if isinstance(verdict, Denied):
                return Refuse(verdict.reason, wording.ADVICE)
            try:
                permit = await self._lift(missing)
            except OSError as error:
                return Refuse(f"This was allowed, but the sandbox cannot be changed: {error}")
        self._lifted_when_started[call.id] = frozenset(self._lifted)
        return RunAgain(permit)

    @property
    def _can_ask(self) -> bool:
        return self.approver is not None and self.policy != "never"

    def _permit(self) -> Permit | None:
        return None if self._sandbox.mode == "full-access" else Permit(self._sandbox.unconfined())

    async def _examine(self, call: ToolCall) -> Call:
        risk = self._risks.get(call.name, "outside")
        if len(str(call.arguments.get("command", ""))) < _LONG_CHARACTERS:
            return examine(call, risk, self._sandbox)
        return await asyncio.to_thread(examine, call, risk, self._sandbox)

    def _judge(self, call: Call, changed: Sequence[str] | None = None) -> Allowed | Denied | Doubtful:
        # Without anybody to ask, what `ask` would ask is what `auto` would: the sandbox holds it.
        policy = "never" if self.approver is None and self.policy != "step" else self.policy
        verdict = judge(
            call,
            policy,
            self._memory.rules,
            self._sandbox.root,
            changed=changed,
            answered=self._memory.answer_to(call),
        )
        return Denied(wording.forbidden(call, verdict.reason)) if isinstance(verdict, Denied) else verdict

    async def _resolve(self, call: Call) -> Allowed | Denied:
        """End the doubt about a call: by what git knows, by what was answered meanwhile, or by asking."""
        async with self._questions.turn() as is_stopped:
            if is_stopped:
                return Denied(wording.stopped())
            changed = await self._changed(call)
            verdict = self._judge(call, changed)
            if not isinstance(verdict, Doubtful):
                return verdict
            if not self._can_ask:
                return Denied(wording.unanswerable(call, verdict))
            question = ApprovalRequest(
                call_id=call.id,
                tool=call.tool,
                risk=call.risk,
                title=call.title,
                arguments=call.arguments,
                parts=verdict.parts,
                reasons=verdict.reasons,
                warning=verdict.warning,
                lifts=(Lift("outside"),) if call.outside and call.risk != "outside" else (),
                suggestion=verdict.suggestion,
            )
            return await self._ask(call, question, rules_count=verdict.rules_count)

    async def _ask_to_lift(self, call: Call, blocked: Sequence[Blocked], lifts: tuple[Lift, ...]) -> Allowed | Denied:
        outside = Lift("outside") in lifts
        rules = self._memory.rules.allow
        offered = suggestion(call, rules, self._sandbox.root, outside=True) if outside else None
        if not self._can_ask:
            return Denied(wording.not_lifted(blocked, lifts, offered))
        question = ApprovalRequest(
            call_id=call.id,
            tool=call.tool,
            risk=call.risk,
            title=call.title,
            arguments=call.arguments,
            parts=judged_parts(call, rules),
            reasons=tuple(one.text for one in blocked),
            warning="; ".join(loss.sentence for loss in call.losses) or None,
            lifts=lifts,
            was_run=True,
            suggestion=offered,
        )
        return await self._ask(call, question, rules_count=outside)

    async def _ask(self, call: Call, question: ApprovalRequest, *, rules_count: bool) -> Allowed | Denied:
        """Ask until there is an answer that can be taken."""
        outside = Lift("outside") in question.lifts
        while self.approver is not None:
            answer = await self.approver.ask(question)
            try:
                return await self._take(answer, call, outside=outside, rules_count=rules_count)
            except (RuleError, ApprovalsError) as error:
                question = msgspec.structs.replace(question, problem=str(error))
        return Denied(wording.refused("nobody is there any more to be asked"))

    async def _take(self, answer: Answer, call: Call, *, outside: bool, rules_count: bool) -> Allowed | Denied:
        match answer:
            case AllowOnce():
                pass
            case AllowForSession(rules=None):
                if rules_count:
                    self._memory.allow_call(call, Permission(outside))
            case AllowForSession(rules=str(text)):
                self._memory.allow_for_session(self._rules(text, call, outside=outside, rules_count=rules_count))
            case AllowAlways(rules=text):
                rules = self._rules(text, call, outside=outside, rules_count=rules_count)
                await asyncio.to_thread(self._memory.allow_always, rules)  # another kaa may hold the lock
            case Deny(reason=reason):
                return Denied(wording.refused(reason))
            case Abort():
                self._questions.stop()
                self._abort()
                await asyncio.sleep(0)  # where the run's cancellation arrives
                return Denied(wording.stopped())
        return Allowed(outside)

    def _rules(self, text: str, call: Call, *, outside: bool, rules_count: bool) -> list[Rule]:
        """The rules a user answered with.

        Raises:
            RuleError: one is none, or together with the others in force they would not have allowed the call.
        """
        if not rules_count:
            raise RuleError("no rule can allow this: allow it once, or deny it")
        rules = [parse_rule(line) for line in text.splitlines() if line.strip()]
        granted = permission(call, [*self._memory.rules.allow, *rules], self._sandbox.root)
        if granted is None or (outside and not granted.outside):
            needed = ", which has to leave the sandbox: 'outside' must stand before each rule" if outside else ""
            raise RuleError(f"{text.strip()!r} does not allow this call{needed}")
        return rules

    async def _lift(self, lifts: Sequence[Lift]) -> Permit | None:
        permit = None
        for lift in lifts:
            match lift.kind:
                case "outside":
                    permit = self._permit()
                    continue
                case "git":
                    await self._sandbox.allow_git_writes()
                case "network":
                    self._sandbox.allow_host(lift.what)
            self._lifted.add(lift)
        return permit

    async def _changed(self, call: Call) -> Sequence[str] | None:
        matters = any(loss.changes is not None for loss in call.losses) and not call.works_elsewhere
        return await self._changed_files() if matters and self._changed_files else None


class _Questions:
    """One question at a time, in the order of the calls; after a stop, those that wait are not asked any more."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._stops = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[bool]:
        """Wait for one's turn. Gives whether the run was stopped meanwhile."""
        stops = self._stops
        async with self._lock:
            yield self._stops != stops

    def stop(self) -> None:
        """Ask nothing of what waits."""
        self._stops += 1


class _BlockedDetails(msgspec.Struct, frozen=True):
    blocked: tuple[Blocked, ...] = ()


def blocked_in(details: Json) -> tuple[Blocked, ...]:
    """What the sandbox stopped, as the tools' details say it."""
    try:
        return msgspec.convert(details, _BlockedDetails).blocked
    except msgspec.ValidationError:  # details of an extension's tool may be anything
        return ()


def _lifts(blocked: Sequence[Blocked]) -> tuple[Lift, ...]:
    """The least that lets all of it through: what can be lifted by itself, or the whole sandbox for this call."""
    lifts = []
    for one in blocked:
        match one.kind:
            case "git":
                lifts.append(Lift("git"))
            case "network" if one.what:
                lifts.append(Lift("network", one.what))
            case _:
                return (Lift("outside"),)
    return tuple(dict.fromkeys(lifts))
