"""Changes that the user has kaa make to a project's configuration: they do not end the user's trust in it."""

import asyncio
from collections.abc import Callable, Mapping

from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, start_workspace
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.difference import Difference, difference, known
from kaa.shell.trust.store import NothingToTrust, Trusted, TrustStore


def change_trusted(
    directory: str, file: str, home: Home, environ: Mapping[str, str], change: Callable[[], None]
) -> bool:
    """Change a file of a project's configuration, and keep the trust that there was just before.

    Args:
        directory: of the project, absolute.
        file: the file that changes, relative to the project.
        change: changes the file and nothing else.

    Returns:
        whether the project is trusted now.

    Raises:
        TrustError: earlier decisions cannot be read, or the new one cannot be kept. The file has changed.
        OSError: the directory cannot be opened.
        Exception: as `change` raises.
    """
    before = asyncio.run(_surveyed(directory, home, environ))
    change()
    store = TrustStore(home)
    if not isinstance(store.state(before), Trusted | NothingToTrust):
        return False
    after = asyncio.run(_surveyed(directory, home, environ))
    changed = difference({one.path: known(one) for one in before.trustable}, after.trustable)
    if not _is_only(file, changed):  # somebody else was at work, too
        return False
    store.trust(after)
    return True


async def _surveyed(directory: str, home: Home, environ: Mapping[str, str]) -> ProjectConfiguration:
    workspace = start_workspace(directory, SandboxFlags(only_surveys=True), home, environ)
    try:
        return await survey(workspace, home)
    finally:
        await workspace.close()


def _is_only(file: str, changed: Difference) -> bool:
    return (*changed.added, *changed.changed, *changed.removed) == (file,)
