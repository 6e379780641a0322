"""Answers whether a call's commands may connect to hosts: by rules, or by asking the user.

The question is about the connections and not about the call, which runs already or may run.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from kaa.ext.asking import Asker, NobodyToAskError
from kaa.ext.escalations import Escalation
from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.memory import Memory
from kaa.shell.approvals.rule_file import ApprovalsError
from kaa.shell.approvals.rules import HOST_SUBJECT, Rule, RuleError, parse_rule
from kaa.workspace.network.allow_list import NetworkRule
from kaa.workspace.network.asking import HostAnswer, HostAsker, covers
from kaa.workspace.network.registries import ALL, as_asked, companions, hosts_of, is_registry

if TYPE_CHECKING:
    from kaa.ext.questions import Approval, ApprovalAnswer, Dismissed

_HELD = "the command is running, and connects{where} after your answer unless it gives up before"
_OTHERS = "other commands are running too, and may be those that connect"


class QuestionTurns:
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


class HostJudge:
    """Judges hosts for the calls of a conversation.

    Args:
        turns: keeps questions in order.
        asker: gives whom to ask now; None if nobody can be asked.

    Attributes:
        refusals: why the user said no, by the id of the call.
    """

    def __init__(
        self, memory: Memory, turns: QuestionTurns, asker: Callable[[], Asker | None], abort: Callable[[], None]
    ) -> None:
        self._memory = memory
        self._turns = turns
        self._asker = asker
        self._abort = abort
        self.refusals: dict[str, str] = {}

    @property
    def can_answer(self) -> bool:
        """Whether there is a user, or a rule about hosts."""
        return self._asker() is not None or any(rule.hosts for rule in self._memory.rules.allow)

    def knows(self, host: str) -> bool:
        """Whether rules decide about a host, or deny one that it is used with."""
        together = [self._ruled([NetworkRule.parse(one)]) for one in companions(host)]
        return together[0] is not None or "no" in together

    def together(self, hosts: Sequence[str]) -> tuple[str, ...]:
        """All hosts that a question about these is about: a host of a registry brings all others that no rule denies.

        Where rules answer for the hosts and the others of their groups, there is no question, and only they count.
        """
        wanted = tuple(dict.fromkeys(one for host in hosts for one in companions(host)))
        if not any(map(is_registry, hosts)) or self._ruled(list(map(NetworkRule.parse, wanted))) is not None:
            return wanted
        denied = _hosts(self._memory.rules.deny)
        others = (host for host in hosts_of(ALL) or () if not covers(denied, NetworkRule.parse(host)))
        return tuple(dict.fromkeys((*wanted, *others)))

    def of_call(self, call: JudgedCall) -> HostAsker:
        """Asks for the connections of a call that runs."""
        return _OfCall(self, call)

    async def answer(self, call: JudgedCall, hosts: Sequence[str], reasons: Sequence[str]) -> HostAnswer:
        """Whether the commands of a call may connect to all of these hosts. See `ask`."""
        wanted = [NetworkRule.parse(host) for host in hosts]
        if (ruled := self._ruled(wanted)) is not None:
            return ruled
        async with self._turns.turn() as is_stopped:
            return "no" if is_stopped else await self.ask(call, hosts, reasons)

    async def ask(self, call: JudgedCall, hosts: Sequence[str], reasons: Sequence[str]) -> HostAnswer:
        """The same in a turn that has come."""
        from kaa.ext.questions import Approval  # lazy: few hosts are asked about

        wanted = [NetworkRule.parse(host) for host in hosts]
        if (ruled := self._ruled(wanted)) is not None:  # answered meanwhile
            return ruled
        question = Approval(
            title=call.title,
            call_id=call.id,
            tool=call.tool,
            risk=call.risk,
            arguments=call.arguments,
            reasons=tuple(reasons),
            escalations=tuple(Escalation("network", host) for host in hosts),
            suggestion="\n".join(f"{HOST_SUBJECT}: {host}" for host in as_asked(tuple(hosts))),
            only_connects=True,
        )
        return await self._until_answered(question, wanted)

    async def answer_private(
        self, call: JudgedCall, host: str, addresses: Sequence[str], reasons: Sequence[str]
    ) -> HostAnswer:
        """Whether the commands of a call may connect to private addresses of a host. No rule answers that with yes."""
        from kaa.ext.questions import Approval  # lazy, as above

        question = Approval(
            title=call.title,
            call_id=call.id,
            tool=call.tool,
            risk=call.risk,
            arguments=call.arguments,
            reasons=(f"{host} leads to {', '.join(addresses)}, not to a public address", *reasons),
            escalations=(Escalation("network", host),),
            lasting=True,
            only_connects=True,
        )
        async with self._turns.turn() as is_stopped:
            return "no" if is_stopped else await self._until_answered(question, [NetworkRule.parse(host)])

    def _ruled(self, hosts: Sequence[NetworkRule]) -> HostAnswer | None:
        """What rules say: no to all if one is denied, and yes only if all are allowed."""
        rules = self._memory.rules
        if any(covers(_hosts(rules.deny), host) for host in hosts):
            return "no"
        return "session" if all(covers(_hosts(rules.allow), host) for host in hosts) else None

    async def _until_answered(self, question: "Approval", hosts: Sequence[NetworkRule]) -> HostAnswer:
        from kaa.ext.questions import AllowAlways, AllowForSession  # lazy, as above

        while (asker := self._asker()) is not None:
            try:
                answer = await asker.ask(question)
            except NobodyToAskError:
                break
            try:
                return await self._take(answer, question.call_id, hosts)
            except (RuleError, ApprovalsError) as error:
                written = answer.rules if isinstance(answer, AllowForSession | AllowAlways) else None
                question = msgspec.structs.replace(
                    question, problem=str(error), suggestion=written or question.suggestion
                )
        return "no"

    async def _take(
        self, answer: "ApprovalAnswer | Dismissed", call_id: str, hosts: Sequence[NetworkRule]
    ) -> HostAnswer:
        from kaa.ext.questions import (  # lazy, as above
            Abort,
            AllowAlways,
            AllowByAuto,
            AllowForSession,
            AllowInProject,
            AllowOnce,
            Deny,
            Dismissed,
        )

        match answer:
            case AllowOnce():
                return "call"
            case AllowByAuto():
                raise RuleError("the mode auto asks this too: allow it once, or deny it")
            case AllowInProject():
                raise RuleError("only a directory can be kept for this project: allow it once, or deny it")
            case AllowForSession(rules=None):
                return "session"
            case AllowForSession(rules=str(text)):
                rules = _written(text, hosts)
                if set(_hosts(rules)) != set(hosts):  # what was asked is kept by the network, and ends with /net off
                    self._memory.allow_for_session(rules)
                return "session"
            case AllowAlways(rules=text):
                await asyncio.to_thread(self._memory.allow_always, _written(text, hosts))  # another kaa may hold a lock
                return "session"
            case Deny(reason=reason):
                self.refusals[call_id] = reason
            case Dismissed():
                self.refusals[call_id] = ""
            case Abort():
                self._turns.stop()
                self._abort()
        return "no"


class _OfCall:
    def __init__(self, judge: HostJudge, call: JudgedCall) -> None:
        self._judge = judge
        self._call = call

    @property
    def can_ask(self) -> bool:
        """Whether an answer can be waited for."""
        return self._judge.can_answer

    def together(self, hosts: Sequence[str]) -> Sequence[str]:
        """All hosts that one question is about."""
        return self._judge.together(hosts)

    async def ask(self, hosts: Sequence[str], *, alone: bool) -> HostAnswer:
        """Answer for these hosts."""
        where = f" to {hosts[0]}" if ALL in as_asked(tuple(hosts)) else ""
        return await self._judge.answer(self._call, hosts, _circumstances(where, alone=alone))

    async def ask_private(self, host: str, addresses: Sequence[str], *, alone: bool) -> HostAnswer:
        """Answer for these addresses."""
        return await self._judge.answer_private(self._call, host, addresses, _circumstances("", alone=alone))


def _circumstances(where: str, *, alone: bool) -> tuple[str, ...]:
    held = _HELD.format(where=where)
    return (held,) if alone else (held, _OTHERS)


def _hosts(rules: Sequence[Rule]) -> list[NetworkRule]:
    return [host for rule in rules for host in rule.hosts]


def _written(text: str, hosts: Sequence[NetworkRule]) -> list[Rule]:
    """The rules that a user answered with.

    Raises:
        RuleError: one is none, is not about a host, or they do not allow all that was asked.
    """
    rules = [parse_rule(line) for line in text.splitlines() if line.strip()]
    other = next((rule for rule in rules if not rule.hosts), None)
    if other is not None:
        raise RuleError(f"{other.text!r} is not about a host: write '{HOST_SUBJECT}: pypi.org'")
    missing = [str(host) for host in hosts if not covers(_hosts(rules), host)]
    if missing:
        raise RuleError(
            f"these rules do not allow {', '.join(missing)}: allow it once, or add '{HOST_SUBJECT}: …' for it"
        )
    return rules
