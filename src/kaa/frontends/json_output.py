"""JSON mode's output: one JSON object per line, the session's header first, then every event.

Streamed text appears as deltas only, so the output is linear in the size of the run.
"""

import re
from typing import BinaryIO, TextIO

import msgspec

from kaa.core.events import AgentEnd, CompactionEnd, Event, MessageEnd, TurnEnd
from kaa.core.messages import AssistantMessage, Json, Message, Usage
from kaa.core.spending import IsFree, is_price_unknown
from kaa.core.usage import prompt_tokens
from kaa.frontends import getting_started
from kaa.frontends.delivery import deliver
from kaa.frontends.json_text import encoded
from kaa.llm.models.registry import NoModelError
from kaa.tui.sanitize import sanitize

# What JSON may hold as it is, but a terminal obeys: DEL and C1, in UTF-8.
_OBEYED = re.compile(rb"\x7f|\xc2[\x80-\x9f]")


def _nothing_is_free(_provider: str, _model: str) -> bool:
    return False


class JsonOutput:
    """Writes a run for programs.

    Args:
        out: gets the lines.
        err: gets the reason when the run did not end well, as in print mode.
    """

    def __init__(self, out: BinaryIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._for_people = out.isatty()
        self._is_free: IsFree = _nothing_is_free
        self._ended = False

    def event(self, event: Event) -> None:
        """Write one event."""
        self._line(encoded(self._with_costs(event)))
        self._ended = isinstance(event, AgentEnd)
        if isinstance(event, AgentEnd) and event.reason != "done":
            self._tell(f"kaa: {event.error or event.reason}\n")

    def know_free_models(self, is_free: IsFree) -> None:
        """From now on prices of nothing are told from unknown ones; before, none is nothing."""
        self._is_free = is_free

    def header(self, session: dict[str, Json]) -> None:
        """Write the session's header."""
        self._line(encoded(session))

    def reply(self, text: str) -> None:
        """Write what a slash command answered; it ends as everything else does."""
        self._line(encoded({"type": "command_reply", "text": text}))
        self.event(AgentEnd("done", ()))

    def progress(self, line: str) -> None:
        """Write a notice; on stderr once everything has ended, as the end is to be the last line."""
        if self._ended:
            self._tell(f"{line}\n")
            return
        self._line(encoded({"type": "notice", "text": line}))

    def failure(self, message: str) -> None:
        """Say why nothing was done; the last event, in the shape of a run's end."""
        self.event(AgentEnd("error", (), message))

    def no_model(self, error: NoModelError) -> None:
        """Say how to get going, on stderr; the last event says that nothing was done."""
        self._line(encoded(AgentEnd("error", (), str(error))))
        self._tell(getting_started.screen(error))

    def _with_costs(self, event: Event) -> object:
        """The event, with null for the cost of what has an unknown price: 0 would be taken for a price."""
        match event:
            case MessageEnd(message=message) | TurnEnd(message=message) if self._is_unpriced(message):
                told = msgspec.to_builtins(event)
                told["message"]["usage"]["cost"] = None
                return told
            case AgentEnd(messages=messages) if any(map(self._is_unpriced, messages)):
                told = msgspec.to_builtins(event)
                for message, written in zip(messages, told["messages"], strict=True):
                    if self._is_unpriced(message):
                        written["usage"]["cost"] = None
                return told
            case CompactionEnd(usage=Usage() as usage, model=str(model)) if self._is_unknown(usage, model):
                told = msgspec.to_builtins(event)
                told["usage"]["cost"] = None
                return told
            case _:
                return event

    def _is_unpriced(self, message: Message) -> bool:
        if not isinstance(message, AssistantMessage):
            return False
        return self._is_unknown(message.usage, f"{message.provider}/{message.model}")

    def _is_unknown(self, usage: Usage, model: str) -> bool:
        provider, _, model_id = model.partition("/")
        tokens = prompt_tokens(usage) + usage.output
        return is_price_unknown(self._is_free, provider, model_id, tokens=tokens, cost=usage.cost.total)

    def _line(self, encoded: bytes) -> None:
        if self._for_people:
            encoded = _OBEYED.sub(lambda match: b"\\u00%02x" % match[0][-1], encoded)
        deliver(self._out, encoded + b"\n")

    def _tell(self, text: str) -> None:
        deliver(self._err, sanitize(text))
