"""Leaves out old images of a conversation that has too many bytes for a server, although its tokens fit."""

from collections.abc import Sequence
from typing import Final

import msgspec

from kaa.core.messages import AssistantMessage, ImageContent, Message, TextContent

_NOTE: Final = TextContent("(image left out: the server refused the request as too large)")


def without_oldest_images(messages: Sequence[Message]) -> tuple[list[Message], int]:
    """Put a note in place of the oldest images, as many as have half of the bytes of all, and at least one.

    Returns:
        The messages, and how many images were left out.
    """
    sizes = [len(block.data) for message in messages for block in _blocks(message) if isinstance(block, ImageContent)]
    count = left_out = 0
    while count < len(sizes) and left_out * 2 < sum(sizes):
        left_out += sizes[count]
        count += 1
    changed, rest = list(messages), count
    for place, message in enumerate(messages):
        if not rest:
            break
        content: list[object] = []
        for block in _blocks(message):
            if rest and isinstance(block, ImageContent):
                rest -= 1
                content.append(_NOTE)
            else:
                content.append(block)
        if _NOTE in content:
            changed[place] = msgspec.structs.replace(message, content=tuple(content))
    return changed, count


def _blocks(message: Message) -> Sequence[object]:
    if isinstance(message, AssistantMessage) or isinstance(message.content, str):
        return ()
    return message.content
