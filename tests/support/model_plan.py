"""Turns scripted answers into what a connection has to do: bytes to write, and where the fault strikes."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import TypeAlias, get_args

from tests.support.model_script import Fault, Refusal, ScriptItem
from tests.support.model_wire import SseEvent, Wire, refusal_body, render, render_failure

_MALFORMED = b'data: {"choices": [{"delta": {"content": "br\n\n'

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class Action(Enum):
    """What a connection can do besides writing bytes."""

    STALL = auto()
    RESET = auto()


Step: TypeAlias = bytes | Action
Plan: TypeAlias = tuple[Step, ...]


def plan(item: ScriptItem, wire: Wire, number: int = 1) -> Plan:
    """What a connection has to do to give this answer, the `number`th of its server."""
    if isinstance(item, Refusal):
        return (whole(item.status, refusal_body(item, wire), item.headers),)
    before, action, after = _split_at_fault(render(item, wire, number), item.fault, wire)
    head = _head(200, (("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")))
    ending = () if action is Action.RESET else (_chunked(after, item.piece_bytes) + b"0\r\n\r\n",)
    return (head + _chunked(before, item.piece_bytes), *([action] if action else []), *ending)


def paced(item: ScriptItem, wire: Wire, number: int = 1) -> Plan:
    """The same answer with a stall after each event, up to the last delta: with that, all the rest is sent.

    Agents run a call as soon as its arguments are complete, so what follows them must not come later.
    """
    if isinstance(item, Refusal) or item.fault is not None:
        return plan(item, wire, number)
    events = render(item, wire, number)
    last = max((index for index, event in enumerate(events) if event.is_delta), default=0)
    head = _head(200, (("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")))
    steps: list[Step] = [head]
    for event in events[:last]:
        steps += [_chunked([event.data], 0), Action.STALL]
    return (*steps, _chunked([event.data for event in events[last:]], 0) + b"0\r\n\r\n")


# Makes the plan of an answer, the `number`th of its server.
MakePlan: TypeAlias = Callable[[ScriptItem, Wire, int], Plan]


class Script:
    """The answers in order, rendered for every wire format before anyone asks.

    Args:
        items: the answers.
        make: makes the plan of one: `plan`, or `paced`.
    """

    def __init__(self, items: Iterable[ScriptItem], make: MakePlan = plan) -> None:
        self._plans = [
            {wire: make(item, wire, number) for wire in get_args(Wire)} for number, item in enumerate(items, start=1)
        ]
        self._next = 0

    @property
    def remaining(self) -> int:
        """How many answers were not taken yet."""
        return len(self._plans) - self._next

    def take(self, wire: Wire) -> Plan:
        """The answer to the next request. One too many is refused for good, so that agents do not retry it."""
        if not self.remaining:
            return plan(Refusal(400, body='{"error": {"message": "the script of the test has ended"}}'), wire)
        self._next += 1
        return self._plans[self._next - 1][wire]


def _split_at_fault(
    events: Sequence[SseEvent], fault: Fault | None, wire: Wire
) -> tuple[list[bytes], Action | None, list[bytes]]:
    """What is sent before the fault, what the connection does then, and what is sent after it."""
    stream = [event.data for event in events]
    if fault is None:
        return stream, None, []
    deltas = [index for index, event in enumerate(events) if event.is_delta]
    # Not every wire format cuts the arguments of a call into pieces.
    position = deltas[min(fault.after, len(deltas)) - 1] + 1 if fault.after else deltas[0]
    before, after = stream[:position], stream[position:]
    match fault.kind:
        case "reset":
            return before, Action.RESET, []
        case "stall":
            return before, Action.STALL, after
        case "early_end":
            return before, None, []
        case "malformed":
            return [*before, _MALFORMED, *after], None, []
        case "error":
            return [*before, render_failure(wire)], None, []


def _chunked(events: Sequence[bytes], piece_bytes: int) -> bytes:
    """HTTP chunks of the events, each its own as servers flush them, or all of them cut into pieces."""
    if piece_bytes:
        body = b"".join(events)
        events = [body[start : start + piece_bytes] for start in range(0, len(body), piece_bytes)]
    return b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events)


def _head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def whole(status: int, body: bytes, headers: Iterable[tuple[str, str]] = ()) -> bytes:
    """A response that is no stream."""
    fixed = (("Content-Type", "application/json"), ("Content-Length", str(len(body))))
    return _head(status, (*fixed, *headers)) + body
