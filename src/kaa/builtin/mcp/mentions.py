"""Resources of servers that a person mentions: `@server:uri` in a message takes the content along."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import msgspec

from kaa.builtin.mcp.host import McpHost, ServerView
from kaa.builtin.mcp.tools import usable
from kaa.core.messages import TextContent, UserContent, UserMessage
from kaa.ext.api import CommandContext, ConversationContext, Suggestion
from kaa.ext.asking import NOBODY
from kaa.mcp.errors import McpError
from kaa.mcp.manifest import ServerManifest

if TYPE_CHECKING:
    from kaa.mcp.contents import ResourcePart

# As files are mentioned, but with a server's name before the address.
# Compiled when a message has an @: most have none.
_MENTION = r"""(?<![^\s("'=,:])@(?:"([A-Za-z0-9_-]{1,40}):([^"\n]+)"|([A-Za-z0-9_-]{1,40}):([^\s"]+))"""
_PART = r"\{[^{}]*\}"
# What the value of a part with a + may have as it is.
_RESERVED = ":/?#[]@!$&'(*)+,;="
_AFTER = ",;:.!?)'\""
_MOST_MENTIONED = 20
# As much as a file that is attached.
_MAX_BYTES = 1024 * 1024
_MOST_SUGGESTED = 50


class McpMentions:
    """Takes mentioned resources along with messages, and completes mentions."""

    def __init__(self, host: McpHost) -> None:
        self._host = host

    async def attach(self, message: UserMessage, context: ConversationContext) -> UserMessage | None:
        """The message with the resources that it mentions. What cannot be read stays a name, and the user learns why.

        Only what a person writes: a prompt of a server could mention resources of another one. And only what the server
        lists or has a template for: any other address could carry what the message says to the server.
        """
        if message.origin != "person" or "@" not in message.said.text:
            return None
        added: list[UserContent] = []
        for view, uri in self._mentioned(message.said.text):
            try:
                added += await self._read(view, uri, context)
            except McpError as error:
                context.show.notice(f"@{view.name}:{uri} is sent as a name only: {error}", "warning")
        if not added:
            return None
        content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
        return msgspec.structs.replace(message, content=(*content, *added))

    async def complete(self, typed: str, _context: CommandContext) -> list[Suggestion]:
        """Servers with resources, then their addresses: of templates part by part, with values of the server's."""
        name, colon, start = typed.partition(":")
        views = [(view, view.manifest) for view in usable(self._host) if view.manifest is not None]
        if not colon:
            offering = [view for view, manifest in views if manifest.resources or manifest.templates]
            return [Suggestion(f"{view.name}:", view.description) for view in offering if view.name.startswith(name)]
        found = [
            Suggestion(f"{name}:{uri}", about)
            for view, manifest in views
            if view.name == name
            for uri, about in _addresses(manifest)
            if start.lower() in f"{uri} {about}".lower() and uri != start
        ]
        for view, manifest in views:
            if view.name == name and manifest.capabilities.completions:
                found += await self._filled_in(name, manifest, start)
        return found[:_MOST_SUGGESTED]

    async def _filled_in(self, server: str, manifest: ServerManifest, start: str) -> list[Suggestion]:
        """Addresses of templates that begin so, with the values for the part that is typed."""
        found: list[Suggestion] = []
        for template in manifest.templates:
            if (part := _part_at_end(template.uri_template, start)) is None:
                continue
            name, typed, known, address = part
            try:
                # Nobody is asked about a server because of a key that was pressed.
                session = await self._host.session(server, NOBODY)
                values = await session.complete(template, name, typed, known)
            except McpError:
                return found
            about = template.title or template.name
            found += [Suggestion(f"{server}:{uri}", about) for uri in map(address, values) if uri != start]
        return found

    def _mentioned(self, text: str) -> Iterator[tuple[ServerView, str]]:
        """The servers and addresses that a text mentions, each once, but those whose content is in the text already."""
        views = {view.name: view for view in usable(self._host)}
        found: dict[tuple[str, str], None] = {}
        for quoted_name, quoted, name, word in re.findall(_MENTION, text):
            view = views.get(quoted_name or name)
            if view is None:
                continue
            uri = quoted or (word if _lists(view.manifest, word) else word.rstrip(_AFTER))
            if f"[@{view.name}:{uri}]" not in text:
                found[view.name, uri] = None
        for name, uri in list(found)[:_MOST_MENTIONED]:
            yield views[name], uri

    async def _read(self, view: ServerView, uri: str, context: ConversationContext) -> Sequence[UserContent]:
        from kaa.builtin.mcp.questions import ConversationQuestions  # lazy: few messages mention a resource
        from kaa.builtin.mcp.results import contents

        session = await self._host.session(view.name, context.asker)
        if not _offers(session.manifest, uri):
            raise McpError("the server lists no such resource")
        questions = ConversationQuestions(view, context, f"resource {uri}")
        parts = await session.read(uri, questions=questions)
        if not parts:
            raise McpError("the resource is empty")
        if sum(map(_size, parts)) > _MAX_BYTES:
            raise McpError(f"the resource is larger than {_MAX_BYTES // 1024} KiB")
        return await contents(view.name, parts, context.workspace)


def _addresses(manifest: ServerManifest) -> Iterator[tuple[str, str]]:
    for resource in manifest.resources:
        yield resource.uri, resource.title or resource.name
    for template in manifest.templates:
        if beginning := template.uri_template.partition("{")[0]:
            yield beginning, f"{template.title or template.name} {template.uri_template}".strip()


def _lists(manifest: ServerManifest | None, uri: str) -> bool:
    return manifest is not None and any(one.uri == uri for one in manifest.resources)


def _offers(manifest: ServerManifest, uri: str) -> bool:
    """Whether a server lists an address, or has a template for it."""
    pieces = (re.split(_PART, one.uri_template) for one in manifest.templates)
    return _lists(manifest, uri) or any(_fits(fixed, uri) for fixed in pieces)


def _fits(fixed: Sequence[str], uri: str) -> bool:
    """Whether an address has the fixed pieces of a template, with something between each two of them."""
    first, *rest = fixed
    if not rest or not first or not uri.startswith(first) or not uri.endswith(rest[-1]):
        return False
    place, end = len(first), len(uri) - len(rest[-1])
    for piece in rest[:-1]:
        place = uri.find(piece, place + 1, end)
        if place < 0:
            return False
        place += len(piece)
    return place < end


def _part_at_end(template: str, start: str) -> tuple[str, str, dict[str, str], Callable[[str], str]] | None:
    """The part of a template (RFC 6570, levels 1 and 2) in which an address ends; None if it ends in none.

    Returns:
        Its name, what is typed of it, the values of the parts before it, and what makes an address of its value.
    """
    first, *rest = re.split(_PART, template)
    if not first or not start.startswith(first):
        return None
    known: dict[str, str] = {}
    at = len(first)
    for expression, after in zip(re.findall(_PART, template), rest, strict=True):
        name = expression.strip("{+}")
        end = start.find(after, at) if after else -1
        if not re.fullmatch(r"[\w.%]+", name):
            return None
        if end < 0:
            address = partial(_address, start[:at], after, _RESERVED if expression.startswith("{+") else "")
            return name, unquote(start[at:]), known, address
        known[name] = unquote(start[at:end])
        at = end + len(after)
    return None


def _address(before: str, after: str, safe: str, value: str) -> str:
    return f"{before}{quote(value, safe)}{after}"


def _size(part: "ResourcePart") -> int:
    return len(part.content if isinstance(part.content, bytes) else part.content.encode(errors="replace"))
