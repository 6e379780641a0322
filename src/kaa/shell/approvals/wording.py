"""What the model is told of a call that may not run: why, and what the user could do about it."""

import re
import shlex
from collections.abc import Sequence

from kaa.builtin.file_paths import is_git_hook
from kaa.core.hooks import Refuse
from kaa.ext.escalations import OUTSIDE, Escalation
from kaa.shell.approvals.blocks import directory_for
from kaa.shell.approvals.calls import IN_READ_ONLY, JudgedCall
from kaa.shell.approvals.judgement import Doubtful
from kaa.shell.approvals.places import is_obeyed
from kaa.shell.approvals.rules import Rule
from kaa.workspace.blocked import Blocked, sentences, visible

ADVICE = "Do not try to get there another way; if the task needs it, say so in your answer."
IF_MOVED = "If this command made it, do not make it another way. If not, it does not concern your work: continue."
_CONFIGURATION_OF_GIT = r"\.git/(?:.*/)?config(?:\.worktree)?$"
READ_ONLY = "The mode is read-only: Shift+Tab or /approvals changes it."
PLANS = "kaa plans now and changes nothing."


def forbidden(call: JudgedCall, reason: str) -> str:
    """Nobody can allow this call."""
    return f"{call.tool} was not run: {reason}."


def limited(call: JudgedCall, limit: str) -> str:
    """The definition of the agent does not let it make this call."""
    return f"{call.tool} was not run: this agent {limit}."


def still_forbidden(rule: Rule) -> str:
    """Nobody can allow a call that was run to run again."""
    return f"This cannot be allowed: the rule {rule.text!r} forbids it."


def unanswerable(call: JudgedCall, doubt: Doubtful, *, remedy: str, read_only: bool) -> str:
    """Somebody would have to be asked, and nobody can be.

    Args:
        call: the call.
        doubt: about it.
        remedy: `READ_ONLY` where a user is there who can end read-only, `PLANS` while kaa plans, or empty.
        read_only: nothing is to be changed, so that nothing is advised that lets files be written.
    """
    why = "; ".join(doubt.reasons)
    if remedy:
        return f"{call.tool} was not run: {why.removesuffix(IN_READ_ONLY)}. {remedy}"
    if read_only and call.risk == "write":
        return f"{call.tool} was not run: {why}."
    ways: list[str] = []
    if doubt.suggestion is not None:
        wide = call.server.rule if call.server is not None else ""
        ways.append(_keep(doubt.suggestion, f", or {wide!r} for all tools of its server," if wide else ""))
    if call.outside is not None and call.risk != "outside" and not read_only and not any(map(is_obeyed, call.paths)):
        lifts = [lift for path in call.paths[:1] if (lift := directory_for(path)) is not None]
        ways += [f"add --add-dir {shlex.quote(lift.what)}" for lift in lifts] or ["choose --sandbox full-access"]
    return f"{call.tool} was not run: {why}. {_nobody(ways)}"


def warnings(call: JudgedCall, escalations: Sequence[Escalation], *, was_run: bool = True) -> list[str]:
    """What a person should know before a call is run with more permitted. `was_run`: it has run already."""
    lost = [*(loss.sentence for loss in call.losses), *filter(None, (one.warning for one in escalations))]
    commands = call.script.commands if call.script else ()
    if was_run and len(commands) > 1:  # which of them ran before the sandbox blocked one, only bash knows
        lost.append("all of it runs again, also the parts that have run already")
    if OUTSIDE in escalations and call.private is not None:
        lost.append(f"outside the sandbox {call.private} is another file: temporary files made inside stay there")
    return lost


def made_executable(call: JudgedCall) -> tuple[str, ...]:
    """What a person should know of a call that writes a hook of git; empty for other calls."""
    if call.tool != "write" or call.target is None or not is_git_hook(call.target.real_path):
        return ()
    is_script = str(call.arguments.get("content", "")).startswith("#!")
    return ("git runs this hook with your rights: the permission to be executed is set.",) if is_script else ()


def restorable(call: JudgedCall) -> str:
    """Why a command that destroys something runs without a question."""
    what = "; ".join(loss.sentence for loss in call.restorable)
    return f"{call.title}: {what}; kaa does not ask, because /undo restores these files"


def exposed(name: str, path: str) -> str:
    """Why no rule and no earlier answer lets a command out of the sandbox."""
    return (
        f"{name} is {path}, which commands in the sandbox can write: no rule for {name!r} runs it outside. A rule with"
        " the absolute path of the program does"
    )


def obeys_project(path: str) -> str:
    """Why no rule and no earlier answer lets a shim of a version manager out of the sandbox."""
    return f"{path} is a shim: files of the project, such as .tool-versions, decide which program it runs"


def exposed_setting(variable: str) -> str:
    """What a client outside the sandbox would obey besides its words."""
    return f"the variable {variable} has programs obey what commands in the sandbox can write"


def loads_of_project(script: str) -> str:
    """What a client would load in the project."""
    return f"{script} starts a Python before 3.11, which loads modules of the project there: run it as the only command"


_WRITABLE = "which commands in the sandbox can write"


def runs_writable(name: str, path: str) -> str:
    """What a command that is to leave the sandbox runs besides its words."""
    return f"{name} runs or obeys {path}, {_WRITABLE}"


def replaced_by_git(path: str) -> str:
    """Why no rule and no earlier answer lets git out of the sandbox that brings commits."""
    return f"git's configuration has it obey {path}, which commits that it brings can replace"


def refused(reason: str) -> str:
    """The user said no."""
    said = reason.strip()
    end = "" if said.endswith((".", "!", "?")) else "."
    return f"The user does not allow this{f': {said}' if said else ''}{end}"


