"""Replies of OpenAI's Responses and of the servers that imitate it, more or less.

What is opaque is kept as pi keeps it, so that either replays the other's sessions: a reasoning item as its JSON, a
message's id (and phase) as `{"v":1,"id":…}`, and a call's item id behind its own: `call_1|fc_1`.
"""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from kaa.core.messages import Json, StopReason
from kaa.core.provider import BlockEnd, CallChunkStart, StreamDone
from kaa.llm import reply_json
from kaa.llm.failures import ended_early, malformed, refused_answer
from kaa.llm.http.streaming import ReplyParser
from kaa.llm.responses.events import EVENTS, ITEMS, RESPONSES, OutputItem, ResponsesEvent, ResponseState, arguments_text
from kaa.llm.responses.tool_search import as_function_call
from kaa.llm.unicode_text import clean
from kaa.llm.wire import Peer

# Servers name an item by its place in the output, by its id, or not at all; some give all the same place, others the
# same item ever new ids.

_ItemKind: TypeAlias = Literal["message", "reasoning", "function_call"]


class _OpenItem:
    """An output item, growing until it is complete.

    Attributes:
        stream: of which kind of events its reasoning consists: a server may send a summary and the whole.
        part: the part of its reasoning that arrives.
        call_id: what its function call is known as, once that has begun.
    """

    def __init__(self, key: int, kind: _ItemKind, index: int | None) -> None:
        self.key = key
        self.kind: _ItemKind = kind
        self.index = index
        self.complete = False
        self.stream = ""
        self.part: int | None = None
        self.call_id: str | None = None
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """What has come of it: text, reasoning or arguments."""
        return clean("".join(self._pieces))

    def grow(self, piece: str) -> None:
        """More of it has come."""
        self._pieces.append(piece)

    def missing(self, whole: str) -> str:
        """What of `whole`, which is all that the item says, has not come yet.

        Nothing, if something else has come: what was shown cannot be taken back.
        """
        text = self.text
        return whole[len(text) :] if whole.startswith(text) else ""


class _OpenItems:
    """All items of one reply, in the order in which they began. Finding one takes no longer when there are many."""

    def __init__(self) -> None:
        self._items: list[_OpenItem] = []
        self._of_kind: dict[_ItemKind, list[_OpenItem]] = {kind: [] for kind in get_args(_ItemKind)}
        self._oldest: dict[tuple[_ItemKind, str], _OpenItem] = {}  # by name
        self._newest: dict[tuple[_ItemKind, str], _OpenItem] = {}
        # The newest last; those that are complete are dropped when they are met.
        self._growing: dict[_ItemKind, list[_OpenItem]] = {kind: [] for kind in get_args(_ItemKind)}
        self._growing_at: dict[tuple[_ItemKind, int], list[_OpenItem]] = {}

    def __iter__(self) -> Iterator[_OpenItem]:
        return iter(self._items)

    def begin(self, kind: _ItemKind, index: int | None) -> _OpenItem:
        item = _OpenItem(len(self._items) + 1, kind, index)
        self._items.append(item)
        self._of_kind[kind].append(item)
        self._growing[kind].append(item)
        if index is not None:
            self._growing_at.setdefault((kind, index), []).append(item)
        return item

    def name(self, known: _OpenItem, item: OutputItem) -> None:
        """Learn what `known` is called: llama.cpp gave a call's id only as its `call_id`."""
        for name in _names(item):
            place = known.kind, name
            if known.key <= self._oldest.setdefault(place, known).key:
                self._oldest[place] = known
            if known.key >= self._newest.setdefault(place, known).key:
                self._newest[place] = known

    def growing(self, kind: _ItemKind, event: ResponsesEvent) -> _OpenItem | None:
        """The item of which `event` brings more."""
        return self._find(kind, [event.item_id] if event.item_id else [], event.output_index)

    def ended(self, kind: _ItemKind, index: int | None, item: OutputItem) -> _OpenItem | None:
        """The item that is now complete as `item`."""
        return self._find(kind, _names(item), index)

    def counted(self, kind: _ItemKind, number: int, item: OutputItem) -> _OpenItem | None:
        """The item that is the `number`th of its kind, from 0, in the finished reply."""
        same = self._of_kind[kind]
        named = self._oldest.get((kind, item.id)) if item.id else None
        return named or (same[number] if number < len(same) else None)

    def _find(self, kind: _ItemKind, names: list[str], index: int | None) -> _OpenItem | None:
        called = [self._newest[kind, name] for name in names if (kind, name) in self._newest]
        named = max(called, key=lambda item: item.key, default=None)
        # An item of the same name elsewhere, which is complete, is another one.
        if named is not None and (not named.complete or index in (None, named.index)):
            return named
        placed = _last_growing(self._growing_at.get((kind, index), [])) if index is not None else None
        last = _last_growing(self._growing[kind])
        if placed is None and last is not None and None in (index, last.index):
            return last  # without a place it can only be the one that came last
        return placed


