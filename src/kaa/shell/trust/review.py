"""Asks again whether the project may configure kaa, for commands. Light: few conversations ask."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kaa.ext.asking import Asker
from kaa.ext.errors import CommandError
from kaa.shell.trust.configuration import TrustError
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.shell.trust.decisions import TrustDecisions


class TrustReview:
    """See `kaa.ext.choices.ProjectTrust`.

    Args:
        decisions: gives those of the process about this project.
        workspace: the project.
        asker: asks the person.
    """

    def __init__(self, decisions: "Callable[[], TrustDecisions]", workspace: Workspace, asker: Asker) -> None:
        self._decisions = decisions
        self._workspace = workspace
        self._asker = asker

    async def review(self) -> str:
        """Ask the person. Returns what was decided. See `TrustDecisions.review`.

        Raises:
            CommandError: nobody can be asked, or decisions cannot be read or kept.
        """
        try:
            return await self._decisions().review(self._workspace, self._asker)
        except TrustError as error:
            raise CommandError(str(error)) from error
