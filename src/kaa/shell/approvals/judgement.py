"""Whether a call may run: what it would do, the user's policy and rules, and what was answered before.

Nobody is asked here and nothing is changed. The policies:

    ask     what only reads runs; everything else is asked
    auto    what stays in the sandbox runs, unless it would throw work away; the rest is asked
    never   the same runs, and the rest is denied, because nobody can be asked
    step    every call is asked, whatever the rules say

Deny rules come before all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from kaa.ext.escalations import OUTSIDE
from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.coverage import Permission, forbidden, judged_parts, permission
from kaa.shell.approvals.foresight import Need
from kaa.shell.approvals.rule_file import ApprovalRules
from kaa.shell.approvals.rules import Rule, RuleMatch
from kaa.shell.settings import ApprovalPolicy

if TYPE_CHECKING:
    from kaa.ext.questions import JudgedPart


class Allowed(msgspec.Struct, frozen=True):
    """The call may run.

    Attributes:
        outside: with a permit to leave the sandbox.
        asked: somebody said yes just now, and saw what it runs.
        lasting: and said so for more than this call.
        offered: and nothing was to be said against that it leaves the sandbox.
        hosts: what its commands may connect to until it ends, as `--net` takes it.
        files: protected files that the question showed, with their contents, by absolute paths.
        puts_back: the files of the question are the person's own.
    """

    outside: bool = False
    asked: bool = False
    lasting: bool = False
    offered: bool = False
    hosts: tuple[str, ...] = ()
    files: Mapping[str, bytes] = {}
    puts_back: bool = False


class Denied(msgspec.Struct, frozen=True):
    """The call may not run, and nobody can change that. The reason is for the model."""

    reason: str


class Doubtful(msgspec.Struct, frozen=True):
    """The call may run if somebody says yes.

    Attributes:
        reasons: why, sentences without a full stop.
        parts: of a command, its simple commands.
        suggestion: rules that would allow it.
        needs: what a yes permits besides, so that the call is not blocked.
        rules_count: whether a rule could allow it at all.
        exposed: why nothing lets it out of the sandbox unasked although rules or an answer allow that.
        only_connects: it may run; the doubt is only about the hosts that it needs.
        is_ruled: a rule lets it leave the sandbox, but commands can write a file that it names.
    """

    reasons: tuple[str, ...]
    warning: str | None = None
    parts: "tuple[JudgedPart, ...]" = ()
    suggestion: str | None = None
    needs: tuple[Need, ...] = ()
    rules_count: bool = True
    exposed: str | None = None
    only_connects: bool = False
    is_ruled: bool = False


Judgement: TypeAlias = Allowed | Denied | Doubtful


def judge(
    call: JudgedCall,
    policy: ApprovalPolicy,
    rules: ApprovalRules,
    root: str,
    *,
    answered: Permission | None = None,
    needs: tuple[Need, ...] = (),
    exposed: Callable[[JudgedCall], str | None],
    runs_writable: Callable[[JudgedCall], str | None],
) -> Judgement:
    """Judge a call.

    Args:
        root: the project; relative globs of rules start here.
        answered: an earlier answer to a call with the same arguments.
        needs: those of its needs that are not permitted.
        exposed: says which program of a call that would leave the sandbox can be written by commands, if one can.
        runs_writable: says which file that a call names and runs can be written by commands, if one can.
    """
    denial = forbidden(call, rules.deny, root)
    if denial is not None and denial[0] is RuleMatch.YES:
        return Denied(f"the rule {denial[1].text!r} forbids it")
    granted = answered or (permission(call, rules.allow, root) if denial is None else None)
    leaves = any(need.escalation == OUTSIDE for need in needs)
    is_outside = granted is not None and granted.outside
    risk = exposed(call) if leaves or is_outside else None
    rewritten = runs_writable(call) if is_outside and risk is None else None
    risk = risk or rewritten
    if granted is not None and risk is None and policy != "step" and (granted.outside or not needs):
        return Allowed(granted.outside)
    lost = [loss.sentence for loss in call.losses]
    is_settled = granted is not None and not granted.outside and policy != "step"
    own = () if is_settled else _reasons(call, policy, denial, lost)
    reasons = (*([risk] if risk else []), *own, *dict.fromkeys(need.reason for need in needs))
    if not reasons:
        return Allowed()
    outside = call.outside is not None or leaves
    rules_count = policy != "step" and denial is None and risk is None and (bool(own) or outside)
    return Doubtful(
        reasons=reasons,
        warning="; ".join(lost) or None,
        parts=judged_parts(call, rules.allow),
        suggestion=suggested(call, rules, root, outside=outside) if rules_count else None,
        needs=needs,
        rules_count=rules_count,
        exposed=risk,
        only_connects=not own and risk is None and all(need.escalation.kind == "network" for need in needs),
        is_ruled=rewritten is not None,
    )


def suggested(call: JudgedCall, rules: ApprovalRules, root: str, *, outside: bool) -> str | None:
    """Return the rules that would allow a call, as a person may write them; None if there are none."""
    from kaa.shell.approvals.suggestions import suggestion  # lazy: most calls are not asked about

    return suggestion(call, rules.allow, root, outside=outside)


def _reasons(
    call: JudgedCall, policy: ApprovalPolicy, denial: tuple[RuleMatch, Rule] | None, lost: Sequence[str]
) -> tuple[str, ...]:
    reasons = []
    if denial is not None:
        reasons.append(f"the rule {denial[1].text!r} may forbid it: it is not certain what the command would run")
    if call.outside is not None:
        reasons.append(call.outside)
    reasons += [f"it {sentence}" for sentence in lost]
    if policy == "step":
        reasons.append("the mode step asks before each call")
    if policy == "ask" and call.risk not in ("read", "fetch"):
        obstacle = call.script.obstacle if call.script else None
        reasons.append(f"no rule can allow it: {obstacle}" if obstacle else "no rule allows it")
    if reasons:
        reasons += [f"it {loss.sentence}, which /undo restores" for loss in call.restorable]
    if reasons and call.detour is not None:
        reasons.append(call.detour)
    return tuple(reasons)
