"""Tells what a server prints while its start takes long: a package runner tells what it downloads."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from kaa.ext.asking import NOBODY, Asker
from kaa.shell.mcp.server import Server

if TYPE_CHECKING:  # only where a server starts
    from kaa.mcp.client import McpClient

LINES = 10
"""As many of the last lines that a server printed are told at a time."""
_QUIET_SECONDS = 3.0


async def followed(
    server: Server, tell: Callable[[str], object], asker: Asker = NOBODY, *, quiet_seconds: float = _QUIET_SECONDS
) -> "McpClient":
    """Start a server.

    Args:
        tell: gets lines, as long as it starts.

    Raises:
        ServerUnavailableError: it does not start.
    """
    loop = asyncio.get_running_loop()
    starting, told, began = asyncio.ensure_future(server.started(asker)), 0, loop.time()
    try:
        while not (await asyncio.wait({starting}, timeout=quiet_seconds))[0]:
            lines, told = list(server.log)[told:], len(server.log)
            said = "".join(f"  {line}\n" for line in lines[-LINES:])
            tell(f"{server.name} has been starting for {loop.time() - began:.0f} s\n{said}")
    except asyncio.CancelledError:
        starting.cancel()
        await asyncio.wait({starting})
        raise
    return await starting
