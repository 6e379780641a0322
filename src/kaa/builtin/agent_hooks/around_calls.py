"""PreToolUse and PostToolUse: which hooks are for a call of a tool, their input, and what their answers mean."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from kaa.builtin.agent_hooks.handlers import Handlers, hooks_within, is_within_hook
from kaa.builtin.agent_hooks.inputs import HookState, base_input, wanted
from kaa.builtin.briefing import HEADING
from kaa.builtin.file_paths import future_path, locate
from kaa.builtin.seen_files import SeenFiles
from kaa.builtin.tools.argument_names import with_path
from kaa.builtin.tools.edit import normalize_edit_arguments
from kaa.components.hooks import HookDefinition, HookEvent
from kaa.components.hooks.matching import fulfils, matches
from kaa.components.hooks.outputs import HookOutcome, merged
from kaa.components.hooks.tools import ForeignCall, absolute, foreign_calls, own_arguments, response_of
from kaa.core.messages import Json
from kaa.core.tool import ToolError
from kaa.ext.api import (
    Block,
    ConversationContext,
    NobodyToAskError,
    ReplaceArguments,
    TextContent,
    ToolCall,
    ToolResult,
    confirm,
)
from kaa.session.changed_paths import PATCH_TOOL
from kaa.workspace.protocol import Workspace

_WITH_PATH = ("read", "write", "ls", "find", "grep")
_AFTER: tuple[HookEvent, ...] = ("PostToolUse", "PostToolUseFailure")
_WRITING = frozenset({"write", "edit"})
_HALTED = "A hook has stopped the agent: {}. Call no more tools, and tell the user."


class CallHook(NamedTuple):
    """A hook that is for a call.

    Attributes:
        call: the call in the words of its dialect.
        edit: which of several edits it is about.
        decides_only: its new input is ignored.
    """

    hook: HookDefinition
    call: ForeignCall
    edit: int
    decides_only: bool = False


class NamedCall(NamedTuple):
    """The arguments of a call by the name of the file that the tool will use.

    Attributes:
        real: the same with the real path, where a link leads to another one.
    """

    arguments: dict[str, Json]
    real: dict[str, Json] | None = None


def normalized(call: ToolCall) -> dict[str, Json]:
    """The arguments under kaa's names, as the tool itself takes them: models write those of other agents, too."""
    if call.name == "edit":
        return normalize_edit_arguments(call.arguments)
    return with_path(call.arguments) if call.name in _WITH_PATH else call.arguments


async def named(name: str, arguments: dict[str, Json], workspace: Workspace) -> NamedCall:
    """Find the file that a tool will use: a guard must not see `@notes` where `notes` is written.

    Args:
        arguments: from `normalized`.
    """
    path = arguments.get("path")
    if name not in (*_WITH_PATH, "edit") or not isinstance(path, str):
        return NamedCall(arguments)
    try:
        located = await locate(workspace, path)
        real = await future_path(workspace, path) if located is None else located.info.real_path
    except (OSError, ToolError):  # where the tool stops, too
        return NamedCall(arguments)
    found = arguments if located is None or located.path == path else {**arguments, "path": located.path}
    is_link = real != absolute(found["path"], workspace.root)
    return NamedCall(found, {**found, "path": real} if is_link else None)


def hooks_for(
    hooks: Sequence[HookDefinition], event: HookEvent, name: str, arguments: dict[str, Json], root: str
) -> Iterator[CallHook]:
    """The hooks of an event that are for a call.

    Args:
        arguments: from `normalized`.
    """
    if name == PATCH_TOOL:  # its parts are calls of `edit`, `write` and `bash`
        return
    for hook in hooks:
        if hook.event != event:
            continue
        for index, call in enumerate(foreign_calls(name, arguments, hook.dialect, root)):
            claude = foreign_calls(name, arguments, "claude", root)
            meant = claude[min(index, len(claude) - 1)]
            if matches(hook, call.names) and fulfils(hook.condition, (*call.names, *meant.names), meant.input):
                yield CallHook(hook, call, index)


def input_of(found: CallHook, call_id: str, base: dict[str, Any]) -> dict[str, Any]:
    """The input of a hook for a call. `base`: what all inputs have."""
    given = {**base, "tool_name": found.call.name, "tool_input": found.call.input}
    return given if found.hook.dialect == "gemini" else {**given, "tool_use_id": call_id}


def answered(
    found: CallHook, given: dict[str, Any], call: ToolCall, arguments: dict[str, Json], result: ToolResult, root: str
) -> dict[str, Any]:
    """The input of a hook after a call. `given`: from `input_of`."""
    first, *others = [part.text for part in result.content if isinstance(part, TextContent)] or [""]
    text = "\n".join((first, *(one for one in others if not one.startswith(HEADING))))  # which came with its output
    if found.hook.event == "PostToolUseFailure":
        return {**given, "error": text, "is_interrupt": False}
    about = arguments
    if call.name == "edit" and isinstance(edits := arguments.get("edits"), list) and found.edit < len(edits):
        about = {**arguments, "edits": [edits[found.edit]]}
    response = response_of(call.name, about, text, found.hook.dialect, root, is_error=result.is_error)
    return {**given, "tool_response": response}


def replaced(
    found: CallHook, update: dict[str, Any], call: ToolCall, arguments: dict[str, Json], root: str, *, merges: bool
) -> dict[str, Json] | None:
    """The arguments that a hook wants; None if kaa's tool cannot do that."""
    whole = {**found.call.input, **update} if merges else update
    return own_arguments(call.name, arguments, whole, found.hook.dialect, root, found.edit)


