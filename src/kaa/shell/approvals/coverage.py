"""What rules say to a call: allowed by all it takes, or forbidden by anything in it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from kaa.shell.approvals.calls import JudgedCall
from kaa.shell.approvals.grammar import SimpleCommand
from kaa.shell.approvals.programs import distrust
from kaa.shell.approvals.rule_file import ApprovalRules
from kaa.shell.approvals.rules import COMMAND_SUBJECT, Rule, RuleMatch

if TYPE_CHECKING:
    from kaa.ext.questions import JudgedPart


class Permission(msgspec.Struct, frozen=True):
    """Rules, or an earlier answer, allow a call. `outside`: also to leave the sandbox."""

    outside: bool = False


def permission(call: JudgedCall, rules: Sequence[Rule], root: str) -> Permission | None:
    """What allow rules say to a call, None if they do not allow all of it.

    A call leaves the sandbox only if rules that say `outside` allow all of it. One that would throw something away is
    allowed only by rules for exactly its words.
    """
    if call.losses:
        rules = [rule for rule in rules if rule.words and not rule.open_ended]
    if _is_covered(call, [rule for rule in rules if rule.outside], root):
        return Permission(outside=True)
    # Tools that are outside by nature need no rule that says so: naming them is enough.
    if (call.outside is None or call.risk == "outside") and _is_covered(call, rules, root):
        return Permission()
    return None


def forbidden(call: JudgedCall, rules: Sequence[Rule], root: str) -> tuple[RuleMatch, Rule] | None:
    """The deny rule that holds for a call, before one that may hold."""
    matches = [(match, rule) for rule in rules if (match := _forbids(rule, call, root)) is not RuleMatch.NO]
    return max(matches, key=lambda found: found[0].value, default=None)


def beyond(call: JudgedCall, limits: ApprovalRules, root: str) -> str | None:
    """Why a call is not within the limits of an agent; None if it is."""
    if (found := forbidden(call, limits.deny, root)) is not None:
        return f"may not make calls such as {found[1].text!r}"
    subject = COMMAND_SUBJECT if call.risk == "command" else call.risk
    rules = [rule for rule in limits.allow if rule.subject == subject]
    if not rules or _is_covered(call, rules, root):
        return None
    return f"may only make calls such as {', '.join(repr(rule.text) for rule in rules)}"


def judged_parts(call: JudgedCall, rules: Sequence[Rule]) -> "tuple[JudgedPart, ...]":
    """The simple commands of a call, each with the reason why rules do not allow it."""
    from kaa.ext.questions import JudgedPart  # lazy: few calls are asked about

    commands = call.script.commands if call.script else ()
    return tuple(JudgedPart(command.text, _objection(command, rules, held=call.is_held)) for command in commands)


def _is_covered(call: JudgedCall, rules: Sequence[Rule], root: str) -> bool:
    if any(rule.names(call.tool) for rule in rules):
        return True
    if call.script is not None:
        commands = call.script.commands
        allowed = (any(rule.allows_command(command, held=call.is_held) for rule in rules) for command in commands)
        return call.script.obstacle is None and bool(commands) and all(allowed)
    subject = [rule for rule in rules if rule.subject == call.risk and rule.is_for_paths]
    return bool(call.paths) and all(any(rule.matches_path(path, root) for rule in subject) for path in call.paths)


def _forbids(rule: Rule, call: JudgedCall, root: str) -> RuleMatch:
    if rule.hosts:  # about connections, see `hosts`
        return RuleMatch.NO
    if rule.is_for_tool:
        return RuleMatch.YES if any(map(rule.names, _names_of(call.tool))) else RuleMatch.NO
    if rule.is_for_paths:
        if rule.subject != call.risk:
            return RuleMatch.NO
        paths = (*call.paths, *call.names) or (root,)  # a name is forbidden wherever it leads
        return RuleMatch.YES if any(rule.forbids_path(path, root) for path in paths) else RuleMatch.NO
    if call.reach is None:
        return RuleMatch.NO
    if not rule.words:
        return RuleMatch.YES
    found = [rule.forbids_words(words) for words in call.reach.commands]
    unseen = RuleMatch.NO if call.reach.complete else RuleMatch.MAYBE
    match = max([unseen, *found], key=lambda match: match.value)
    if match is RuleMatch.NO:
        from kaa.shell.approvals.disguises import may_run  # lazy: few people write deny rules for commands

        return RuleMatch.MAYBE if may_run(rule, call) else RuleMatch.NO
    return match


def _objection(command: SimpleCommand, rules: Sequence[Rule], *, held: bool) -> str | None:
    if any(rule.allows_command(command, held=held) for rule in rules):
        return None
    if command.redirections:
        return f"it redirects: {', '.join(command.redirections)}"
    if command.assigns:
        return "it sets variables"
    words = command.literal_words
    if words is None:
        return "bash computes some of its words"
    begun = [len(rule.words) for rule in rules if rule.subject == COMMAND_SUBJECT and rule.begins(words)]
    return (distrust(words, max(begun)) if begun else None) or "no rule allows it"


def _names_of(tool: str) -> tuple[str, ...]:
    if "__" not in tool:  # only tools of servers have other names
        return (tool,)
    from kaa.components.tool_names import rule_names  # lazy: few calls are of servers

    return rule_names(tool)
