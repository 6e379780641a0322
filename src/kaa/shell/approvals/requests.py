"""Requests of the model for a permission: what is asked for, and what is never granted.

What the user sees is the value itself: values with characters that cannot be seen are refused, and paths are resolved
before the question.
"""

import os
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

import msgspec

from kaa.builtin.tools import REQUEST_TOOL, PermissionArguments
from kaa.core.messages import Json, ToolCall
from kaa.ext.escalations import OUTSIDE, WHOLE_NETWORK, Escalation, EscalationKind
from kaa.ext.questions import Approval
from kaa.shell.approvals import wording
from kaa.shell.approvals.calls import JudgedCall, examine
from kaa.shell.approvals.coverage import judged_parts
from kaa.shell.approvals.judgement import Denied
from kaa.shell.approvals.places import absolute, is_obeyed
from kaa.shell.approvals.rules import Rule, RuleMatch
from kaa.shell.boundary import SandboxControl
from kaa.workspace.network.allow_list import NetworkRule, NetworkRuleError
from kaa.workspace.network.registries import word_of

_KINDS: Final[Mapping[str, EscalationKind]] = {
    "host": "network",
    "read": "read",
    "write": "directory",
    "port": "port",
    "socket": "socket",
    "command": "outside",
}
_FLAGS: Final[Mapping[EscalationKind, str]] = {
    "network": "--net {what}",
    "whole network": "--net on",
    "directory": "--add-dir {what}",
    "read": '"!{what}" in sandbox.hidden of the settings',
    "outside": "a rule 'outside bash: …' in approvals.allow of the settings",
}
_MAX_REASON_CHARACTERS = 400
_MAX_VALUE_CHARACTERS = 4096


class RequestError(ValueError):
    """A request asks for nothing that the user could be asked for. The message is for the model."""


class PermissionRequest(msgspec.Struct, frozen=True):
    """What the model asks for.

    Attributes:
        command: the exact command to run outside the sandbox, for that kind.
        reason: the words of the model, on one line.
    """

    escalation: Escalation
    command: str
    reason: str

    @property
    def warning(self) -> str | None:
        """What the user should know."""
        if self.escalation.kind == "read":
            return f"{self.escalation.what} is hidden because it may hold secrets, which the model then reads"
        return self.escalation.warning

    @property
    def unanswerable(self) -> str:
        """The user cannot be asked in this run."""
        flag = _FLAGS.get(self.escalation.kind)
        what = word_of(self.escalation.what) if self.escalation.kind == "network" else self.escalation.what
        way = f" The user can permit it with {flag.format(what=what)}." if flag else ""
        return f"Nobody can be asked in this run.{way}"


class GrantedRequest(msgspec.Struct, frozen=True):
    """The user permitted it, or can be asked when the command is called, for the reason."""

    command: str = ""
    reason: str = ""


Ask: TypeAlias = Callable[[JudgedCall, Approval], Awaitable[Denied | None]]


async def answer_request(
    call: ToolCall,
    sandbox: SandboxControl,
    *,
    objection: Callable[[JudgedCall], str | None],
    ask: Ask | None,
    remedy: str,
    forbids: Callable[[JudgedCall], tuple[RuleMatch, Rule] | None],
) -> GrantedRequest | Denied:
    """Ask the user for what the model requests, unless it is permitted or never granted.

    About a command the user is asked when it is called: until then, files that it runs could be exchanged.

    Args:
        objection: why a command is not offered to run outside, a sentence without a full stop; None if it may be.
        ask: asks and permits what the question says; None if nobody can be asked.
        remedy: what is said of read-only mode, instead of how it is permitted in other runs; empty in other modes.
        forbids: the deny rule for a command, if one may match.
    """
    try:
        request = parse_request(call.arguments, sandbox.root)
        await sandbox.settle()
    except (RequestError, OSError) as error:
        return Denied(f"{call.name} was not run: {error}.")
    lift, command = request.escalation, request.command
    if lift.kind == "network" and not sandbox.tells_hosts_apart:
        request = msgspec.structs.replace(request, escalation=WHOLE_NETWORK)
        lift = WHOLE_NETWORK
    if sandbox.is_narrowed:
        return Denied(wording.narrowed(lift.text))
    if sandbox.mode == "full-access" or sandbox.permits(lift):
        return GrantedRequest()
    subject = ToolCall(call.id, "bash", {"command": command}) if command else call
    judged = examine(subject, "command" if command else "read", sandbox)
    denial = forbids(judged) if command else None
    never = sandbox.objection(lift) if denial is None else f"the rule {denial[1].text!r} forbids it"
    if never is not None:
        return Denied(f"This is never granted: {never}")
    if ask is None:
        return Denied(remedy or request.unanswerable)
    if command and (unfit := objection(judged)) is not None:
        return Denied(wording.not_offered(judged.to_type, unfit))
    if command:
        return GrantedRequest(command, request.reason)
    question = Approval(
        title=lift.text,
        call_id=call.id,
        tool=REQUEST_TOOL,
        risk="read",
        arguments={"value": lift.what},
        reasons=(_as_quoted(request.reason),),
        warning=request.warning,
        escalations=(lift,),
        lasting=True,
    )
    return await ask(judged, question) or GrantedRequest()


