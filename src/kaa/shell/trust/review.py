"""Asking again whether the project may configure kaa, for commands. Light: few conversations ask."""

from typing import TYPE_CHECKING

from kaa.ext.asking import Asker
from kaa.ext.errors import CommandError
from kaa.shell.home import Home
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.shell.trust.decisions import TrustDecisions


class TrustReview:
    """See `kaa.ext.choices.ProjectTrust`.

    Args:
        decisions: of the process; None where it made none.
        workspace: the project.
        home: keeps decisions.
        asker: asks the person.
    """

    def __init__(self, decisions: "TrustDecisions | None", workspace: Workspace, home: Home, asker: Asker) -> None:
        self._decisions = decisions
        self._workspace = workspace
        self._home = home
        self._asker = asker

    async def review(self) -> str:
        """Ask the person. Returns what was decided. See `TrustDecisions.review`.

        Raises:
            CommandError: nobody can be asked, or decisions cannot be read or kept.
        """
        from kaa.shell.trust.decisions import TrustDecisions  # lazy: few conversations ask
        from kaa.shell.trust.store import TrustError

        decisions = self._decisions or TrustDecisions(None, self._home, self._asker)
        try:
            return await decisions.review(self._workspace)
        except TrustError as error:
            raise CommandError(str(error)) from error
