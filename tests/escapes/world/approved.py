"""`kaa sandbox` as if the user had allowed git writes before: `python approved.py -- COMMAND`.

There is no flag for that; in a conversation the user is asked.
"""

import asyncio
import os
import sys

from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, sandbox_options
from kaa.workspace.commands import StandardStreams
from kaa.workspace.local import LocalWorkspace


async def run(command: list[str]) -> int:
    """Run a command, with git writes allowed. Returns its exit code."""
    options = sandbox_options(Home.of(os.environ), SandboxFlags())
    workspace = LocalWorkspace.start(os.getcwd(), env=os.environ, sandbox=options)
    try:
        await workspace.sandbox.allow_git_writes()
        result = await workspace.attach(command, StandardStreams(0, 1, 2))
    finally:
        await workspace.close()
    return 128 + result.signal if result.signal is not None else result.exit_code or 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[2:])))