class CallHooks:
    def __init__(self, hooks: Sequence[HookDefinition], handlers: Handlers) -> None:
        self._hooks = hooks
        self._handlers = handlers

    async def before(self, call: ToolCall, context: ConversationContext) -> Block | ReplaceArguments | None:
        """Ask the hooks about a call."""
        hooks = hooks_within(self._hooks)
        state = context.state(HookState, HookState)
        if state.halted and not is_within_hook():
            return Block(_HALTED.format(state.halted))
        written, root = normalized(call), context.workspace.root
        if not any(hook.event == "PreToolUse" for hook in hooks):
            return None
        arguments, real = await named(call.name, written, context.workspace)
        of_call = [*hooks_for(hooks, "PreToolUse", call.name, arguments, root)]
        of_link = hooks_for(hooks, "PreToolUse", call.name, real, root) if real is not None else ()
        of_call += [one._replace(decides_only=True) for one in of_link]
        found = [one for one in of_call if wanted(one.hook, state, context)]
        if not found:
            return None
        jobs = [(one.hook, input_of(one, call.id, base_input(one.hook, state, context))) for one in found]
        with context.waiting():
            answers = await self._handlers.run(jobs, context)
        outcome = merged(one for _, one in answers)
        if outcome.halts:
            state.halted = _reason(outcome)
            return Block(_HALTED.format(state.halted))
        if outcome.decision == "deny":
            return Block(f"A hook refused {call.name}: {_reason(outcome)}")
        changed = _changed(found, answers, call, arguments, root)
        if isinstance(changed, Block):
            return changed
        if outcome.decision in ("ask", "defer") and not await _agrees(call, changed, outcome.reason, context):
            return Block(
                f"A hook wanted the user asked about {call.name}, and there was no yes. {outcome.reason}".rstrip()
            )
        if outcome.contexts:
            state.call_contexts[call.id] = outcome.contexts
        if changed == written:
            return None
        return ReplaceArguments(changed, source="" if changed == arguments else "a hook")

    async def after(self, call: ToolCall, result: ToolResult, context: ConversationContext) -> ToolResult | None:
        if is_within_hook():
            return None
        state = context.state(HookState, HookState)
        arguments, root = normalized(call), context.workspace.root
        contexts = list(state.call_contexts.pop(call.id, ()))
        # Only Claude tells failures apart.
        found = [
            one
            for event in _AFTER
            for one in hooks_for(self._hooks, event, call.name, arguments, root)
            if one.hook.dialect != "claude" or result.is_error == (event == "PostToolUseFailure")
        ]
        jobs: list[tuple[HookDefinition, dict[str, Any]]] = []
        for one in found:
            if wanted(one.hook, state, context):
                given = input_of(one, call.id, base_input(one.hook, state, context))
                jobs.append((one.hook, answered(one, given, call, arguments, result, root)))
        outcome = HookOutcome()
        if jobs:
            with context.waiting():
                answers = await self._handlers.run(jobs, context)
            outcome = merged(_permitted(jobs[index][0], answer, call) for index, answer in answers)
            contexts += outcome.contexts
            if difference := await _changed_by_hooks(call, result, context):
                contexts.append(difference)
        if outcome.halts:
            state.halted = _reason(outcome)
            contexts.append(_HALTED.format(state.halted))
        elif outcome.decision == "deny" and outcome.replacement is None:
            contexts.append(f"A hook objects: {_reason(outcome)}")
        if outcome.replacement is not None:
            result = msgspec.structs.replace(result, content=(TextContent(outcome.replacement),))
        if not contexts and outcome.replacement is None:
            return None
        return msgspec.structs.replace(result, content=(*result.content, *map(TextContent, contexts)))


async def _changed_by_hooks(call: ToolCall, result: ToolResult, context: ConversationContext) -> str:
    """Say what hooks such as a formatter made of a file that a call wrote, so that the model knows it; else nothing."""
    path = with_path(call.arguments).get("path")
    if call.name not in _WRITING or result.is_error or not isinstance(path, str):
        return ""
    try:
        difference = await context.state(SeenFiles, SeenFiles).learn_changes(path, context)
    except OSError:
        return ""
    return f"{path} changed while hooks ran after this call:\n\n{difference}" if difference else ""


def _reason(outcome: HookOutcome) -> str:
    """Why a hook says no; scripts that tell only the user tell the model, too."""
    return outcome.reason or " ".join(outcome.messages) or "it gave no reason"


def _permitted(hook: HookDefinition, answer: HookOutcome, call: ToolCall) -> HookOutcome:
    """The answer, without a new result if there can be none: of Claude and Codex, only those of servers change."""
    if answer.replacement is None or hook.dialect == "gemini" or call.name.startswith("mcp__"):
        return answer
    return msgspec.structs.replace(answer, replacement=None)


def _changed(
    found: Sequence[CallHook],
    answers: Sequence[tuple[int, HookOutcome]],
    call: ToolCall,
    arguments: dict[str, Json],
    root: str,
) -> dict[str, Json] | Block:
    """The arguments with all that hooks changed, or why that is impossible."""
    changed = arguments
    for index, answer in answers:
        if answer.updated_input is None or found[index].decides_only:
            continue
        new = replaced(found[index], answer.updated_input, call, changed, root, merges=answer.merges)
        if new is None:
            source = found[index].hook.source
            return Block(f"{call.name} was not run: a hook of {source} changed its input to what kaa's tool cannot do.")
        changed = new
    return changed


async def _agrees(call: ToolCall, arguments: dict[str, Json], reason: str, context: ConversationContext) -> bool:
    details = "\n".join(filter(None, (reason, msgspec.json.format(msgspec.json.encode(arguments)).decode())))
    try:
        return await confirm(context.asker, f"A hook asks: run {call.name}?", details)
    except NobodyToAskError:
        return False
