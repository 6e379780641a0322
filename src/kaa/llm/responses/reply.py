"""Replies of OpenAI's Responses and of the servers that imitate it, more or less.

What is opaque is kept as pi keeps it, so that either replays the other's sessions: a reasoning item as its JSON, a
message's id (and phase) as `{"v":1,"id":…}`, and a call's item id behind its own: `call_1|fc_1`.
"""

from typing import Final

import msgspec

from kaa.core.messages import Json, StopReason
from kaa.core.provider import BlockEnd, CallChunkStart, StreamDone
from kaa.llm import reply_json
from kaa.llm.failures import ended_early, malformed, refused_answer
from kaa.llm.http.streaming import ReplyParser
from kaa.llm.responses.events import EVENTS, ITEMS, RESPONSES, OutputItem, ResponsesEvent, ResponseState, arguments_text
from kaa.llm.responses.items import ItemKind, OpenItem, OpenItems, kind_of
from kaa.llm.responses.tool_search import as_function_call
from kaa.llm.wire import Peer

# Events that bring a piece of an item. Reasoning comes as a summary or, from open models, as it is.
_PIECES: Final[dict[str, ItemKind]] = {
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
}
# Events that repeat what the pieces were; for servers that send no pieces.
_WHOLES: Final[dict[str, ItemKind]] = {
    "response.output_text.done": "message",
    "response.refusal.done": "message",
    "response.reasoning_summary_text.done": "reasoning",
    "response.reasoning_text.done": "reasoning",
    "response.function_call_arguments.done": "function_call",
}
_ENDINGS: Final = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_BETWEEN_PARTS: Final = "\n\n"


