"""Trust in a project, as a person gives it with /trust in the terminal."""

import asyncio
import os
from pathlib import Path

from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, start_workspace
from kaa.shell.trust.configuration import survey
from kaa.shell.trust.nested import nested_names
from kaa.shell.trust.store import TrustStore


def trust(project: Path, home: Path) -> None:
    """Trust the configuration that a project has now."""
    kept = Home(home)

    async def decide() -> None:
        workspace = start_workspace(str(project), SandboxFlags(), kept, os.environ)
        try:
            TrustStore(kept).trust(await survey(workspace, kept, await nested_names(workspace)))
        finally:
            await workspace.close()

    asyncio.run(decide())
