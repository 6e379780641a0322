"""What the replies of a session used, without decoding what they say."""

from collections.abc import Iterator

import msgspec

from kaa.core.messages import AssistantMessage, Usage
from kaa.session.decoding import decode_entry
from kaa.session.entries import MessageEntry
from kaa.session.jsonl import UNREADABLE
from kaa.session.store import SessionStore


class _Reply(msgspec.Struct, rename="camel", frozen=True):
    role: str
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()


class _Line(msgspec.Struct, frozen=True):
    message: _Reply


_LINE = msgspec.json.Decoder(_Line)


def past_usage(store: SessionStore) -> Iterator[tuple[Usage, str, str]]:
    """What each reply used, its provider and its model; those on other branches and before compactions too.

    Raises:
        SessionReadError: the disk failed.
    """
    for node in store.tree.nodes:
        if node.type == "message" and (reply := _reply(store.line(node))) is not None:
            yield reply.usage, reply.provider, reply.model


def _reply(line: bytes) -> _Reply | None:
    try:
        reply = _LINE.decode(line).message
    except UNREADABLE:
        entry = decode_entry(line)  # mends what can be mended
        if not isinstance(entry, MessageEntry) or not isinstance(entry.message, AssistantMessage):
            return None
        message = entry.message
        return _Reply("assistant", message.provider, message.model, message.usage)
    return reply if reply.role == "assistant" else None
