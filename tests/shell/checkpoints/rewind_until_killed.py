"""A program that restores the files of the last message without the conversation, and kills itself in between.

Arguments: the project's folder, kaa's home, the URL of a model server.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from kaa.core.events import Event, RestoreProgress
from kaa.shell.home import Home
from kaa.shell.host import Host
from kaa.shell.options import ContinueSession, ConversationOptions, HostOptions
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.sandbox.options import SandboxOptions


def _die(event: Event) -> None:
    if isinstance(event, RestoreProgress):
        os.kill(os.getpid(), signal.SIGKILL)


async def _rewind(project: str, home: str, url: str) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(Path(home).parent), "OPENAI_BASE_URL": f"{url}/v1"}
    workspace = LocalWorkspace.start(project, env=environ, sandbox=SandboxOptions(mode="full-access"))
    conversation = (
        await Host(HostOptions(), Home(Path(home)), environ, print).open(
            ConversationOptions(model="m", session=ContinueSession(), approvals="never"), workspace
        )
    ).conversation
    conversation.subscribe(_die)
    destination = await conversation.navigation.back()
    assert destination is not None
    await conversation.navigation.go(destination, restore="files")


asyncio.run(_rewind(*sys.argv[1:]))
