"""A conversation that is closed together with its process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kaa.shell.conversation import Conversation
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions
from kaa.workspace.protocol import Workspace


@asynccontextmanager
async def conversing(host: Host, options: ConversationOptions, workspace: Workspace) -> AsyncIterator[Conversation]:
    """Open a conversation; at the end the host is closed, and the workspace stays open."""
    try:
        yield (await host.open(options, workspace)).conversation
    finally:
        await host.close()