def _names(item: OutputItem) -> list[str]:
    return [name for name in (item.id, item.call_id) if name]


def _last_growing(items: list[_OpenItem]) -> _OpenItem | None:
    while items and items[-1].complete:
        items.pop()
    return items[-1] if items else None


def _kind_of(item: OutputItem) -> _ItemKind | None:
    """What kind of item it is; None for kinds kaa did not ask for."""
    return next((kind for kind in get_args(_ItemKind) if kind == item.type), None)


# Events that bring a piece of an item. Reasoning comes as a summary or, from open models, as it is.
_PIECES: Final[dict[str, _ItemKind]] = {
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
}
# Events that repeat what the pieces were; for servers that send no pieces.
_WHOLES: Final[dict[str, _ItemKind]] = {
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
        self._items = _OpenItems()
        self._reasoning: dict[int, dict[str, Json]] = {}  # items by key that came without what is encrypted
        self._call_ids: set[str] = set()
        self._stop_reason: StopReason | None = None

    def accept_whole(self, body: bytes) -> None:
        response = self._decode(RESPONSES, body)
        if response.error:
            from kaa.llm.server_errors import failure_of_event  # lazy: few requests fail

            raise failure_of_event(reply_json.decode_any(body), self._peer)
        if response.status is None and not response.output:
            raise malformed("something other than a model's answer", body, self._peer)
        self._conclude(response, "")

    def finish(self) -> None:
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

    def _grow(self, kind: _ItemKind, event: ResponsesEvent, stream: str) -> None:
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

    def _fill(self, kind: _ItemKind, event: ResponsesEvent) -> None:
        """Take a part of an item, or its arguments, as a whole, unless its pieces came."""
        item = self._items.growing(kind, event)
        if item is None or item.complete:
            return
        if kind == "function_call":
            self._send(item, item.missing(arguments_text(event.arguments)))
        elif not item.text:
            self._send(item, arguments_text(event.text or event.refusal))

    def _begin(self, item: OutputItem, index: int | None) -> None:
        kind = _kind_of(item)
        if kind is None:
            return
        begun = self._items.begin(kind, index)
        self._items.name(begun, item)
        if kind == "function_call" and item.name and item.call_id:
            self._start_call(begun, item)

    def _complete(self, raw: msgspec.Raw, index: int | None) -> None:
        item = self._item(raw)
        kind = _kind_of(item)
        if kind is not None:
            known = self._items.ended(kind, index, item) or self._items.begin(kind, index)
            self._close(known, item, raw)

    def _close(self, known: _OpenItem, item: OutputItem, raw: msgspec.Raw) -> None:
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

    def _keep_reasoning(self, known: _OpenItem, item: dict[str, Json]) -> None:
        if not item.get("encrypted_content"):
            self._reasoning[known.key] = item
        self._buffer.thinking(known.key, "", _json(item))

    def _end(self, known: _OpenItem) -> None:
        known.complete = True
        self._buffer.add(BlockEnd(known.key))

    def _start_call(self, known: _OpenItem, item: OutputItem) -> None:
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

    def _send(self, known: _OpenItem, piece: str) -> None:
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
        counted: dict[_ItemKind, int] = {}
        for raw in output:
            item = self._item(raw)
            kind = _kind_of(item)
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
