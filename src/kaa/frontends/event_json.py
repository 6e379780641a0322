"""Events as other programs get them, in JSON and rpc mode: those of kaa, with the fields that pi's clients look at.

New session entries and failures of extensions are events there too, as in pi.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from kaa.core.events import (
    AgentEnd,
    CompactionEnd,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    SessionInfoChanged,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallStart,
    ToolExecutionUpdate,
    TurnEnd,
    UserCommandUpdate,
)
from kaa.core.messages import AssistantMessage, Message, Usage, UserMessage
from kaa.core.spending import IsFree, is_price_unknown
from kaa.core.usage import prompt_tokens
from kaa.ext.errors import ExtensionFailedError
from kaa.session.as_user_message import custom_entry

if TYPE_CHECKING:
    from kaa.ext.display import DisplayUpdate

_NOTHING_USED = Usage()


def _nothing_is_free(_provider: str, _model: str) -> bool:
    return False


def entry_appended(line: bytes) -> dict[str, object]:
    """The event for a new entry of the session; `line` is the entry as the session file has it."""
    return {"type": "entry_appended", "entry": msgspec.Raw(line)}


def extension_error(failure: ExtensionFailedError) -> dict[str, object]:
    """The event for the failure of an extension."""
    path, part, problem = failure.extension, failure.part, failure.problem
    return {"type": "extension_error", "extensionPath": path, "event": part, "error": problem}


def message_json(message: Message) -> object:
    """A message as pi has it: one of an extension has a role of its own."""
    if not isinstance(message, UserMessage) or message.note is None:
        return message
    entry = custom_entry(message)
    details = {} if entry.details is None else {"details": entry.details}
    return {
        "role": "custom",
        "customType": entry.custom_type,
        "content": message.content,
        "display": entry.display,
        **details,
        "timestamp": message.timestamp,
    }


def display_event(update: "DisplayUpdate") -> dict[str, object]:
    """The event for what an extension shows; a notice is one as kaa's own are."""
    change: dict[str, object] = msgspec.to_builtins(update.change)
    whose = {"extension": update.extension, "conversation": update.conversation}
    if change["kind"] == "notice":
        return {"type": "notice", "text": change["text"], "level": change["level"], **whose}
    return {"type": "extension_display", **whose, **change}


class EventJson:
    """Turns events into what is written.

    Args:
        is_free: tells a price of nothing from an unknown one.

    Attributes:
        command_id: what a client called the person's command that runs now.
    """

    def __init__(self, is_free: IsFree = _nothing_is_free) -> None:
        self._is_free = is_free
        self.command_id: str | int | None = None
        self._growing: dict[tuple[str | None, int], list[str]] = {}  # text blocks, by agent and place in the reply

    def of(self, event: Event) -> object:
        """The event as it is to be encoded. The cost of what has an unknown price is null: 0 would pass for a price."""
        match event:
            case MessageStart(message=message) | MessageEnd(message=message) | TurnEnd(message=message):
                written = self._message(message)
                return event if written is message else msgspec.to_builtins(event) | {"message": written}
            case MessageUpdate():
                return self._update(event)
            case ToolExecutionUpdate(delta=delta):
                partial = {"content": [{"type": "text", "text": delta}], "details": {}}
                return msgspec.to_builtins(event) | {"partialResult": partial}
            case SessionInfoChanged(name=None):
                return {"type": "session_info_changed"}
            case AgentEnd():
                return self._end(event)
            case CompactionEnd():
                return self._compaction(event)
            case UserCommandUpdate(delta=delta):
                named = {} if self.command_id is None else {"id": self.command_id}
                return {"type": "bash_execution_update", **named, "delta": delta, "skippedBytes": event.skipped_bytes}
            case _:
                return event

    def compacted(self, end: CompactionEnd) -> dict[str, object]:
        """The result of a compaction that succeeded."""
        usage: dict[str, Any] = {} if end.usage is None else {"usage": msgspec.to_builtins(end.usage)}
        if end.usage is not None and end.model is not None and self._is_unknown(end.usage, end.model):
            usage["usage"]["cost"] = None
        return {
            "summary": end.summary,
            "firstKeptEntryId": end.first_kept_entry_id,
            "tokensBefore": end.tokens_before,
            "estimatedTokensAfter": end.tokens_after,
            **usage,
        }

    def _update(self, event: MessageUpdate) -> dict[str, object]:
        """A step of a reply: usage is known at its end only, and the end of a block has the whole block."""
        change: object = event.assistant_message_event
        match event.assistant_message_event:
            case TextStart(index) | ThinkingStart(index):
                self._growing[event.agent, index] = []
            case TextDelta(index, delta) | ThinkingDelta(index, delta):
                self._growing.setdefault((event.agent, index), []).append(delta)
            case TextEnd(index) | ThinkingEnd(index):
                content = "".join(self._growing.pop((event.agent, index), ()))
                change = msgspec.to_builtins(change) | {"content": content}
            case ToolCallStart(index, call_id, name):
                change = {"type": "toolcall_start", "contentIndex": index, "id": call_id, "toolName": name}
            case _:
                pass
        agent = {} if event.agent is None else {"agent": event.agent}
        return {"type": "message_update", **agent, "usage": _NOTHING_USED, "assistantMessageEvent": change}

    def _end(self, event: AgentEnd) -> dict[str, Any]:
        told: dict[str, Any] = msgspec.to_builtins(event)
        told["willRetry"] = False  # what is tried again is tried again within the run
        told["messages"] = [self._message(message) for message in event.messages]
        return told

    def _message(self, message: Message) -> object:
        if not self._is_unpriced(message):
            return message_json(message)
        told = msgspec.to_builtins(message)
        told["usage"]["cost"] = None
        return told

    def _compaction(self, event: CompactionEnd) -> dict[str, Any]:
        told: dict[str, Any] = msgspec.to_builtins(event)
        told |= {"aborted": event.aborted, "willRetry": event.will_retry}
        if event.error is not None:
            told["errorMessage"] = event.error
        elif not event.aborted:
            told["result"] = result = self.compacted(event)
            told |= {"usage": result["usage"]} if "usage" in result else {}
        return told

    def _is_unpriced(self, message: Message) -> bool:
        if not isinstance(message, AssistantMessage):
            return False
        return self._is_unknown(message.usage, f"{message.provider}/{message.model}")

    def _is_unknown(self, usage: Usage, model: str) -> bool:
        provider, _, model_id = model.partition("/")
        tokens = prompt_tokens(usage) + usage.output
        return is_price_unknown(self._is_free, provider, model_id, tokens=tokens, cost=usage.cost.total)
