"""Hooks at the user's messages, at the end of a run, at compaction, and at the start and end of sessions."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from kaa.builtin.agent_hooks.handlers import Handlers, is_within_hook
from kaa.builtin.agent_hooks.inputs import REASONS, SOURCES, HookState, base_input, wanted
from kaa.builtin.agents import AgentEnds
from kaa.components.hooks import HookDefinition, HookEvent
from kaa.components.hooks.matching import matches
from kaa.components.hooks.outputs import HookOutcome, merged
from kaa.ext.api import (
    AssistantMessage,
    Block,
    CompactionRequest,
    Continue,
    ConversationContext,
    Notification,
    SessionEnd,
    SessionStart,
    TextContent,
    ToolCall,
    UserMessage,
    events,
)

MAX_STOPS: Final = 8
"""How often hooks can keep the agent from its end, as in Claude Code."""

# Of all hooks for the end of a session: kaa waits five seconds.
_END_SECONDS = 4.0


class RunHooks:
    def __init__(self, hooks: Sequence[HookDefinition], handlers: Handlers) -> None:
        self._hooks = hooks
        self._handlers = handlers
        self._notifying: set[asyncio.Task[HookOutcome]] = set()

    async def start(self, start: SessionStart, context: ConversationContext) -> None:
        state = _state(context)
        context.state(AgentEnds, AgentEnds).objection = self.agent_stop
        state.session_id, state.path = start.session_id, start.path or ""
        source = SOURCES.get(start.reason, "startup")
        outcome = await self._run("SessionStart", context, {"source": source}, source)
        state.contexts += outcome.contexts

    async def end(self, end: SessionEnd, context: ConversationContext) -> None:
        reason = REASONS.get(end.reason, "other")
        await self._run("SessionEnd", context, {"reason": reason}, reason, longest=_END_SECONDS)
        await self._handlers.close()

    async def prompt(self, message: UserMessage, context: ConversationContext) -> UserMessage | Block | None:
        """UserPromptSubmit."""
        state = _state(context)
        state.prompt, state.stops, state.halted = message.text, 0, ""
        state.turn += 1
        state.failed.clear()
        outcome = await self._run("UserPromptSubmit", context, {"prompt": message.text})
        if outcome.decision == "deny" or outcome.halts:
            return Block(outcome.reason or "a hook refused the message")
        contexts = (*state.contexts, *outcome.contexts)
        state.contexts = []
        if not contexts:
            return None
        content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
        added = (TextContent(f"<hook-context>\n{text}\n</hook-context>") for text in contexts)
        return msgspec.structs.replace(message, content=(*content, *added))

    async def halt(self, _call: ToolCall, context: ConversationContext) -> Block | None:
        """Run no tools after a hook stopped the agent."""
        halted = _state(context).halted
        return Block(f"A hook has stopped the agent: {halted}") if halted else None

    async def stop(self, reply: AssistantMessage, context: ConversationContext) -> Continue | None:
        state = _state(context)
        if state.halted:
            return None
        given = {
            "stop_hook_active": state.stops > 0,
            "last_assistant_message": reply.text,
            "prompt": state.prompt,
            "prompt_response": reply.text,
        }
        outcome = await self._run("Stop", context, given)
        if outcome.halts or outcome.decision != "deny":
            return None
        if state.stops == MAX_STOPS:
            context.show.notice(f"Hooks kept the agent from its end {MAX_STOPS} times: now it ends", "warning")
            return None
        state.stops += 1
        return Continue(outcome.reason or "A hook does not let you stop yet.")

    async def agent_stop(self, agent: str, kind: str, text: str, context: ConversationContext) -> str:
        """SubagentStop. Returns why an agent may not end yet; empty if it may.

        Args:
            text: its last message.
        """
        given = {"agent_id": agent, "agent_type": kind, "last_assistant_message": text, "stop_hook_active": False}
        outcome = await self._run("SubagentStop", context, given, kind)
        if outcome.halts or outcome.decision != "deny":
            return ""
        return outcome.reason or "A hook does not let you stop yet."

    async def before_compaction(self, request: CompactionRequest, context: ConversationContext) -> Block | None:
        """PreCompact."""
        trigger = "manual" if request.reason == "manual" else "auto"
        given = {"trigger": trigger, "custom_instructions": request.instructions}
        outcome = await self._run("PreCompact", context, given, trigger)
        if outcome.decision == "deny" or outcome.halts:
            return Block(outcome.reason or "a hook refused it")
        return None

    async def after_compaction(self, end: events.CompactionEnd, context: ConversationContext) -> None:
        """PostCompact, and SessionStart, because the model has lost what it was told at the start."""
        trigger = "manual" if end.reason == "manual" else "auto"
        await self._run("PostCompact", context, {"trigger": trigger, "compact_summary": end.summary}, trigger)
        outcome = await self._run("SessionStart", context, {"source": "compact"}, "compact")
        _state(context).contexts += outcome.contexts

    def notify(self, notification: Notification, context: ConversationContext) -> None:
        """Notification: kaa waits for the user's answer."""
        if notification.kind != "question" or is_within_hook():
            return
        given = {"message": notification.text, "title": "kaa", "notification_type": "permission_prompt"}
        task = asyncio.ensure_future(self._run("Notification", context, given, "permission_prompt", "ToolPermission"))
        self._notifying.add(task)
        task.add_done_callback(self._notifying.discard)

    async def _run(
        self,
        event: HookEvent,
        context: ConversationContext,
        given: dict[str, Any],
        *subjects: str,
        longest: float | None = None,
    ) -> HookOutcome:
        if is_within_hook():
            return HookOutcome()
        state = _state(context)
        hooks = [
            hook
            for hook in self._hooks
            if hook.event == event and matches(hook, subjects) and wanted(hook, state, context)
        ]
        if not hooks:
            return HookOutcome()
        jobs = [(hook, {**base_input(hook, state, context), **given}) for hook in hooks]
        if longest is not None:
            return merged(one for _, one in await self._handlers.run(jobs, context, longest))
        with context.waiting():
            return merged(one for _, one in await self._handlers.run(jobs, context))


def _state(context: ConversationContext) -> HookState:
    return context.state(HookState, HookState)
