"""What the events of a run of kaa add up to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

# How the server or the user ends a reply.
_NO_REPLY = ("error", "aborted")


class Tally:
    """Counts events of JSON mode.

    Attributes:
        reason: why the run ended; empty before that.
        error: what went wrong then.
        model: that answered last, `provider/id`.
        turns: requests that were answered, without those of agents.
        cost: US dollars; None if a price is not known.
        notes: entries of extensions, by their kind.
    """

    def __init__(self) -> None:
        self.reason = self.error = ""
        self.model = ""
        self.turns = self.tool_calls = 0
        self.input = self.output = self.cache_read = self.cache_write = 0
        self.cost: float | None = 0.0
        self.notes: dict[str, int] = {}

    def count(self, event: Mapping[str, Any]) -> None:
        """Take an event of JSON mode into account."""
        match event:
            case {"type": "message_end", "message": {"role": "assistant", "usage": dict(usage), **message}}:
                self._count_usage(usage)
                if "agent" not in event and message.get("stopReason") not in _NO_REPLY:
                    self.turns += 1
                    self.model = f"{message.get('provider')}/{message.get('responseModel') or message.get('model')}"
            case {"type": "compaction_end", "usage": dict(usage)}:
                self._count_usage(usage)
            case {"type": "tool_execution_end"}:
                self.tool_calls += 1
            case {"type": "agent_end", "reason": str(reason)} if "agent" not in event:
                self.reason, self.error = reason, str(event.get("error") or "")
            case {"type": "entry_appended", "entry": {"type": "custom" | "custom_message", "customType": str(kind)}}:
                self.notes[kind] = self.notes.get(kind, 0) + 1
            case _:
                pass

    def _count_usage(self, usage: Mapping[str, Any]) -> None:
        self.input += usage.get("input", 0)
        self.output += usage.get("output", 0)
        self.cache_read += usage.get("cacheRead", 0)
        self.cache_write += usage.get("cacheWrite", 0)
        match usage.get("cost"):
            case {"total": int() | float() as dollars} if self.cost is not None:
                self.cost += dollars
            case _:  # once a price is unknown, so is the sum
                self.cost = None


def tally_of(events: Path) -> Tally:
    """What a file of events adds up to. What is no event is left out: a run that is killed leaves a torn line."""
    tally = Tally()
    with events.open("rb") as lines:
        for line in lines:
            try:
                tally.count(msgspec.json.decode(line, type=dict[str, Any]))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
    return tally
