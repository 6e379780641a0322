"""What hooks know of the conversation, and the fields that the inputs of all events have."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from kaa.builtin.agent_hooks.rights import runs_sandboxed
from kaa.builtin.agents import RUNNING_AGENT
from kaa.components.hooks import HookDefinition
from kaa.components.skill import UsedSkills
from kaa.ext.api import ConversationContext

# Why a session starts and ends, in the words of Claude Code. Gemini CLI says `exit` for the end of the program.
SOURCES = {"startup": "startup", "reload": "startup", "new": "clear", "resume": "resume", "fork": "resume"}
REASONS = {"new": "clear", "resume": "resume"}


class HookState(msgspec.Struct):
    """What is kept of a conversation for its hooks.

    Attributes:
        path: its file, in kaa's format; empty if there is none.
        prompt: what the user said last.
        contexts: texts for the model that wait for the next message.
        call_contexts: those that wait for the result of a call, by its id.
        stops: how often hooks kept the agent from its end, since the user's last message.
        halted: why a hook stopped the agent; empty if none did.
        begun: the hooks with `once` that have run.
        failed: the hooks whose failure the user has seen since the last message.
        told: what the user has read about them: each is said once, also of hooks that begin alike and fail alike.
        advised: the user has read what helps a hook that the sandbox stops.
    """

    session_id: str = ""
    path: str = ""
    prompt: str = ""
    turn: int = 0
    contexts: list[str] = []
    call_contexts: dict[str, tuple[str, ...]] = {}
    stops: int = 0
    halted: str = ""
    begun: set[HookDefinition] = set()
    failed: set[HookDefinition] = set()
    told: set[str] = set()
    advised: bool = False


def base_input(hook: HookDefinition, state: HookState, context: ConversationContext) -> dict[str, Any]:
    """The fields of all inputs, in the dialect of a hook."""
    given = {
        "session_id": state.session_id,
        # In the sandbox it could not be read.
        "transcript_path": "" if runs_sandboxed(hook, context.workspace.root) else state.path,
        "cwd": context.workspace.root,
        "hook_event_name": hook.named_event,
    }
    match hook.dialect:
        case "gemini":
            return {**given, "timestamp": datetime.now(UTC).isoformat()}
        case "codex":
            model = context.models.current.model.id
            return {**given, "permission_mode": "default", "turn_id": str(state.turn), "model": model}
        case _:
            return {**given, "permission_mode": "default"}


def wanted(hook: HookDefinition, state: HookState, context: ConversationContext) -> bool:
    """Whether a hook runs now, and still runs in this session; notes that it does."""
    if hook.scope and not _is_in_scope(hook.scope, context):
        return False
    if not hook.once:
        return True
    if hook in state.begun:
        return False
    state.begun.add(hook)
    return True


def _is_in_scope(scope: str, context: ConversationContext) -> bool:
    kind, _, name = scope.partition(" ")
    if kind == "agent":
        return RUNNING_AGENT.get() == name
    return name in context.state(UsedSkills, UsedSkills).names
