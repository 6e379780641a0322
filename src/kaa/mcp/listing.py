"""Lists everything that a server offers, page by page, within limits."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar

from kaa.core.messages import Json
from kaa.mcp import parsing
from kaa.mcp.errors import McpError, ServerGoneError
from kaa.mcp.manifest import ServerManifest
from kaa.mcp.negotiation import Agreement
from kaa.mcp.session import Session

ItemT = TypeVar("ItemT")

_MAX_PAGES = 100


async def manifest_of(session: Session, agreed: Agreement, patience: float) -> ServerManifest:
    """What the server offers now.

    Args:
        patience: seconds for each page.

    Raises:
        McpError: the server does not list its tools. What else it does not list is named in `left_out`.
    """
    problems: list[str] = []

    async def found(
        kind: str, method: str, key: str, parse: Callable[[Mapping[str, Json]], ItemT], most: int
    ) -> tuple[ItemT, ...]:
        try:
            items = await _pages(session, method, key, most, patience)
        except ServerGoneError:
            raise
        except McpError as error:
            if kind == "tool":
                raise
            problems.append(f"its {kind}s are missing: {error}")
            return ()
        used, left_out = parsing.listed(kind, items, parse, most)
        problems.extend(left_out)
        return used

    async def nothing() -> tuple[()]:
        return ()

    can, most = agreed.capabilities, parsing.MAX_LISTED
    tools, prompts, resources, templates = await asyncio.gather(
        found("tool", "tools/list", "tools", parsing.tool, parsing.MAX_TOOLS) if can.tools else nothing(),
        found("prompt", "prompts/list", "prompts", parsing.prompt, most) if can.prompts else nothing(),
        found("resource", "resources/list", "resources", parsing.resource, most) if can.resources else nothing(),
        found("resource template", "resources/templates/list", "resourceTemplates", parsing.template, most)
        if can.resources
        else nothing(),
    )
    return ServerManifest(
        era=agreed.era,
        protocol=agreed.protocol,
        server=agreed.server,
        capabilities=can,
        instructions=agreed.instructions,
        instructions_digest=agreed.instructions_digest,
        tools=tuple(sorted(tools, key=lambda tool: tool.name)),
        prompts=prompts,
        resources=resources,
        templates=templates,
        left_out=tuple(problems),
    )


async def _pages(session: Session, method: str, key: str, most: int, patience: float) -> list[Json]:
    """The items of all pages, up to one more than `most`."""
    items: list[Json] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        result = await session.request(method, {} if cursor is None else {"cursor": cursor}, patience=patience)
        page = result.get(key)
        if not isinstance(page, list):
            raise McpError(f"the server answered {method} without a list of {key}")
        items += page
        following = result.get("nextCursor")
        if not isinstance(following, str) or not following or following == cursor or len(items) > most:
            return items[: most + 1]
        cursor = following
    return items[: most + 1]
