"""What the requests of a session used, without decoding what they said."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Annotated

import msgspec

from kaa.core.events import CacheMiss
from kaa.core.messages import AssistantMessage, ToolResultMessage, Usage
from kaa.core.spending import Purpose, RequestCharge
from kaa.core.usage import plausible
from kaa.session.entries import ENTRY_KINDS, MessageEntry
from kaa.session.file.decoding import decode_entry
from kaa.session.file.jsonl import UNREADABLE
from kaa.session.store import SessionStore
from kaa.session.tree import Node

# The kind of a `usage` entry: the request was for a name of the session. Before, kaa wrote an entry of its own.
TITLE_KIND = "title"
# So begin the kinds of those that an extension made; its name follows.
EXTENSION_KIND = "extension:"
OLD_TITLE_ENTRY = "kaa.title"
# Entries of kaa, which other programs keep and ignore.
MISS_ENTRY = "kaa.cache_miss"
# How long a run took, in seconds, where the time of the session is limited.
RUN_TIME_ENTRY = "kaa.run_time"

# What holds the cost of a request that was made beside the conversation; old names of sessions are custom entries.
_ASIDE = frozenset({"custom", *(tag for tag, kind in ENTRY_KINDS.items() if "usage" in kind.__struct_fields__)})


class _Reply(msgspec.Struct, rename="camel", frozen=True):
    """A reply of the model, or the result of a tool that asked a model itself."""

    role: str
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    stop_reason: str = ""
    content: msgspec.Raw = msgspec.Raw(b"[]")

    @property
    def failed(self) -> bool:
        """Whether the request failed before a word of an answer came."""
        return self.stop_reason == "error" and bytes(self.content).translate(None, b" ") == b"[]"


class _Line(msgspec.Struct, frozen=True):
    message: _Reply


class _Aside(msgspec.Struct, frozen=True):
    """An entry with the cost of a request, or what an old title entry holds.

    `model`: who answered, `provider/id`, or the id alone where there is a `provider`.
    """

    usage: Usage | None = None
    provider: str = ""
    model: str = ""
    kind: str = ""
    details: msgspec.Raw = msgspec.Raw(b"{}")


class _Details(msgspec.Struct, frozen=True):
    model: str = ""


class _RunTime(msgspec.Struct, frozen=True):
    seconds: Annotated[float, msgspec.Meta(ge=0)]


class _Custom(msgspec.Struct, rename="camel", frozen=True):
    custom_type: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")


_LINE = msgspec.json.Decoder(_Line)
_ASIDE_LINE = msgspec.json.Decoder(_Aside)
_CUSTOM_LINE = msgspec.json.Decoder(_Custom)
_DETAILS = msgspec.json.Decoder(_Details)
_RUN_TIME = msgspec.json.Decoder(_RunTime)


def past_usage(store: SessionStore, nodes: Iterable[Node]) -> Iterator[tuple[Node, RequestCharge]]:
    """What each request used: replies, and what was made beside them, such as summaries.

    A summary that does not say which model made it, as pi's, counts for the one that spoke last.

    Args:
        nodes: which of its entries, in the order of the file.

    Raises:
        SessionReadError: the disk failed.
    """
    provider = model = ""
    for node in nodes:
        if node.type == "message":
            reply = _reply(store.line(node))
            if reply is None:
                continue
            if reply.role == "toolResult":
                yield node, RequestCharge("tool", plausible(reply.usage), provider, model)
                continue
            provider, model = reply.provider, reply.model
            yield node, RequestCharge("reply", plausible(reply.usage), provider, model, reply.failed)
        elif (use := usage_aside(store, node, provider, model)) is not None:
            yield node, use


def usage_aside(store: SessionStore, node: Node, provider: str, model: str) -> RequestCharge | None:
    """What a request beside the conversation used; None if the entry tells of none.

    Args:
        provider: of the model in force, with `model`, where the entry does not name one.

    Raises:
        SessionReadError: the disk failed.
    """
    if node.type not in _ASIDE:
        return None
    line: bytes | msgspec.Raw = store.line(node)
    purpose: Purpose = "summary"
    try:
        if node.type == "custom":
            custom = _CUSTOM_LINE.decode(line)
            if custom.custom_type != OLD_TITLE_ENTRY:
                return None
            purpose, line = "title", custom.data
        aside = _ASIDE_LINE.decode(line)
    except UNREADABLE:
        return None
    if aside.usage is None:
        return None
    if node.type == "usage":
        if aside.kind.startswith(EXTENSION_KIND):
            purpose = "extension"
        else:
            purpose = "title" if aside.kind == TITLE_KIND else "other"
        return RequestCharge(purpose, plausible(aside.usage), aside.provider or provider, aside.model or model)
    author, _, author_id = (aside.model or _author(aside.details)).partition("/")
    return RequestCharge(purpose, plausible(aside.usage), *((author, author_id) if author_id else (provider, model)))


def _author(details: msgspec.Raw) -> str:
    """The model that ours name in a summary's details, where others may keep anything."""
    try:
        return _DETAILS.decode(details).model
    except UNREADABLE:
        return ""


def last_turn(store: SessionStore, nodes: Sequence[Node]) -> Sequence[Node]:
    """The last message of the user's among `nodes`, which stand in the order of the file, and what follows it.

    Raises:
        SessionReadError: the disk failed.
    """
    for position in range(len(nodes) - 1, -1, -1):
        if nodes[position].type == "message" and _is_users(store.line(nodes[position])):
            return nodes[position:]
    return nodes


def past_misses(store: SessionStore, nodes: Iterable[Node]) -> Iterator[CacheMiss]:
    """The dear misses of the provider's cache.

    Raises:
        SessionReadError: the disk failed.
    """
    for data in _custom_data(store, nodes, MISS_ENTRY):
        try:
            yield msgspec.convert({**msgspec.json.decode(data), "type": "cache_miss"}, CacheMiss)
        except (*UNREADABLE, TypeError):
            continue  # damaged


def past_seconds(store: SessionStore, nodes: Iterable[Node]) -> float:
    """How long the runs took that say so.

    Raises:
        SessionReadError: the disk failed.
    """
    total = 0.0
    for data in _custom_data(store, nodes, RUN_TIME_ENTRY):
        with suppress(*UNREADABLE):  # damaged
            total += _RUN_TIME.decode(data).seconds
    return total


def _custom_data(store: SessionStore, nodes: Iterable[Node], kind: str) -> Iterator[msgspec.Raw]:
    for node in nodes:
        if node.type == "custom":
            with suppress(*UNREADABLE):  # of another program, or damaged
                if (custom := _CUSTOM_LINE.decode(store.line(node))).custom_type == kind:
                    yield custom.data


def _is_users(line: bytes) -> bool:
    try:
        return _LINE.decode(line).message.role == "user"
    except UNREADABLE:
        return False


def _reply(line: bytes) -> _Reply | None:
    try:
        reply = _LINE.decode(line).message
    except UNREADABLE:
        entry = decode_entry(line)  # repairs what can be repaired
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage):
            return _Reply("toolResult", usage=entry.message.usage) if entry.message.usage is not None else None
        if not isinstance(entry, MessageEntry) or not isinstance(entry.message, AssistantMessage):
            return None
        message = entry.message
        content = msgspec.Raw(b"[]" if not message.content else b"[{}]")
        return _Reply("assistant", message.provider, message.model, message.usage, message.stop_reason, content)
    return reply if reply.role == "assistant" or (reply.role == "toolResult" and reply.usage != Usage()) else None
