"""PreToolUse and PostToolUse: hooks around the calls of tools."""

from collections.abc import Sequence
from typing import Any

import msgspec

from kaa.builtin.agent_hooks.calls import CallHook, answered, hooks_for, input_of, named, normalized, replaced
from kaa.builtin.agent_hooks.handlers import Handlers, hooks_within, is_within_hook
from kaa.builtin.agent_hooks.inputs import HookState, base_input, wanted
from kaa.builtin.seen_files import SeenFiles
from kaa.builtin.tools.argument_names import with_path
from kaa.components.hooks import HookDefinition, HookEvent
from kaa.components.hooks.outputs import HookOutcome, merged
from kaa.core.messages import Json
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

_AFTER: tuple[HookEvent, ...] = ("PostToolUse", "PostToolUseFailure")
_WRITING = frozenset({"write", "edit"})
_HALTED = "A hook has stopped the agent: {}. Call no more tools, and tell the user."


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
        """Show the hooks a result."""
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
