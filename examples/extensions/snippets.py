"""Snippets: `#name` in a message becomes a text that was saved with `/snippet name text`."""

import re
from typing import cast

import msgspec

from kaa.ext.api import (
    CommandContext,
    CommandError,
    ConversationContext,
    ExtensionAPI,
    ImageContent,
    TextContent,
    UserMessage,
)

_NAME = re.compile(r"(?<!\S)#([a-z][a-z0-9-]*)(?!\S)")


def extend(kaa: ExtensionAPI) -> None:
    @kaa.on_user_message
    async def expand(message: UserMessage, context: ConversationContext) -> UserMessage:
        store = context.store("user")
        known = {name: cast("str", await store.get(name)) for name in await store.keys()}
        expanded = _NAME.sub(lambda found: known.get(found[1], found[0]), message.text)
        images = [part for part in message.content if isinstance(part, ImageContent)]
        return msgspec.structs.replace(message, content=(TextContent(expanded), *images))

    @kaa.command(argument_hint="NAME [TEXT]")
    async def snippet(arguments: str, context: CommandContext) -> str:
        """Save a text that #NAME stands for in messages; without TEXT delete it"""
        name, _, text = arguments.strip().partition(" ")
        if not _NAME.fullmatch(f"#{name}"):
            raise CommandError(f"{name!r} is no name: use small letters, digits and -")
        if not text.strip():
            await context.store("user").delete(name)
            return f"#{name} is deleted."
        await context.store("user").set(name, text.strip())
        return f"#{name} stands for: {text.strip()}"
