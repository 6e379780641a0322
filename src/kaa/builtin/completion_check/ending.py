"""What happens before a run ends that changed files: declared commands are run, or the model is reminded once."""

import asyncio
import posixpath
import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from kaa.builtin.acceptance import RanCheck, run_check
from kaa.builtin.amounts import listed
from kaa.builtin.command_kinds import targets_of
from kaa.builtin.completion_check import Proof, UnverifiedWork
from kaa.builtin.completion_check.proof import UNTESTED, inside
from kaa.builtin.project_facts import facts_of
from kaa.builtin.python_tests import PYTHON_TEST, python_test
from kaa.core.hooks import Continue, GiveUp
from kaa.core.messages import AssistantMessage, Json, UserMessage
from kaa.ext.api import CommandContext, ConversationContext
from kaa.ext.errors import CommandError
from kaa.workspace.protocol import Workspace

_MOST_FAILURES = 2
_MOST_NAMED = 5
_STATUS = "verify"
_KIND = "verification"
_NO_CHANCE = ("notPermitted", "notRun")  # the model can do nothing about it
_TASK_CHARACTERS: Final = 800

_REMINDER = """\
You changed {files} and have executed nothing since. The task was:

{task}

Compare the result with each point of it, run what shows whether it works, such as {commands}, and correct what fails. \
If that is impossible or useless here, say so in one sentence.\
"""
_FAILED = """\
kaa ran the commands that verify the work:

{missing}

Correct the cause, and do not change what they check in order to have them succeed. If it cannot be corrected, say why.\
"""


async def check(
    reply: AssistantMessage, proof: Proof, work: UnverifiedWork | None, context: ConversationContext
) -> Continue | GiveUp | None:
    """Let a run end if its work is verified, or nothing more can be done about that."""
    if work is None or not work.changed:
        from kaa.builtin.completion_check.written_code import remind  # lazy: few replies have code and nothing else

        return remind(reply.text, proof, context)
    form = context.features.completion_check
    if form == "off":
        return None
    if commands := context.verify_commands:
        return await _verify(commands, proof, work, context)
    if form != "light" and work.unproven and not proof.reminded and (reminder := await _remind(proof, work, context)):
        return reminder
    _keep("nothingToVerify", (), work, context)
    return None


async def _remind(proof: Proof, work: UnverifiedWork, context: ConversationContext) -> Continue | None:
    """Tell the model, once, that it executed nothing, if it changed what can be executed."""
    files = await _unproven_files(work, context)
    proof.reminded = bool(files)
    if not files:
        return None
    found = await runnable(context.workspace, files)
    if not found:
        return None
    context.show.notice("The model executed nothing after its last change: kaa reminds it once.")
    commands = " or ".join(f"`{one}`" for one in found)
    return Continue(_REMINDER.format(files=_named(files), commands=commands, task=task_of(context)))


def task_of(context: ConversationContext) -> str:
    """The beginning of the last message of the person, for a model whose own words are in between."""
    said = (
        one.text
        for one in reversed(context.session.messages)
        if isinstance(one, UserMessage) and one.origin == "person"
    )
    text = next(said, "").strip()
    return f"{text[:_TASK_CHARACTERS]} …" if len(text) > _TASK_CHARACTERS else text


def verify_command(arguments: str, context: CommandContext) -> str:
    """Run /verify.

    Args:
        arguments: nothing, or `skip`.

    Raises:
        CommandError: the arguments are wrong.
    """
    proof = context.state(Proof, Proof)
    match arguments.strip():
        case "":
            return _told(context.verify_commands, proof.last)
        case "skip":
            proof.skipped = True
            if proof.checking is not None:
                proof.checking.cancel()
            return "The current run ends without a check."
        case other:
            raise CommandError(f"Unknown argument {other!r}: use /verify or /verify skip")


async def _verify(
    commands: tuple[str, ...], proof: Proof, work: UnverifiedWork, context: ConversationContext
) -> Continue | GiveUp | None:
    if work.passed.issuperset(commands) and not work.unproven:
        ran: Sequence[RanCheck] = [RanCheck(one, "passed") for one in commands]
        if proof.acted:
            _verified(ran, proof, work, context)
        return None
    if proof.failures and not proof.acted:  # nothing was done about it
        return _give_up(proof.last)
    finished = await _run(commands, proof, context)
    if finished is None:
        return None
    work.prove()
    failed = [one for one in finished if one.missing]
    if not failed:
        work.passed.update(commands)
        _verified(finished, proof, work, context)
        return None
    proof.last, proof.acted = finished, False
    proof.failures += 1
    _keep("notVerified", finished, work, context)
    if proof.failures > _MOST_FAILURES or any(one.result in _NO_CHANCE for one in failed):
        return _give_up(finished)
    context.show.notice(f"Not verified: {_lines(failed)}", "warning")
    return Continue(_FAILED.format(missing="\n\n".join(one.missing for one in failed)))


async def _run(commands: Sequence[str], proof: Proof, context: ConversationContext) -> list[RanCheck] | None:
    """Run the commands; None if the user skips them."""
    context.show.status(_STATUS, f"verifying: {commands[0]}", "accent")
    proof.checking = asyncio.ensure_future(_run_all(commands, context))
    try:
        return await proof.checking
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not proof.skipped or (task is not None and task.cancelling()):
            raise
        context.show.notice("Not verified: you skipped the check.", "warning")
        return None
    finally:
        proof.checking = None
        context.show.status(_STATUS, "")


