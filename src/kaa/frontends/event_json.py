"""Events as other programs get them, in JSON and rpc mode: those of kaa, with the fields that pi's clients look at.

New session entries and failures of extensions are events there too, as in pi.
"""

from typing import Any

import msgspec

from kaa.core.events import AgentEnd, CompactionEnd, Event, MessageEnd, TurnEnd, UserCommandUpdate
from kaa.core.messages import AssistantMessage, Message, Usage
from kaa.core.spending import IsFree, is_price_unknown
from kaa.core.usage import prompt_tokens
from kaa.ext.errors import ExtensionFailedError


def _nothing_is_free(_provider: str, _model: str) -> bool:
    return False


def entry_appended(line: bytes) -> dict[str, object]:
    """The event for a new entry of the session; `line` is the entry as the session file has it."""
    return {"type": "entry_appended", "entry": msgspec.Raw(line)}


def extension_error(failure: ExtensionFailedError) -> dict[str, object]:
    """The event for the failure of an extension."""
    path, part, problem = failure.extension, failure.part, failure.problem
    return {"type": "extension_error", "extensionPath": path, "event": part, "error": problem}


class EventJson:
    """Turns events into what is written.

    Args:
        is_free: tells a price of nothing from an unknown one.
    """

    def __init__(self, is_free: IsFree = _nothing_is_free) -> None:
        self._is_free = is_free

    def of(self, event: Event) -> object:
        """The event as it is to be encoded. The cost of what has an unknown price is null: 0 would pass for a price."""
        match event:
            case MessageEnd(message=message) | TurnEnd(message=message) if self._is_unpriced(message):
                told = msgspec.to_builtins(event)
                told["message"]["usage"]["cost"] = None
                return told
            case AgentEnd():
                return self._end(event)
            case CompactionEnd():
                return self._compaction(event)
            case UserCommandUpdate(delta=delta):
                return {"type": "bash_execution_update", "delta": delta, "skippedBytes": event.skipped_bytes}
            case _:
                return event

    def _end(self, event: AgentEnd) -> dict[str, Any]:
        told: dict[str, Any] = msgspec.to_builtins(event)
        told["willRetry"] = False  # what is tried again is tried again within the run
        for message, written in zip(event.messages, told["messages"], strict=True):
            if self._is_unpriced(message):
                written["usage"]["cost"] = None
        return told

    def _compaction(self, event: CompactionEnd) -> dict[str, Any]:
        told: dict[str, Any] = msgspec.to_builtins(event)
        told |= {"aborted": event.aborted, "willRetry": event.will_retry}
        if event.error is not None:
            told["errorMessage"] = event.error
        elif not event.aborted:
            told["result"] = {
                "summary": event.summary,
                "tokensBefore": event.tokens_before,
                "estimatedTokensAfter": event.tokens_after,
            }
        if event.usage is not None and event.model is not None and self._is_unknown(event.usage, event.model):
            told["usage"]["cost"] = None
        return told

    def _is_unpriced(self, message: Message) -> bool:
        if not isinstance(message, AssistantMessage):
            return False
        return self._is_unknown(message.usage, f"{message.provider}/{message.model}")

    def _is_unknown(self, usage: Usage, model: str) -> bool:
        provider, _, model_id = model.partition("/")
        tokens = prompt_tokens(usage) + usage.output
        return is_price_unknown(self._is_free, provider, model_id, tokens=tokens, cost=usage.cost.total)