class ResponseParser(ReplyParser):
    """Understands one reply. Arguments as for `ReplyParser`."""

    def __init__(self, peer: Peer, call_id_prefix: str = "call") -> None:
        super().__init__(peer, call_id_prefix)
        self._items = OpenItems()
        self._reasoning: dict[int, dict[str, Json]] = {}  # items by key that came without what is encrypted
        self._call_ids: set[str] = set()
        self._stop_reason: StopReason | None = None

    def accept_whole(self, body: bytes) -> None:
        """See `ReplyParser`."""
        response = self._decode(RESPONSES, body)
        if response.error:
            from kaa.llm.server_errors import failure_of_event  # lazy: few requests fail

            raise failure_of_event(reply_json.decode_any(body), self._peer)
        if response.status is None and not response.output:
            raise malformed("something other than a model's answer", body, self._peer)
        self._conclude(response, "")

    def finish(self) -> None:
        """See `ReplyParser`."""
        if self._stop_reason is None and not self.finished:
            raise ended_early(self._peer)
        for item in self._items:
            if not item.complete:
                self._start_call(item, OutputItem())
                self._end(item)
        reason = self._stop_reason or "stop"
        self._buffer.add(StreamDone("toolUse" if reason == "stop" and self._call_ids else reason))

    def _item(self, raw: msgspec.Raw) -> OutputItem:
        item = (self._decode(ITEMS, raw) if bytes(raw) else None) or OutputItem()
        return as_function_call(item) if item.type == "tool_search_call" else item

    def _take(self, data: bytes, kind: str) -> None:
        event = self._decode(EVENTS, data)
        kind = event.type or kind
        if kind in _PIECES:
            self._grow(_PIECES[kind], event, kind.rpartition(".")[0])
        elif kind in _WHOLES:
            self._fill(_WHOLES[kind], event)
        elif kind == "response.output_item.added":
            self._begin(self._item(event.item), event.output_index)
        elif kind == "response.output_item.done":
            self._complete(event.item, event.output_index)
        elif kind in _ENDINGS:
            self._conclude(event.response or ResponseState(), kind)
        elif event.error or kind == "error":
            from kaa.llm.server_errors import failure_of_event  # lazy: few requests fail

            raise failure_of_event(reply_json.decode_any(data), self._peer)
        elif event.response is not None:
            self._inform(event.response)
        # All others repeat what is known, or are still to be invented.

    def _inform(self, response: ResponseState) -> None:
        self._report(response.id, response.model, response.usage.counted() if response.usage else None)

    def _grow(self, kind: ItemKind, event: ResponsesEvent, stream: str) -> None:
        piece = arguments_text(event.delta)
        item = self._items.growing(kind, event)
        if item is None:  # its beginning never came
            item = self._items.begin(kind, event.output_index)
            self._items.name(item, OutputItem(id=event.item_id))
        if kind == "reasoning":
            if item.stream not in ("", stream):
                return
            if item.part != event.part and item.text:
                self._send(item, _BETWEEN_PARTS)
            item.stream, item.part = stream, event.part
        self._send(item, piece)

    def _fill(self, kind: ItemKind, event: ResponsesEvent) -> None:
        """Take a part of an item, or its arguments, as a whole, unless its pieces came."""
        item = self._items.growing(kind, event)
        if item is None or item.complete:
            return
        if kind == "function_call":
            self._send(item, item.missing(arguments_text(event.arguments)))
        elif not item.text:
            self._send(item, arguments_text(event.text or event.refusal))

    def _begin(self, item: OutputItem, index: int | None) -> None:
        kind = kind_of(item)
        if kind is None:
            return
        begun = self._items.begin(kind, index)
        self._items.name(begun, item)
        if kind == "function_call" and item.name and item.call_id:
            self._start_call(begun, item)

    def _complete(self, raw: msgspec.Raw, index: int | None) -> None:
        item = self._item(raw)
        kind = kind_of(item)
        if kind is not None:
            known = self._items.ended(kind, index, item) or self._items.begin(kind, index)
            self._close(known, item, raw)

    def _close(self, known: OpenItem, item: OutputItem, raw: msgspec.Raw) -> None:
        """`known` has become `item`."""
        if known.complete:
            return
        self._items.name(known, item)
        if known.kind == "function_call":
            self._start_call(known, item)
        self._send(known, known.missing(item.text))
        if known.kind == "reasoning":
            self._keep_reasoning(known, reply_json.decode_any(raw))
        elif known.kind == "message" and item.id and known.text:
            phase = {"phase": item.phase} if item.phase else {}
            self._buffer.text(known.key, "", _json({"v": 1, "id": item.id, **phase}))
        self._end(known)

    def _keep_reasoning(self, known: OpenItem, item: dict[str, Json]) -> None:
        if not item.get("encrypted_content"):
            self._reasoning[known.key] = item
        self._buffer.thinking(known.key, "", _json(item))

    def _end(self, known: OpenItem) -> None:
        known.complete = True
        self._buffer.add(BlockEnd(known.key))

    def _start_call(self, known: OpenItem, item: OutputItem) -> None:
        if known.kind != "function_call" or known.call_id is not None:
            return
        call_id = item.call_id or item.id or ""
        if not call_id or call_id in self._call_ids:
            call_id = f"{self._call_id_prefix}_{known.key}"
        self._call_ids.add(call_id)
        known.call_id = call_id
        full_id = f"{call_id}|{item.id}" if item.id and item.id != call_id else call_id
        self._buffer.add(CallChunkStart(known.key, full_id, item.name or ""))
        self._buffer.arguments(known.key, known.text)

    def _send(self, known: OpenItem, piece: str) -> None:
        if not piece:
            return
        known.grow(piece)
        match known.kind:
            case "message":
                self._buffer.text(known.key, piece)
            case "reasoning":
                self._buffer.thinking(known.key, piece)
            case "function_call" if known.call_id is not None:
                self._buffer.arguments(known.key, piece)
            case _:
                pass  # its name is still to come

    def _conclude(self, response: ResponseState, kind: str) -> None:
        """The reply is over, as the event `kind` says; empty for a reply that came in one piece."""
        self._inform(response)
        status = response.status or kind.rpartition(".")[2]
        if response.error or status in ("failed", "cancelled"):
            from kaa.llm.server_errors import failure_of_event  # lazy: few requests fail

            raise failure_of_event(response.error or f"the answer was broken off: {status}", self._peer)
        if not kind and status in ("in_progress", "queued"):
            return  # which is no end
        self._catch_up(response.output or ())
        if response.why_incomplete == "content_filter":
            raise refused_answer("its content filter stopped it", self._peer)
        self._stop_reason = "length" if status == "incomplete" else "stop"
        self.finished = True

    def _catch_up(self, output: tuple[msgspec.Raw, ...]) -> None:
        """Take from the finished reply what the stream has left out.

        Some servers send no events at the end of an item, and Azure may give what is encrypted only here.
        """
        counted: dict[ItemKind, int] = {}
        for raw in output:
            item = self._item(raw)
            kind = kind_of(item)
            if kind is None:
                continue
            number = counted.get(kind, 0)
            counted[kind] = number + 1
            known = self._items.counted(kind, number, item) or self._items.begin(kind, None)
            if known.complete and item.encrypted_content and (kept := self._reasoning.pop(known.key, None)):
                self._keep_reasoning(known, {**kept, "encrypted_content": item.encrypted_content})
            self._close(known, item, raw)


def _json(value: Json) -> str:
    return reply_json.encode(value).decode()