def narrowed(reason: str) -> str:
    """Nothing lifts the limits of an agent whose workspace was narrowed."""
    return f"This is beyond the workspace of this agent, and nobody can allow it: {reason}."


# Where a checkout, or a switch and then something else, may do.
_CHANGING_BRANCHES = re.compile(r"\b(?:checkout|switch|merge|rebase|reset)\b")
_MOST_TO_TYPE = 120  # characters of a command


def _by_the_user(command: str) -> str:
    """How the user runs a command; the terminal repeats the end of it when the run is over."""
    is_plain = 0 < len(command) <= _MOST_TO_TYPE and command.isprintable() and "`" not in command
    return f"The user can type it behind `!`, which runs it with their rights{f': `!{command}`' if is_plain else ''}."


def not_offered(command: str, objection: str, blocked: Sequence[Blocked] = ()) -> str:
    """A command is not offered to run outside the sandbox. `objection`: why, a sentence without a full stop."""
    way = _by_the_user(command if objection.endswith(_WRITABLE) else "")
    return " ".join([*sentences(blocked), f"kaa does not offer to run this outside the sandbox: {objection}. {way}"])


def held(command: str, reason: str, objection: str | None, remedy: str, *, can_be_alone: bool = True) -> str:
    """A command of git would stop half way in the sandbox.

    Args:
        command: as the model wrote it.
        reason: why, a sentence without a full stop.
        objection: why it is not offered outside either; None where nobody can be asked.
        remedy: a command that does the same without these files; empty if there is none.
        can_be_alone: it would be offered as a command of its own.
    """
    if remedy:
        return f"It was not run: {reason}. `{remedy}` leaves them where they are. {_by_the_user(command)}"
    outside = "" if objection is None else f" kaa does not offer to run it outside the sandbox: {objection}."
    alone = " kaa offers a plain `git checkout` or `git switch` as a separate command where the user can be asked."
    way = alone if can_be_alone and _CHANGING_BRANCHES.search(command) else ""
    return f"It was not run: {reason}.{outside}{way} {_by_the_user(command)}"


def held_otherwise(reason: str) -> str:
    """A command of git would do something else than the person was shown. `reason`: why, without a full stop."""
    return f"It was not run, though the user allowed it: {reason}. Run it again to have them asked about that."


def only_by_tool(blocked: Sequence[Blocked], *, can_ask: bool) -> Refuse | None:
    """A command tried to write existing protected files, and nothing else was blocked; None if that is not so.

    The result of the command says what is blocked and why. Nothing is denied where somebody can be asked: the
    way through the tools is open.
    """
    if not all(one.kind == "protected" and one.what and not one.kept_as for one in blocked):
        return None
    paths = ", ".join(dict.fromkeys(visible(one.what) for one in blocked))
    reason = f"only the tools write and edit may change this, after a question: {paths}"
    told = "Use write or edit for this file now: the user is asked, and sees the content."
    if all(re.search(_CONFIGURATION_OF_GIT, one.what) for one in blocked):
        reason = f"only a command of git by itself may change this, after a question: {paths}"
        told = "Run the command that changes it, such as `git remote add`, by itself, then the rest: the user is asked."
    return Refuse(reason, denied=not can_ask, appended=told)


def not_together(reason: str, objection: str) -> str:
    """A part of a command has to leave the sandbox, and the rest may not.

    Args:
        reason: why the part has to leave, a sentence without a full stop.
        objection: why the whole command is not offered, likewise.
    """
    return (
        f"It was not run: {reason}, and kaa does not offer to run the whole command there: {objection}. Call the part"
        " that needs it by itself."
    )


def unchangeable(error: OSError) -> str:
    """The user said yes, and the sandbox does not change."""
    return f"This was allowed, but the sandbox cannot be changed: {error}"


def stopped() -> str:
    """The user said that all is to end."""
    return "The user stopped the run."


def not_lifted(
    blocked: Sequence[Blocked], escalations: Sequence[Escalation], suggestion: str | None, *, remedy: str
) -> str:
    """The sandbox blocked a call, and nobody can be asked whether it may go on. `remedy`: as above."""
    if remedy:
        names_mode = remedy == READ_ONLY and any(one.kind == "read-only" for one in blocked)
        return " ".join([*sentences(blocked), *(() if names_mode else (remedy,))])
    hosts = dict.fromkeys(one.net_word for one in blocked if one.kind in ("network", "private") and one.what)
    ways = [f"add --net {','.join(filter(None, hosts))}"] if any(hosts) else []
    ways += [f"add --add-dir {shlex.quote(one.what)}" for one in escalations if one.kind == "directory"]
    if suggestion is not None:
        ways.append(_keep(suggestion))
    return " ".join([*sentences(blocked), _nobody(ways)])


def blocked_earlier(blocked: Sequence[Blocked], *, remedy: str) -> str:
    """The sandbox blocked what runs in the background, and nobody can be asked about it. `remedy`: as above."""
    return f"Of what runs in the background: {not_lifted(blocked, (), None, remedy=remedy)}"


def _keep(rules: str, wider: str = "") -> str:
    """`rules`: one on each line. `wider`: what may be added instead, in commas."""
    return f"add {' and '.join(map(repr, rules.splitlines()))}{wider} to approvals.allow in the settings"


def _nobody(ways: Sequence[str]) -> str:
    """`ways`: what the user could do about it."""
    if not ways:
        return "Nobody can be asked in this run."
    *others, last = ways
    either = f"{', '.join(others)} or {last}" if others else last
    return f"Nobody can be asked in this run. The user can {either}."
