"""The user's own sentences, which a compaction carries over word for word: no summary says it as the user did."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from kaa.core.messages import ImageContent, UserMessage
from kaa.core.usage import CHARACTERS_PER_TOKEN
from kaa.session.compaction.quoting import shortened
from kaa.session.edits import Edits, message_of
from kaa.session.entries import MessageEntry
from kaa.session.file.jsonl import UNREADABLE
from kaa.session.store import SessionStore, read_entry
from kaa.session.tree import Node

# A message that takes more of the room holds something that was pasted. The newest one may take all of it.
_LARGEST_SHARE = 1 / 4


class _Role(msgspec.Struct, frozen=True):
    role: str


class _Line(msgspec.Struct, frozen=True):
    message: _Role


_LINE = msgspec.json.Decoder(_Line)


def users_words(store: SessionStore, nodes: Sequence[Node], edits: Edits) -> Iterator[str]:
    """What the user said in `nodes`, the newest first. Reads no further back than it is asked for.

    Args:
        edits: of these entries; what they remove is not carried over.

    Raises:
        SessionReadError: the disk failed.
    """
    for node in reversed(nodes):
        if node.type == "message" and _may_be_users(store.line(node)):
            entry = read_entry(store, node)
            if not isinstance(entry, MessageEntry) or not isinstance(entry.message, UserMessage):
                continue
            message = message_of(entry, node.id, edits)
            if isinstance(message, UserMessage) and (text := _words(message)).strip():
                yield text


def choose_words(newest_first: Iterable[str], tokens: int) -> tuple[list[str], bool]:
    """As many of the user's messages as fit into about `tokens` tokens, and whether there are older ones.

    Returns:
        The messages, the oldest first.
    """
    room = tokens * CHARACTERS_PER_TOKEN
    longest = int(room * _LARGEST_SHARE)
    chosen: list[str] = []
    for text in newest_first:
        fitting = shortened(text, longest if chosen else room)
        if chosen and len(fitting) > room:
            return chosen[::-1], True
        chosen.append(fitting)
        room -= len(fitting)
    return chosen[::-1], False


def _may_be_users(line: bytes) -> bool:
    """Whether it is worth decoding a line whole."""
    try:
        return _LINE.decode(line).message.role == "user"
    except UNREADABLE:
        return True  # decoding it whole repairs what can be repaired


def _words(message: UserMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join("[image]" if isinstance(block, ImageContent) else block.text for block in message.content)