def question_outside(call: JudgedCall, reason: str) -> Approval:
    """The question about a command that the model wants to run outside the sandbox."""
    return Approval(
        title=call.title,
        call_id=call.id,
        tool=call.tool,
        risk=call.risk,
        arguments=call.arguments,
        parts=judged_parts(call, ()),
        reasons=(_as_quoted(reason),),
        warning="; ".join(wording.warnings(call, (), was_run=False)) or None,
        escalations=(OUTSIDE,),
    )


def _as_quoted(reason: str) -> str:
    """The words of the model, so that no character of theirs ends the quotation."""
    quotes = ("Pi", "Pf")
    plain = "".join("'" if one in '"`' or unicodedata.category(one) in quotes else one for one in reason)
    return f'The model gives this reason: "{plain}"'


def parse_request(arguments: Mapping[str, Json], root: str) -> PermissionRequest:
    """Read the arguments of a call.

    Args:
        root: the project, where relative paths start.

    Raises:
        RequestError: they cannot be asked for.
    """
    try:
        asked = msgspec.convert(arguments, PermissionArguments)
    except msgspec.ValidationError as error:
        raise RequestError(f"invalid arguments: {error}") from error
    value, reason = asked.value.strip(), " ".join(asked.reason.split())[:_MAX_REASON_CHARACTERS]
    if not value or not reason:
        raise RequestError("value and reason must not be empty")
    printable = value.replace("\n", "").replace("\t", "") if asked.kind == "command" else value
    if not printable.isprintable() or len(value) > _MAX_VALUE_CHARACTERS:
        raise RequestError("value has invisible characters or is too long")
    kind = _KINDS[asked.kind]
    shown = "".join(one if one.isprintable() else "?" for one in reason)
    if kind == "outside":
        return PermissionRequest(OUTSIDE, asked.value, shown)
    return PermissionRequest(Escalation(kind, _what(kind, value, root)), "", shown)


def _what(kind: EscalationKind, value: str, root: str) -> str:
    match kind:
        case "network":
            return _host(value)
        case "port":
            if not (value.isascii() and value.isdecimal() and len(value) <= 5 and 1 <= int(value) <= 65535):
                raise RequestError(f"invalid port {value!r}: use a number from 1 to 65535")
            return str(int(value))
    real = os.path.realpath(absolute(value, root))
    if not real.isprintable():
        raise RequestError(f"{value} leads to a path with invisible characters")
    if kind == "directory" and not os.path.isdir(real):
        raise RequestError(f"{real} is not a directory: name the directory to write in")
    if kind == "directory" and is_obeyed(real):
        raise RequestError(f"{real} is never granted: other programs execute or obey what is in it")
    return real


def _host(value: str) -> str:
    try:
        rule = NetworkRule.parse(value)
    except NetworkRuleError as error:
        raise RequestError(str(error)) from error
    if "*" in value or value in ("on", "off"):
        raise RequestError(f"{value} does not name one host")
    return str(rule)
