"""Stands between the model and every tool: lets a call run, asks somebody, or says no.

The hook before judges a call and, where that leaves a doubt, asks. The hook after sees what the sandbox blocked and
asks whether to lift it. The gate must be the last hook before tools, so that what was approved is what runs, and the
first after them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from kaa.builtin.tools import REQUEST_TOOL
from kaa.core.hooks import Block, Refuse, RunAgain
from kaa.core.messages import Json, TextContent, ToolCall
from kaa.core.tool import Permit, ToolResult
from kaa.ext.api import Risk
from kaa.ext.asking import Asker
from kaa.ext.context import WorkspacePermit
from kaa.ext.escalations import OUTSIDE, WHOLE_NETWORK, Escalation
from kaa.ext.tools import RegisteredTool
from kaa.shell.approvals import wording
from kaa.shell.approvals.blocks import blocked_in, escalations_for, is_dispensable, remove_limit
from kaa.shell.approvals.calls import JudgedCall, examine
from kaa.shell.approvals.coverage import Permission, beyond, forbidden, judged_parts
from kaa.shell.approvals.foresight import Need
from kaa.shell.approvals.hosts import HostJudge, QuestionTurns
from kaa.shell.approvals.installing import place_of_installed
from kaa.shell.approvals.judgement import Allowed, Denied, Doubtful, judge, suggested
from kaa.shell.approvals.memory import Memory
from kaa.shell.approvals.outside import Outside
from kaa.shell.approvals.rule_file import ApprovalRules, ApprovalsError
from kaa.shell.approvals.rules import Rule, RuleError, RuleMatch
from kaa.shell.approvals.sparing import Sparing
from kaa.shell.approvals.targets import find_target, redirected
from kaa.shell.boundary import SandboxControl
from kaa.shell.settings import ApprovalPolicy, SettingsError
from kaa.workspace.blocked import Blocked, sentences
from kaa.workspace.permitted import Target

if TYPE_CHECKING:
    from kaa.ext.questions import Approval, ApprovalAnswer, Dismissed
    from kaa.shell.approvals.moved_file_questions import MovedFileQuestions
    from kaa.shell.approvals.set_aside import FileAnswers, Outcome
    from kaa.workspace.git_held import HeldFiles

# Reading a command of this length takes a few milliseconds, and up to 200 if it was made for that.
_LONG_CHARACTERS = 1024

Preview: TypeAlias = Callable[[str, dict[str, Json]], Awaitable[str]]


class Gate:
    """The hooks, and the questions they ask.

    Args:
        policy: gives who is asked before what, at the moment.
        choose: sets it, for an answer.
        memory: rules and answers.
        tool_of: the registered tool of a name, at the moment; one that is not registered may do anything.
        sandbox: what confines calls.
        asker: asks the person. May be changed at any time.
        abort: stops the run.
        sparing: says which losses need a question.
        notify: told once what runs without a question because it can be undone, and what became of the person's files.
        preview: the change that a tool would make to a file with some arguments, as a diff; empty if it is not known.

    Attributes:
        plans: whether kaa plans: then nobody is told how something could be permitted.
    """

    def __init__(
        self,
        *,
        policy: Callable[[], ApprovalPolicy],
        choose: Callable[[ApprovalPolicy], object],
        memory: Memory,
        tool_of: Callable[[str], RegisteredTool | None],
        sandbox: SandboxControl,
        asker: Asker,
        abort: Callable[[], None],
        sparing: Sparing,
        notify: Callable[[str], None],
        preview: Preview | None = None,
    ) -> None:
        self._policy = policy
        self._choose = choose
        self.asker = asker
        self.plans: Callable[[], bool] = lambda: False
        self._memory = memory
        self._tool_of = tool_of
        self._sandbox = sandbox
        self._outside = Outside(sandbox)
        self._abort = abort
        self._sparing = sparing
        self._notify = notify
        self._granted = ApprovalRules()  # for the run that is under way
        self._limits: Sequence[ApprovalRules] = ()  # what an agent is held to
        self._has_told = False
        self._preview = preview
        self._questions = QuestionTurns()
        self._hosts = HostJudge(memory, self._questions, lambda: self.asker if self._can_ask else None, abort)
        self._escalated: set[Escalation] = set()
        self._owner: Asker | None = None
        self._file_answers: Callable[[], FileAnswers] | None = None
        self._made_moved_files: MovedFileQuestions | None = None
        self._requested: dict[str, str] = {}  # commands to ask about when they are called, with the model's reasons
        self._escalated_when_started: dict[str, frozenset[Escalation]] = {}

    def reload(self, configured: ApprovalRules) -> None:
        """Judge by other rules of the settings from the next call on. See `Memory.reload`."""
        self._memory.reload(configured)

    def limit(self, limits: Sequence[ApprovalRules]) -> None:
        """Refuse what deny rules of any forbid, and of the tools that allow rules of one are about all other calls."""
        self._limits = limits

    def ask_about_files(self, owner: Asker | None, answers: "Callable[[], FileAnswers]") -> None:
        """Ask somebody else about files that were moved away, which may be the person's own.

        Args:
            owner: asks the person, also where the asker of calls refuses for them; None: that one asks.
            answers: gives those about such files.
        """
        self._owner, self._file_answers = owner, answers

    @contextmanager
    def granting(self, rules: Sequence[Rule]) -> Iterator[None]:
        """Let the calls that these rules allow need no question meanwhile, except for what destroys something."""
        self._granted = ApprovalRules(allow=tuple(rules))
        try:
            yield
        finally:
            self._granted = ApprovalRules()

    async def before(self, call: ToolCall) -> Block | Permit | None:
        """Judge a call; the hook before tools."""
        if call.name == REQUEST_TOOL:
            return await self._answer_request(call)
        risk = self._risk_of(call.name)
        try:
            if risk in ("write", "command", "fetch"):
                await self._sandbox.settle()
        except OSError as error:
            return Block(f"{call.name} was not run: {error}")
        examined = await self._examine(call)
        risk = examined.risk
        if self._sandbox.is_narrowed and risk != "outside" and examined.outside is not None:
            return Block(wording.narrowed(examined.outside), denied=True, advice=wording.ADVICE)
        for limits in self._limits:
            if (limit := beyond(examined, limits, self._sandbox.root)) is not None:
                return Block(wording.limited(examined, limit), denied=True, advice=wording.ADVICE)
        verdict = self._judge(examined)
        request = self._take_request(call) if risk == "command" else None
        if request is not None and not isinstance(verdict, Denied) and not _leaves(verdict):
            verdict = await self._ask_outside(examined, request)
        elif isinstance(verdict, Doubtful):
            verdict = await self._refused_if_held(examined) or await self._resolve(examined)
        if isinstance(verdict, Allowed) and not verdict.outside and risk == "command":
            verdict = await self._outside_if_held(examined, verdict)
        if isinstance(verdict, Denied):
            return Block(verdict.reason, denied=True, advice=wording.ADVICE)
        leaves = verdict.outside and risk != "outside" and not self._sandbox.is_narrowed
        permit = self._permit(examined, verdict) if leaves else None
        self._note_start(call, permit is not None)
        if permit is None and risk in ("command", "fetch"):
            return self._asking(examined, verdict)
        return permit

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult | RunAgain | Refuse | None:
        """Offer to lift what blocked a call; the hook after tools."""
        verdict = await self._after(call, result)
        if not isinstance(verdict, Refuse) or verdict.appended is not None:
            return verdict
        if not (blocked := sentences(blocked_in(result.details).blocked)):
            return verdict
        text = "".join(part.text for part in result.content if isinstance(part, TextContent))
        rest = verdict.reason.removeprefix(" ".join(blocked)).lstrip()
        return msgspec.structs.replace(verdict, appended=rest) if all(one in text for one in blocked) else verdict

    async def _after(self, call: ToolCall, result: ToolResult) -> ToolResult | RunAgain | Refuse | None:
        details = blocked_in(result.details)
        blocked = tuple(one for one in details.blocked if not is_dispensable(one))
        refusal = self._hosts.refusals.pop(call.id, None)
        had = self._escalated_when_started.pop(call.id, frozenset())
        if not blocked:
            return self._count_as_denied(details.blocked_earlier) or self._with_place(call, result, had)
        escalations = self._escalations_for(call.name, blocked)
        if self._sandbox.is_narrowed and (escalations or any(one.kind in ("network", "private") for one in blocked)):
            return Refuse(wording.narrowed("; ".join(sentences(blocked))), wording.ADVICE)
        if not escalations:
            if any(one.kept_as for one in blocked) and (ended := await self._moved_files.offer(call, result, blocked)):
                return ended
            return self._unliftable(blocked, refusal)
        if had.issuperset(escalations):  # it was lifted already, and that was not all
            escalations = (OUTSIDE,)
        if OUTSIDE in escalations and self._risk_of(call.name) == "fetch":  # what the network refuses stays refused
            return None
        had_permit = OUTSIDE in had
        examined = await self._examine(call, blocked, had_permit=had_permit)
        if examined.risk == "command":
            objection, escalations = self._offered(examined, blocked, escalations, had)
            if not escalations:
                refused = Refuse(wording.not_offered(examined.to_type, objection, blocked), wording.ADVICE)
                return wording.only_by_tool(blocked, can_ask=self._can_ask) or refused
        async with self._questions.turn() as is_stopped:
            if is_stopped:
                return Refuse(wording.stopped())
            missing = tuple(lift for lift in escalations if lift not in self._escalated)
            verdict = await self._ask_to_lift(examined, blocked, missing) if missing else Allowed()
            if isinstance(verdict, Denied):
                return Refuse(verdict.reason, wording.ADVICE)
            try:
                await self._lift_for_session(missing)
            except OSError as error:
                return Refuse(wording.unchangeable(error))
        permit = self._permit(examined, verdict) if OUTSIDE in missing else None
        self._note_start(call, had_permit or permit is not None)
        return RunAgain(permit)

    async def offer_found(self, found: Sequence[Blocked]) -> "Outcome | None":
        """Ask about files that the guard moved away beside all calls; None where nobody is asked."""
        return await self._moved_files.offer_found(found)

    @property
    def _moved_files(self) -> "MovedFileQuestions":
        if self._made_moved_files is None:
            # Lazy: few commands make such files.
            from kaa.shell.approvals.moved_file_questions import MovedFileQuestions

            self._made_moved_files = MovedFileQuestions(
                self._sandbox,
                owner=lambda: self._owner,
                asker=lambda: self.asker,
                policy=self._policy,
                ask=self._ask_to_write,
                forbids=self._forbids,
                notify=self._notify,
                answers=None if self._file_answers is None else self._file_answers(),
            )
        return self._made_moved_files

    async def _ask_to_write(self, call: JudgedCall, question: "Approval") -> Allowed | Denied:
        async with self._questions.turn() as is_stopped:
            if is_stopped:
                return Denied(wording.stopped())
            return await self._ask(call, question, rules_count=False, asker=self._owner)

    def _forbids(self, call: JudgedCall) -> str | None:
        """Why a rule, or the definition of an agent, forbids a call; None if none does."""
        for limits in self._limits:
            if (limit := beyond(call, limits, self._sandbox.root)) is not None:
                return wording.limited(call, limit)
        denial = forbidden(call, self._memory.rules.deny, self._sandbox.root)
        return None if denial is None else wording.still_forbidden(denial[1])

    def _unliftable(self, blocked: Sequence[Blocked], refusal: str | None) -> Refuse | None:
        """The end of a call that no permission would repair. `refusal`: the user's words, if they refused a host."""
        if refusal is not None:
            return Refuse(wording.refused(refusal), wording.ADVICE)
        if self._can_ask:
            return None
        reason = wording.not_lifted(blocked, (), None, remedy=self._remedy)
        if all(one.kept_as for one in blocked):  # perhaps the work of others: then the call did all that it should
            return Refuse(reason, wording.IF_MOVED, is_error=False)
        return Refuse(reason, wording.ADVICE)

    async def _answer_request(self, call: ToolCall) -> Block | None:
        from kaa.shell.approvals.requests import answer_request  # lazy: many models ask for nothing

        verdict = await answer_request(
            call,
            self._sandbox,
            objection=self._outside.objection,
            ask=self._ask_for if self._can_ask else None,
            remedy=self._remedy,
            forbids=lambda judged: forbidden(judged, self._memory.rules.deny, self._sandbox.root),
        )
        if isinstance(verdict, Denied):
            return Block(verdict.reason, denied=True, advice=wording.ADVICE)
        if verdict.command:
            self._requested[verdict.command] = verdict.reason
        return None

    def _take_request(self, call: ToolCall) -> str | None:
        """The model's reason to run a command outside the sandbox, if it asked for that and the user can be asked."""
        reason = self._requested.pop(str(call.arguments.get("command", "")), None)
        is_held = self._sandbox.mode != "full-access" and not self._sandbox.is_narrowed
        return reason if is_held and self._can_ask else None

    async def _ask_outside(self, call: JudgedCall, reason: str) -> Allowed | Denied:
        """Ask about a command that the model wants to run outside: now, since files that it runs can change."""
        from kaa.shell.approvals.requests import question_outside  # lazy, as above

        if (objection := self._outside.objection(call)) is not None:
            return Denied(wording.not_offered(call.to_type, objection))
        async with self._questions.turn() as is_stopped:
            if is_stopped:
                return Denied(wording.stopped())
            return await self._ask(call, question_outside(call, reason), rules_count=False)

    async def _held(self, call: JudgedCall) -> "HeldFiles | None":
        """The protected files at which a command of git would stop half way; None if there are none."""
        if (
            "git" not in str(call.arguments.get("command"))
            or not self._outside.is_held_back
            or self._sandbox.is_narrowed
        ):
            return None
        from kaa.shell.approvals.checkouts import held_by  # lazy: few commands are of git

        return await held_by(call, self._sandbox.held_from, self._sandbox.held_of)

    async def _refused_if_held(self, call: JudgedCall) -> Denied | None:
        """Refuse a command of git that would stop half way where another one works, whatever a question would say."""
        held = await self._held(call) if call.risk == "command" and self._can_ask else None
        if held is None or not held.remedy:
            return None
        from kaa.shell.approvals.checkouts import explained  # lazy: few commands are held

        return Denied(wording.held(call.to_type, explained(held), None, held.remedy))

    async def _outside_if_held(self, call: JudgedCall, verdict: Allowed) -> Allowed | Denied:
        """Ask whether a command of git leaves the sandbox that would stop half way at protected files."""
        if (held := await self._held(call)) is None:
            return verdict
        from kaa.shell.approvals.checkouts import explained, meant_otherwise  # lazy: few commands are held

        call = await self._sparing.spare(call) if call.losses else call
        objection = held.objection or self._outside.objection(call)
        if objection is not None or held.remedy or not self._can_ask:
            can_be_alone = not held.objection
            said = wording.held(call.to_type, explained(held), objection, held.remedy, can_be_alone=can_be_alone)
            return Denied(said)
        from kaa.ext.questions import Approval  # lazy: few calls are asked about

        async with self._questions.turn() as is_stopped:
            if is_stopped:
                return Denied(wording.stopped())
            question = Approval(
                title=call.title,
                call_id=call.id,
                tool=call.tool,
                risk=call.risk,
                arguments=call.arguments,
                parts=judged_parts(call, ()),
                reasons=(explained(held),),
                warning="; ".join(wording.warnings(call, (OUTSIDE,), was_run=False)) or None,
                escalations=(OUTSIDE,),
                diff=held.diff,
            )
            answer = await self._ask(call, question, rules_count=False)
            if isinstance(answer, Denied):
                return answer
            if otherwise := meant_otherwise(held, await self._held(call)):  # a command in the background did that
                return Denied(wording.held_otherwise(otherwise))
        return msgspec.structs.replace(answer, files=held.contents)

    def _escalations_for(self, tool: str, blocked: Sequence[Blocked], *, shows: bool = False) -> tuple[Escalation, ...]:
        """The least that lets a call through; see `escalations_for`."""
        objection = self._sandbox.objection if self._may_add(tool) else None
        return escalations_for(blocked, objection, root=self._sandbox.root, shows=shows)

    def _offered(
        self,
        call: JudgedCall,
        blocked: Sequence[Blocked],
        escalations: tuple[Escalation, ...],
        had: frozenset[Escalation],
    ) -> tuple[str, tuple[Escalation, ...]]:
        """What of the permissions that a blocked command needs is offered, and why not all; none if nothing helps.

        Args:
            call: the command.
            blocked: what stopped it.
            escalations: the least that lets all of it through.
            had: what was permitted when it ran.
        """
        from kaa.shell.approvals.leaving import harm_at  # lazy: few calls are blocked

        if not self._outside.is_held_back:
            return "", escalations
        harm = self._outside.loss(call) or harm_at(call, blocked)
        if harm is not None and any(one.kind in ("outside", "directory") for one in escalations):
            return harm, ()
        if OUTSIDE not in escalations or not self._can_ask:  # else it is for the user to add a rule
            return "", escalations
        objection = self._outside.objection(call, blocked)
        if objection is None:
            return "", escalations
        narrower = self._escalations_for(call.tool, blocked, shows=True)
        return objection, () if OUTSIDE in narrower or had.issuperset(narrower) else narrower

    async def _ask_for(self, call: JudgedCall, question: "Approval") -> Denied | None:
        """Ask for permissions that no rule gives, and lift what the question says."""
        async with self._questions.turn() as is_stopped:
            if is_stopped:
                return Denied(wording.stopped())
            verdict = await self._ask(call, question, rules_count=False)
            if isinstance(verdict, Denied):
                return verdict
            try:
                await self._lift_for_session(question.escalations)
            except OSError as error:
                return Denied(wording.unchangeable(error))
        return None

    def _count_as_denied(self, blocked_earlier: Sequence[Blocked]) -> Refuse | None:
        """A run that cannot ask is no success either when something was blocked in the background."""
        if self._can_ask or not blocked_earlier:
            return None
        return Refuse(wording.blocked_earlier(blocked_earlier, remedy=self._remedy), wording.ADVICE)

    def _with_place(self, call: ToolCall, result: ToolResult, had: frozenset[Escalation]) -> ToolResult | None:
        """The result with where a command put programs that it installed for the user; None if it did not."""
        is_confined = self._sandbox.confined and self._sandbox.mode != "full-access" and OUTSIDE not in had
        if result.is_error or not is_confined or self._risk_of(call.name) != "command":
            return None
        place = place_of_installed(call.arguments.get("command"))
        return msgspec.structs.replace(result, content=(*result.content, TextContent(place))) if place else None

    @property
    def _remedy(self) -> str:
        """What is said of read-only mode, instead of ways out of the sandbox; empty where only a flag ends it."""
        if self._sandbox.mode != "read-only":
            return ""
        return wording.PLANS if self.plans() else wording.READ_ONLY if self.asker.can_ask else ""

    @property
    def _can_ask(self) -> bool:
        return self.asker.can_ask and self._policy() != "never"

    def _permit(self, call: JudgedCall, verdict: Allowed) -> Permit | None:
        """What lets a call out of the sandbox: a command to everything, a file tool to where its path leads."""
        if self._sandbox.mode == "full-access":
            return None
        if call.risk == "command":
            # What git brings is not in the words that a rule or an earlier answer allows.
            uses_git = call.reach is not None and call.reach.uses_git
            place = self._outside.links(call), self._outside.start(call)
            if not (verdict.asked or uses_git):
                return WorkspacePermit(self._sandbox.unattended(*place))
            alone = partial(self._last_objection, call, verdict) if uses_git else None
            return WorkspacePermit(self._sandbox.watched(*place, verdict.files, alone=alone))
        target = None if call.risk == "fetch" else call.target or Target(".", self._sandbox.root)
        return WorkspacePermit(self._sandbox.unconfined(target))

    def _last_objection(self, call: JudgedCall, verdict: Allowed) -> str | None:
        """Why a command that was to leave the sandbox does not, as files have changed since."""
        if verdict.offered:
            # What it may lose was known when it was offered, and does not depend on files that change.
            objection = self._outside.objection(msgspec.structs.replace(call, losses=()))
        else:
            objection = None if verdict.asked else self._outside.exposed(call) or self._outside.runs_writable(call)
        return None if objection is None else wording.not_offered(call.to_type, objection)

    def _asking(self, call: JudgedCall, verdict: Allowed) -> Permit | None:
        """What lets the commands of a call ask about hosts, instead of being refused at once."""
        if self._sandbox.is_narrowed or not self._sandbox.confined:
            return None
        workspace = self._sandbox.asking(self._hosts.of_call(call), verdict.hosts)
        return None if workspace is None else WorkspacePermit(workspace)

    def _note_start(self, call: ToolCall, has_permit: bool) -> None:
        self._escalated_when_started[call.id] = frozenset((*self._escalated, *([OUTSIDE] if has_permit else [])))

    async def _examine(
        self, call: ToolCall, blocked: Sequence[Blocked] = (), *, had_permit: bool = False
    ) -> JudgedCall:
        """Find out what a call would do.

        Args:
            call: the call.
            blocked: what stopped it, if it was run.
            had_permit: whether it was run outside the sandbox.
        """
        risk = self._risk_of(call.name)
        if risk in ("read", "write"):
            matters = bool(blocked) or self._place_matters(call.name, risk)
            target = await find_target(call.arguments, self._sandbox, writes=risk == "write") if matters else None
            if target is not None and had_permit:
                target = redirected(target, blocked)
            return examine(call, risk, self._sandbox, target)
        tool = self._tool_of(call.name)
        server = None if tool is None else tool.server
        if len(str(call.arguments.get("command", ""))) < _LONG_CHARACTERS:
            examined = examine(call, risk, self._sandbox, server=server)
        else:
            examined = await asyncio.to_thread(examine, call, risk, self._sandbox, server=server)
        return examined if not examined.needs or blocked else await self._outside.without_unneeded(examined)

    def _risk_of(self, name: str) -> Risk:
        tool = self._tool_of(name)
        return "outside" if tool is None else tool.risk

    def _may_add(self, tool: str) -> bool:
        """Whether a directory is less than what else lets a call through: a file tool leaves only for its file."""
        return self._risk_of(tool) == "command" and self._sandbox.mode == "workspace-write"

    def _place_matters(self, tool: str, risk: Risk) -> bool:
        """Whether it has to be looked up where the path of a file tool leads.

        Not for reads that no rule, no answer and no policy has a say in: they run in the sandbox wherever it leads.
        """
        return risk == "write" or self._policy() == "step" or self._memory.concerns(tool, risk)

    def _judge(self, call: JudgedCall, policy: ApprovalPolicy | None = None) -> Allowed | Denied | Doubtful:
        # Without anybody to ask, what `ask` would ask is what `auto` would: the sandbox holds it.
        policy = policy or self._policy()
        if policy != "step" and not self.asker.can_ask:
            policy = "never"
        verdict = judge(
            call,
            policy,
            self._memory.rules if call.losses else self._memory.rules + self._granted,
            self._sandbox.root,
            answered=self._memory.answer_to(call),
            needs=self._unmet(call),
            exposed=self._outside.exposed,
            runs_writable=self._outside.runs_writable,
        )
        return Denied(wording.forbidden(call, verdict.reason)) if isinstance(verdict, Denied) else verdict

    def _unmet(self, call: JudgedCall) -> tuple[Need, ...]:
        """What a call will foreseeably need that is not permitted.

        Without anybody to ask, only what needs to leave the sandbox: it would fail there, and nothing would say why.
        Whether a host is needed the network finds out and reports, in every tier.
        """
        if self._sandbox.is_narrowed or call.outside is not None:
            return ()
        needs = call.needs
        if not self._can_ask:
            needs = tuple(need for need in needs if need.escalation == OUTSIDE)
        if not self._sandbox.tells_hosts_apart:
            needs = tuple(map(_of_whole_network, needs))
        unmet = tuple(need for need in needs if not self._is_met(need.escalation))
        connecting = [need for need in unmet if need.escalation.kind == "network"]
        together = self._hosts.together([need.escalation.what for need in connecting]) if connecting else ()
        used_with = (Need(Escalation("network", host), connecting[0].reason) for host in together)
        return tuple({need.escalation: need for need in (*used_with, *unmet)}.values())

    def _is_met(self, need: Escalation) -> bool:
        if self._sandbox.permits(need):
            return True
        return need.kind == "network" and self._hosts.knows(need.what)

    async def _resolve(self, call: JudgedCall) -> Allowed | Denied:
        """End the doubt about a call: by what can be restored, by what was answered meanwhile, or by asking."""
        async with self._questions.turn() as is_stopped:
            if is_stopped:
                return Denied(wording.stopped())
            if call.losses:
                call = await self._sparing.spare(call)
            verdict = self._judge(call)
            if not isinstance(verdict, Doubtful):
                self._tell_of_undo(call, verdict)
                return verdict
            if not self._can_ask:
                is_read_only = self._sandbox.mode == "read-only"
                return Denied(wording.unanswerable(call, verdict, remedy=self._remedy, read_only=is_read_only))
            if verdict.only_connects:
                return await self._ask_to_connect(call, verdict)
            foreseen = next((need.reason for need in verdict.needs if need.escalation == OUTSIDE), verdict.exposed)
            objection = self._outside.objection(call) if foreseen is not None and not verdict.is_ruled else None
            if foreseen is not None and objection is not None:
                is_alone = call.script is None or len(call.script.commands) < 2
                return Denied(
                    wording.not_offered(call.to_type, objection)
                    if is_alone
                    else wording.not_together(foreseen, objection)
                )
            from kaa.ext.questions import Approval  # lazy, as above

            leaves = (call.outside or verdict.exposed) and call.risk != "outside"
            escalations = (OUTSIDE,) if leaves else tuple(need.escalation for need in verdict.needs)
            rules_count = verdict.rules_count and not (OUTSIDE in escalations and self._outside.names_files(call))
            question = Approval(
                title=call.title,
                call_id=call.id,
                tool=call.tool,
                risk=call.risk,
                arguments=call.arguments,
                parts=verdict.parts,
                reasons=(*verdict.reasons, *wording.made_executable(call)),
                warning=verdict.warning,
                escalations=escalations,
                lasting=(lasts := any(one.kind not in ("outside", "network") for one in escalations)),
                suggestion=verdict.suggestion if rules_count and not lasts else None,
                auto=self._policy() in ("ask", "step")
                and call.is_held
                and isinstance(self._judge(call, "auto"), Allowed),
                stepping=self._policy() == "step",
                diff=await self._preview(call.tool, call.arguments) if self._preview and call.risk == "write" else "",
                loses_outside=bool(call.losses or call.restorable) and self._outside.loss(call) is not None,
                server=call.server,
            )
            if isinstance(answer := await self._ask(call, question, rules_count=rules_count), Denied):
                return answer
            once = tuple(one.what for one in escalations if one.kind == "network" and not answer.lasting)
            try:
                await self._lift_for_session([one for one in escalations if one.what not in once])
            except OSError as error:
                return Denied(wording.unchangeable(error))
            return msgspec.structs.replace(answer, hosts=once)

    async def _ask_to_connect(self, call: JudgedCall, doubt: Doubtful) -> Allowed | Denied:
        """Ask about nothing but the hosts that a call needs."""
        hosts = tuple(need.escalation.what for need in doubt.needs)
        match await self._hosts.ask(call, hosts, doubt.reasons):
            case "call":
                return Allowed(hosts=hosts)
            case "session":
                try:
                    await self._lift_for_session([need.escalation for need in doubt.needs])
                except OSError as error:
                    return Denied(wording.unchangeable(error))
                return Allowed()
            case "no":
                return Denied(wording.refused(self._hosts.refusals.pop(call.id, "")))

    def _tell_of_undo(self, call: JudgedCall, verdict: Allowed | Denied) -> None:
        if call.restorable and isinstance(verdict, Allowed) and not self._has_told:
            self._has_told = True
            self._notify(wording.restorable(call))

    async def _ask_to_lift(
        self, call: JudgedCall, blocked: Sequence[Blocked], escalations: tuple[Escalation, ...]
    ) -> Allowed | Denied:
        outside = OUTSIDE in escalations
        rules = self._memory.rules
        is_ruled = outside or not self._can_ask  # a rule is all that is left where nobody can be asked
        exposed = (self._outside.exposed(call) or self._outside.runs_writable(call)) if is_ruled else None
        # No rule and no answer for the session is offered for a program that commands can exchange afterwards.
        is_stable = exposed is None and not (self._can_ask and self._outside.names_files(call))
        offered = suggested(call, rules, self._sandbox.root, outside=True) if is_ruled and is_stable else None
        denial = forbidden(call, rules.deny, self._sandbox.root)
        if denial is not None and denial[0] is RuleMatch.YES:  # only now it is known where its path leads
            return Denied(wording.still_forbidden(denial[1]))
        if not self._can_ask:
            return Denied(wording.not_lifted(blocked, escalations, offered, remedy=self._remedy))
        from kaa.ext.questions import Approval  # lazy, as above

        question = Approval(
            title=call.title,
            call_id=call.id,
            tool=call.tool,
            risk=call.risk,
            arguments=call.arguments,
            parts=judged_parts(call, rules.allow),
            reasons=(*dict.fromkeys(one.told for one in blocked), *filter(None, (exposed, call.detour))),
            warning="; ".join(wording.warnings(call, escalations)) or None,
            escalations=escalations,
            was_run=True,
            lasting=not outside,
            suggestion=offered,
        )
        return await self._ask(call, question, rules_count=outside and is_stable)

    async def _ask(
        self, call: JudgedCall, question: "Approval", *, rules_count: bool, asker: Asker | None = None
    ) -> Allowed | Denied:
        """Ask until there is an answer that can be taken. `asker`: instead of that of the calls."""
        from kaa.ext.questions import Abort, AllowAlways, AllowForSession, AllowInProject, Deny, Dismissed  # as above

        outside = OUTSIDE in question.escalations
        if outside and (hooks := self._outside.hooks(call)) is not None:
            question = msgspec.structs.replace(question, warning="; ".join(filter(None, (question.warning, hooks))))
        was_offered = outside and self._outside.objection(call) is None
        while (asker or self.asker).can_ask:
            answer = await (asker or self.asker).ask(question)
            try:
                if isinstance(answer, AllowInProject):
                    await asyncio.to_thread(self._memory.allow_in_project, question.directories)  # with a lock
                    return Allowed(asked=True, lasting=True)
                is_yes = not isinstance(answer, Deny | Dismissed | Abort)
                # Files may have changed while the question was open.
                if is_yes and was_offered and (objection := self._outside.objection(call)) is not None:
                    return Denied(wording.not_offered(call.to_type, objection))
                taken = await self._take(answer, call, outside=outside, rules_count=rules_count, auto=question.auto)
                return taken if isinstance(taken, Denied) else msgspec.structs.replace(taken, offered=was_offered)
            except (RuleError, ApprovalsError, SettingsError) as error:
                written = answer.rules if isinstance(answer, AllowForSession | AllowAlways) else None
                # What somebody wrote is there to be repaired.
                question = msgspec.structs.replace(
                    question, problem=str(error), suggestion=question.suggestion and (written or question.suggestion)
                )
        return Denied(wording.refused("nobody can be asked any more"))

    async def _take(
        self, answer: "ApprovalAnswer | Dismissed", call: JudgedCall, *, outside: bool, rules_count: bool, auto: bool
    ) -> Allowed | Denied:
        from kaa.ext.questions import (  # lazy, as above
            Abort,
            AllowAlways,
            AllowByAuto,
            AllowForSession,
            AllowOnce,
            Deny,
            Dismissed,
            PutBack,
        )

        lasting = True
        match answer:
            case AllowOnce():
                lasting = False
            case AllowByAuto():
                if not auto:
                    raise RuleError("the mode auto would ask this too: allow it once, or deny it")
                lasting = False
                self._choose("auto")
            case PutBack():
                return Allowed(asked=True, puts_back=True)
            case AllowForSession(rules=None):
                if rules_count:
                    self._memory.allow_call(call, Permission(outside))
            case AllowForSession(rules=str(text)):
                self._memory.allow_for_session(
                    self._memory.rules_in(text, call, self._sandbox.root, outside=outside, counts=rules_count)
                )
            case AllowAlways(rules=text):
                rules = self._memory.rules_in(text, call, self._sandbox.root, outside=outside, counts=rules_count)
                await asyncio.to_thread(self._memory.allow_always, rules)  # another kaa may hold the lock
            case Deny(reason=reason):
                return Denied(wording.refused(reason))
            case Dismissed():
                return Denied(wording.refused(""))
            case Abort():
                self._questions.stop()
                self._abort()
                await asyncio.sleep(0)  # where the run's cancellation arrives
                return Denied(wording.stopped())
        return Allowed(outside, asked=True, lasting=lasting)

    async def _lift_for_session(self, escalations: Sequence[Escalation]) -> None:
        """Permit what a yes permits for the rest of the session.

        Raises:
            OSError: the sandbox cannot be changed.
        """
        for lift in escalations:
            if lift != OUTSIDE:
                await remove_limit(self._sandbox, lift)
                self._escalated.add(lift)


def _of_whole_network(need: Need) -> Need:
    """A need for a host where hosts cannot be told apart; any other as it is."""
    return Need(WHOLE_NETWORK, need.reason) if need.escalation.kind == "network" else need


def _leaves(verdict: Allowed | Doubtful) -> bool:
    return isinstance(verdict, Allowed) and verdict.outside
