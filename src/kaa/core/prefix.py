"""What of a request repeats the one before. Providers keep that much of a prompt, and sending it again costs less.

A prompt is kept from its beginning to the first thing that differs: model, tools, system prompt, messages. So the
first difference tells why a cache did not help. Nothing is hashed: messages are frozen and stay the same objects
while a conversation grows, so comparing two requests looks into no message that both of them hold.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from kaa.core.messages import AssistantMessage, Message, ToolResultMessage, UserMessage
from kaa.core.provider import Model, Request, ToolSchema
from kaa.core.usage import context_parts, estimate

Segment: TypeAlias = Literal["model", "tools", "system_prompt", "thinking", "message"]

# Wire formats in which the thinking parameters belong to what is kept.
# https://platform.claude.com/docs/en/build-with-claude/prompt-caching
_THINKING_IS_KEPT = frozenset({"anthropic-messages", "anthropic-vertex"})
# How many tools are named; more are counted.
_NAMED_TOOLS = 3


class PrefixChange(msgspec.Struct, frozen=True):
    """The first thing in which a request differs from the one before. `detail`: what it is, in words."""

    segment: Segment
    detail: str


def keeps_thinking(model: Model) -> bool:
    """Whether another thinking level makes the provider forget what it kept of a prompt."""
    return model.api in _THINKING_IS_KEPT


def compare(previous: Request, current: Request) -> PrefixChange | None:
    """Why `current` does not begin with all of `previous`; None if it does, or is a part of it.

    Args:
        previous: a request.
        current: a later one.
    """
    before, after = previous.model, current.model
    if (before.provider, before.id) != (after.provider, after.id):
        return PrefixChange("model", f"the model was switched from {before.qualified_id} to {after.qualified_id}")
    if detail := _tool_change(previous.tools, current.tools):
        return PrefixChange("tools", detail)
    if previous.system != current.system:
        return PrefixChange("system_prompt", "the system prompt changed")
    if keeps_thinking(after) and previous.thinking != current.thinking:
        return PrefixChange(
            "thinking", f"the thinking level was switched from {previous.thinking} to {current.thinking}"
        )
    same = _common_length(previous.messages, current.messages)
    if same < min(len(previous.messages), len(current.messages)):
        kind = _kind(previous.messages[same])
        return PrefixChange("message", f"message {same + 1} of {len(previous.messages)} ({kind}) changed")
    return None


def repeated(previous: Request, current: Request) -> float:
    """Which part of `previous`, from 0 to 1, `current` has too, wherever it stands; by estimated tokens.

    Messages behind the first difference count as well: these are what has to be paid for once more.
    """
    same = _common_length(previous.messages, current.messages)
    if previous.system == current.system and previous.tools == current.tools and same == len(previous.messages):
        return 1.0
    system = previous.system if previous.system == current.system else ""
    known = {_identity(message) for message in current.messages[same:]}
    again = [message for place, message in enumerate(previous.messages) if place < same or _identity(message) in known]
    tools = [tool for tool in previous.tools if tool in current.tools]
    whole = context_parts(previous.system, previous.tools, ()).total + sum(map(estimate, previous.messages))
    return (context_parts(system, tools, ()).total + sum(map(estimate, again))) / whole if whole else 1.0


def _common_length(one: Sequence[Message], other: Sequence[Message]) -> int:
    """How many messages both begin with."""
    length = min(len(one), len(other))
    # Lists compare by identity first: that settles the usual case without a look into any message.
    if list(one[:length]) == list(other[:length]):
        return length
    return next(place for place in range(length) if one[place] is not other[place] and one[place] != other[place])


def _identity(message: Message) -> tuple[str, int, str, int]:
    """What a message keeps when it is read from the session again, and tells it from others."""
    call = message.tool_call_id if isinstance(message, ToolResultMessage) else ""
    return type(message).__name__, message.timestamp, call, estimate(message)


def _kind(message: Message) -> str:
    match message:
        case UserMessage():
            return "of the user"
        case AssistantMessage():
            return "a reply"
        case ToolResultMessage(tool_name=name):
            return f"a result of {name}"


def _kept(tools: Sequence[ToolSchema]) -> list[ToolSchema]:
    """The tools at the beginning of the prompt: a deferred one comes where it was found."""
    return [tool for tool in tools if not tool.deferred]


def _tool_change(previous: Sequence[ToolSchema], current: Sequence[ToolSchema]) -> str:
    """What happened to the tools; empty if nothing."""
    if previous is current or list(previous) == list(current):
        return ""
    previous, current = _kept(previous), _kept(current)
    if previous == current:
        return ""
    before, after = {tool.name: tool for tool in previous}, {tool.name: tool for tool in current}
    changes = (
        ("added", [name for name in after if name not in before]),
        ("removed", [name for name in before if name not in after]),
        ("changed", [name for name, tool in after.items() if name in before and before[name] != tool]),
    )
    said = [f"{_named(names)} {what}" for what, names in changes if names]
    return "; ".join(said) or "the order of the tools changed"


def _named(names: Sequence[str]) -> str:
    listed = ", ".join(names[:_NAMED_TOOLS])
    more = f" and {len(names) - _NAMED_TOOLS} more" if len(names) > _NAMED_TOOLS else ""
    return f"the tool {listed} was" if len(names) == 1 else f"the tools {listed}{more} were"