async def _run_all(commands: Sequence[str], context: ConversationContext) -> list[RanCheck]:
    if "bash" not in context.active_tools:
        text = "The commands cannot be run: the tool bash is switched off."
        return [RanCheck(one, "notRun", missing=text) for one in commands[:1]]
    return [await run_check(one, context) for one in commands]


def _verified(ran: Sequence[RanCheck], proof: Proof, work: UnverifiedWork, context: ConversationContext) -> None:
    proof.last, proof.acted = ran, False
    _keep("verified", ran, work, context)
    context.show.notice(f"Verified: {_lines(ran)}")


def _keep(state: str, ran: Sequence[RanCheck], work: UnverifiedWork, context: ConversationContext) -> None:
    """Keep what the check said in the session, which tells programs of it."""
    commands: list[Json] = [{"command": one.command, "result": one.result, "seconds": one.seconds} for one in ran]
    changed: list[Json] = [path for path in work.changed if path]
    with suppress(CommandError):  # the session cannot be written: whoever writes next says it
        context.session.append(
            {"state": state, "commands": commands, "changed": changed, "executed": work.unproven is False}, _KIND
        )


def _give_up(ran: Sequence[RanCheck]) -> GiveUp:
    failed = [one for one in ran if one.missing]
    refused = next((one for one in failed if one.result in _NO_CHANCE), None)
    if refused is None:
        return GiveUp(f"not verified: {_lines(failed)}", "unverified")
    why = refused.refusal or refused.missing.rpartition("\n")[2]
    return GiveUp(f"not verified: {_line(refused)}: {why.removeprefix('bash: ')}", "unverified")


def _lines(ran: Sequence[RanCheck]) -> str:
    return ", ".join(map(_line, ran))


def _line(ran: RanCheck) -> str:
    said = {
        "passed": "succeeds",
        "failed": "fails",
        "timedOut": "did not end",
        "notPermitted": "needs what is not permitted",
        "notRun": "could not be run",
    }
    took = f" ({ran.seconds:g} s)" if ran.seconds else ""
    return f"`{ran.command}` {said[ran.result]}{took}"


def _named(files: Sequence[str]) -> str:
    paths = [path for path in files if path]
    return listed(paths, _MOST_NAMED) or "files"


def _told(commands: Sequence[str], last: Sequence[RanCheck]) -> str:
    """The declared commands and what they said last, for people."""
    if not commands:
        return 'No commands are declared. To declare one, write "verify": ["make test"] in settings.json.'
    results = {one.command: one for one in last}
    return "\n".join(_line(results[one]) if one in results else f"`{one}` was not run yet" for one in commands)


async def _unproven_files(work: UnverifiedWork, context: ConversationContext) -> list[str]:
    """Return the files changed since the last execution that can be verified.

    An empty name stands for files that are not known.
    A file that was restored is no change, and what a running command appends to is its output.

    Args:
        work: what calls changed.
        context: of the conversation, whose checkpoints know what differs.
    """
    try:
        changes = await context.changes(since="message")
    except CommandError:
        return list(work.unproven_files)
    if changes.gaps:
        return list(work.unproven_files)
    outputs = _outputs_of_running(context)
    differing = set(inside((one.path for one in changes.files), context.workspace.root)) - outputs
    known = [path for path in work.unproven_files if path in differing]
    is_unknown = "" in work.unproven_files and any(UNTESTED.fullmatch(path) is None for path in differing)
    found = [*known, *([""] if is_unknown else [])]
    return found if any(UNTESTED.fullmatch(path) is None for path in found) else []


def _outputs_of_running(context: ConversationContext) -> set[str]:
    """The files that redirections of commands in the background write."""
    running = [one.command.argv[-1] for one in context.workspace.processes.list() if one.state == "running"]
    targets = [target for command in running for target in targets_of(context.read_command(command))]
    return set(inside(targets, context.workspace.root))


_MOST_COMMANDS = 3
_MOST_DIRECTORIES = 6
_MOST_BYTES = 64 * 1024
_JAVASCRIPT_TEST = re.compile(r".*\.test\.[cm]?js|test\.[cm]?js")
_SHELL_TEST = re.compile(r"(?:run_?)?tests?\.sh")


async def runnable(workspace: Workspace, changed: Iterable[str]) -> tuple[str, ...]:
    """Commands that could be run, the most general first; none if nothing is found.

    Args:
        changed: the files that changed, relative to the project.
    """
    facts = await facts_of(workspace)
    found = facts.tests[:_MOST_COMMANDS]
    if found:
        return found
    beside = (posixpath.dirname(path) for path in changed if path)
    for directory in list(dict.fromkeys(["", "tests", "test", *beside]))[:_MOST_DIRECTORIES]:
        if command := await _test_in_directory(workspace, directory):
            return (command,)
    return facts.builds[:_MOST_COMMANDS]


async def _test_in_directory(workspace: Workspace, directory: str) -> str:
    try:
        entries = await workspace.list(directory or ".")
    except OSError:
        return ""
    names = sorted(entry.name for entry in entries if entry.kind == "file")
    place = shlex.quote(directory)
    if test := next((name for name in names if PYTHON_TEST.fullmatch(name)), ""):
        path = posixpath.join(directory, test)
        text = (await workspace.read_existing((path,), _MOST_BYTES)).get(path, b"")
        return python_test(text, shlex.quote(path), "" if place == "''" else place)
    if any(_JAVASCRIPT_TEST.fullmatch(name) for name in names):
        return f"node --test {place}".rstrip(" '")
    if script := next((name for name in names if _SHELL_TEST.fullmatch(name)), ""):
        return f"sh {shlex.quote(posixpath.join(directory, script))}"
    return ""
