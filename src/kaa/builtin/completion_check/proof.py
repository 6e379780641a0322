"""Follows the calls of a run: what they changed, and whether something was executed since."""

import posixpath
import re
from collections.abc import Iterable

from kaa.builtin.command_kinds import kind_of, only_by_git, only_deletes, only_discards, targets_of
from kaa.builtin.completion_check import Proof, UnverifiedWork
from kaa.core.messages import Json, ToolCall
from kaa.core.tool import ToolResult
from kaa.ext.api import ConversationContext

_MOST_FILES = 50
_MOST_CALLERS = 64  # agents that are under way at a time
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
# Prose, logs, and what no test of a project covers.
UNTESTED = re.compile(
    r"(?i).*\.(?:md|markdown|rst|txt|adoc|org|log)|(?:.*/)?(?:license|notice|authors|changelog|\.gitignore|\.envrc)"
    r"|(?:.*/)?\.(?:git|vscode|idea|zed|devcontainer|husky)/.*"
)
# Shells say so if there is no such program, or if it cannot be executed.
_NOT_FOUND = (126, 127)


def note(call: ToolCall, result: ToolResult, context: ConversationContext) -> None:
    """Note what a call did.

    Args:
        call: the call, of the model, an agent, or kaa itself.
    """
    proof = context.state(Proof, Proof)
    caller = _author(context.caller)
    work = proof.work.get(caller)
    if work is None:
        if len(proof.work) >= _MOST_CALLERS:
            del proof.work[next(one for one in proof.work if one)]
        work = proof.work[caller] = UnverifiedWork()
    match call.name:
        case "edit" | "write" | "apply_patch":
            if not result.is_error:
                changed, deleted = _paths(call.arguments)
                _change(work, inside(changed, context.workspace.root))
                _record(work, inside(deleted, context.workspace.root))
        case "bash":
            _note_command(work, call, result, context)
        case "agent":
            _take_over(work, proof, result)
        case _:
            work.prove()
    proof.acted = True


def _author(caller: str) -> str:
    """Whose work a call is: what kaa and extensions call is done for the conversation."""
    return "" if caller == "kaa" or caller.startswith("extension ") else caller


def _note_command(work: UnverifiedWork, call: ToolCall, result: ToolResult, context: ConversationContext) -> None:
    command = str(call.arguments.get("command", ""))
    details = result.details if isinstance(result.details, dict) else {}
    if command in context.verify_commands:
        work.prove()
        if not result.is_error:
            work.passed.add(command)
        else:
            work.passed.discard(command)
        return
    match kind_of(command, context.read_command):
        case "writes" if call.arguments.get("background") is not True:  # what a server writes is no work to verify
            reading = context.read_command(command)
            if not work.changed and only_discards(reading):
                return  # what is there now is no work of this run
            by_git = only_by_git(reading)
            is_own = by_git is None or (by_git == "takes back" and work.is_own)
            is_own = is_own and not only_deletes(reading)  # there is nothing left to execute
            targets = targets_of(reading)
            (_change if is_own else _record)(work, inside(targets, context.workspace.root) if targets else [""])
        case "executes" if details.get("exitCode") not in _NOT_FOUND:
            work.prove()
            work.passed.clear()  # it may have changed something
        case _:
            pass


def _take_over(work: UnverifiedWork, proof: Proof, result: ToolResult) -> None:
    """What an agent has done is done for the one that called for it; one in the background works for itself."""
    details = result.details if isinstance(result.details, dict) else {}
    done = proof.work.pop(str(details.get("agent", "")), None) if details.get("agent") else None
    if done is None or details.get("worktree"):
        return
    _record(work, done.changed)
    work.is_own |= done.is_own
    if done.unproven is False:
        work.prove()
    elif done.unproven:
        work.unproven = True
        work.unproven_files |= done.unproven_files
    work.passed |= done.passed


def _change(work: UnverifiedWork, paths: Iterable[str]) -> None:
    """Note files that were changed by the work itself: what was executed before proves nothing of them."""
    changed = list(paths)
    work.is_own |= bool(changed)
    if not all(map(UNTESTED.fullmatch, changed)):
        work.unproven = True
    _record(work, changed)
    work.unproven_files |= dict.fromkeys(path for path in changed if path in work.changed)


def _record(work: UnverifiedWork, paths: Iterable[str]) -> None:
    """Note files that are different now, so that declared commands have something to verify."""
    for path in paths:
        if len(work.changed) < _MOST_FILES:
            work.changed[path] = None
        work.passed.clear()


def _paths(arguments: dict[str, Json]) -> tuple[list[str], list[str]]:
    """The files that a call changed, and those that it deleted."""
    path = arguments.get("path")
    if isinstance(path, str):
        return [path], []
    texts = (value for value in arguments.values() if isinstance(value, str))
    patched = [(action, path.strip()) for text in texts for action, path in _PATCHED.findall(text)]
    if not patched:
        return [""], []
    deleted = [path for action, path in patched if action == "Delete"]
    return [path for action, path in patched if action != "Delete"], deleted


def inside(paths: Iterable[str], root: str) -> list[str]:
    """The paths in the project, relative to it."""
    found = []
    for path in paths:
        full = posixpath.normpath(posixpath.join(root, path)) if path else ""
        if not path or full.startswith(root.rstrip("/") + "/"):
            found.append(full.removeprefix(root.rstrip("/") + "/"))
    return found
