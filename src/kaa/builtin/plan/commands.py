"""`/plan` and what can follow it."""

import fcntl
import os
from io import StringIO
from shlex import shlex, split

from kaa.builtin.plan import CHANGING_NOTHING, MODE, PlanState
from kaa.builtin.plan.document import PlanError, parse
from kaa.builtin.plan.executing import begin
from kaa.builtin.plan.kept import KeptPlan, keep, last_plan
from kaa.builtin.plan.planning import edited, save
from kaa.ext.api import CommandAction, CommandContext, Editing, Entered, Reply, Submit
from kaa.ext.errors import CommandError
from kaa.host import regular_files

_STATES = {
    "planned": "/plan run executes it, /plan edit changes it; a message asks the planner for changes in the mode plan.",
    "executing": "It is not done: /plan run continues it.",
    "done": "All steps are done.",
    "failed": "A step failed: /plan revise returns it to the planner, /plan run tries again.",
}
_TARGET = "--to "


async def plan_command(arguments: str, context: CommandContext) -> CommandAction:
    """Run /plan.

    Args:
        arguments: nothing; one of the words; or a task, with `--to FILE` before it.

    Raises:
        CommandError: what is wanted cannot be done; the message says why.
    """
    typed = arguments.strip()
    word, _, rest = typed.partition(" ")
    names = _words(rest)
    match word:
        case "":
            return await _shown(context)
        case "edit" if not rest:
            return await _edit(context)
        case "off" if not rest:
            return Reply(f"approvals: {await context.approvals.leave_plan()}")
        case "revise" if not rest:
            return await _revise(context)
        case "save" if len(names) == 1 or names[1:] == ["--force"]:
            return Reply(f"wrote {await save(_kept(context).text, names[0], context, force=len(names) > 1)}")
        case "run" if len(names) <= 1 or (len(names) == 2 and names[1] in context.approvals.policies):
            return await _run(names, context)
        case _:
            return await _begin(typed, context)


async def _begin(typed: str, context: CommandContext) -> CommandAction:
    state = context.state(PlanState, PlanState)
    if typed.startswith(_TARGET):
        name, typed = _first_word(typed.removeprefix(_TARGET))
        if _exists(_path(name, context)):
            raise CommandError(f"{name} exists already; choose another name for the plan")
        state.target, state.written = name, False
    mode = await context.approvals.choose(MODE)
    return Submit(typed) if typed.strip() else Reply(f"approvals: {mode}\nSay what is to be planned.")


async def _shown(context: CommandContext) -> CommandAction:
    kept = last_plan(context)
    if kept is None:
        if context.approvals.policy == MODE:
            return Reply("There is no plan yet. Say what is to be planned.")
        return await _begin("", context)
    return Reply(f"{kept.text}\n{_STATES[kept.phase]}")


async def _edit(context: CommandContext) -> CommandAction:
    kept = _kept(context)
    question = Editing("Edit the plan", text=kept.text, own_editor=True)
    while True:
        answer = await context.asker.ask(question)
        if not isinstance(answer, Entered) or answer.text.strip() == kept.text.strip():
            return Reply("The plan is unchanged.")
        try:
            changed = edited(kept, answer.text)
        except PlanError as error:
            question = Editing(f"This is no plan: {' '.join(str(error).split())}", text=answer.text)
            continue
        keep(changed, context)
        return Reply(f"The plan is changed. {_STATES[changed.phase]}")


async def _run(names: list[str], context: CommandContext) -> CommandAction:
    mode = names.pop() if names and names[-1] in context.approvals.policies else ""
    if mode in CHANGING_NOTHING:
        raise CommandError(f"a plan cannot be executed in the mode {mode}: use /plan run auto or ask")
    kept = await _of_file(names[0], context) if names else _kept(context)
    try:
        plan = parse(kept.text)
    except PlanError as error:
        raise CommandError(str(error)) from error
    if plan.next is None:
        return Reply("All steps of the plan are done. To execute one again, /plan edit removes its status.")
    await _choose(mode, context)
    if kept.phase != "executing":  # otherwise the branch is the one on which it is executed
        await context.navigation.restart()
    return Submit(await begin(kept, context))


async def _choose(mode: str, context: CommandContext) -> None:
    """Set the mode in which the plan is executed.

    Raises:
        CommandError: nothing can be changed in it.
    """
    approvals = context.approvals
    if mode:
        await approvals.choose(mode)
    elif approvals.policy == MODE:
        await approvals.leave_plan()
    elif approvals.policy == "read-only":
        raise CommandError("the mode is read-only, so nothing could be executed: use /plan run auto or ask")


async def _of_file(name: str, context: CommandContext) -> KeptPlan:
    """The plan in a file.

    Raises:
        CommandError: it cannot be read, or somebody else executes it.
    """
    path = _path(name, context)
    lock = ExecutionLock(path)
    try:
        content = await context.workspace.read(path)
        text = content.data.decode()
    except OSError as error:
        lock.release()
        raise CommandError(f"{name} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        lock.release()
        raise CommandError(f"{name} is not UTF-8: save the plan as UTF-8") from error
    state = context.state(PlanState, PlanState)
    if state.lock is not None:
        state.lock.release()
    state.lock = lock
    return KeptPlan(text, file=path, digest=content.digest or "")


async def _revise(context: CommandContext) -> CommandAction:
    kept = _kept(context)
    if kept.phase != "failed":
        raise CommandError("No step of the plan has failed. In the mode plan, a message asks for changes.")
    if kept.origin:
        await context.navigation.travel(kept.origin)
    await context.approvals.choose(MODE)
    keep(KeptPlan(kept.text), context)
    return Submit(
        "The plan was executed until a step failed. What is done is marked, and its changes are in the project. Find"
        " out why it failed, and revise the plan: keep the steps that are done with their status, change the others."
        f"\n\n<plan>\n{kept.text}</plan>\n\n{kept.why}"
    )


def _path(name: str, context: CommandContext) -> str:
    return os.path.join(context.workspace.root, os.path.expanduser(name))


def _exists(path: str) -> bool:
    return os.path.lexists(path)


def _first_word(typed: str) -> tuple[str, str]:
    """A name, which may be quoted, and what follows it.

    Raises:
        CommandError: there is none.
    """
    stream = StringIO(typed)
    lexer = shlex(stream, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        name = lexer.get_token()
    except ValueError as error:
        raise CommandError(f"{typed!r} has a quotation mark too many") from error
    if not name:
        raise CommandError("name a file: /plan --to FILE TASK")
    return name, stream.read()


def _words(typed: str) -> list[str]:
    """Words, which may be quoted."""
    try:
        return split(typed)
    except ValueError:  # the apostrophe of a task
        return typed.split()


def _kept(context: CommandContext) -> KeptPlan:
    """The plan of this branch.

    Raises:
        CommandError: there is none.
    """
    if (kept := last_plan(context)) is None:
        raise CommandError("There is no plan. /plan TASK makes one.")
    return kept


class ExecutionLock:
    """A lock on a file, held until it is released or kaa ends.

    Args:
        path: of the file, absolute.

    Raises:
        CommandError: somebody else holds it, or the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise CommandError(f"{path} cannot be opened: {error.strerror}") from error
        try:
            regular_files.lock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            raise CommandError(f"another kaa executes {path} already; wait until it is done, or stop it") from error

    def release(self) -> None:
        os.close(self._descriptor)
