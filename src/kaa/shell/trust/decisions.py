"""Whether the project may configure kaa: what the options, an earlier decision or the person says."""

import asyncio
from collections.abc import Mapping

from kaa.ext.asking import Asker
from kaa.ext.choices import TrustChoice
from kaa.ext.questions import Trust, TrustDecision
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.store import Changed, TrustState, TrustStore, Undecided, Untrustable
from kaa.workspace.protocol import Workspace

_DECIDED: Mapping[TrustChoice | None, str] = {
    "stored": "kaa uses the project's configuration until it changes.",
    "yes": "kaa uses the project's configuration until you leave kaa.",
    "no": "kaa does not use the project's configuration and does not ask again.",
    None: "kaa does not use the project's configuration until you leave kaa.",
}


class TrustDecisions:
    """The decision of one process about one project.

    Args:
        home: keeps decisions.

    Attributes:
        configuration: what the decision was about; None if the options decided.
    """

    def __init__(self, home: Home) -> None:
        self._choice: TrustChoice | None = None
        self._asking = asyncio.Lock()
        self._home = home
        self.configuration: ProjectConfiguration | None = None

    async def decided(self, workspace: Workspace, chosen: TrustChoice | None, asker: Asker) -> TrustChoice:
        """What holds for the next session. An answer that the person gave in this process comes first.

        Args:
            workspace: the project.
            chosen: what the options say; None asks the person where nothing was decided before.
            asker: asks them, once for all conversations.

        Raises:
            TrustError: earlier decisions cannot be read.
            NobodyToAskError: nothing was decided, and nobody can be asked.
        """
        async with self._asking:
            if self._choice is None and chosen is None:
                configuration, state = await self._survey(workspace)
                if isinstance(state, Undecided | Changed):
                    await self._ask(configuration, state, asker)
                else:
                    self._choice, self.configuration = "stored", configuration
        return self._choice or chosen or "no"

    async def review(self, workspace: Workspace, asker: Asker) -> str:
        """Ask the person again. The answer holds from the next session on. Returns what was decided, for people.

        Raises:
            TrustError: earlier decisions cannot be read, or the new one cannot be kept.
            NobodyToAskError: nobody can be asked.
        """
        configuration, state = await self._survey(workspace)
        if not configuration.exists:
            return "This project has no configuration: there is nothing to trust."
        if isinstance(state, Untrustable):
            return f"This project cannot be trusted: {state.reason}."
        choice = await self._ask(configuration, state, asker)
        return f"{_DECIDED[choice]} /new begins a session for which this holds."

    async def _survey(self, workspace: Workspace) -> tuple[ProjectConfiguration, TrustState]:
        configuration = await survey(workspace, self._home)
        return configuration, TrustStore(self._home).state(configuration)

    async def _ask(self, configuration: ProjectConfiguration, state: TrustState, asker: Asker) -> TrustChoice | None:
        """Ask, and keep the answer. None: the person declines for this run."""
        answer = await asker.ask(_question(configuration, state))
        choice = answer.choice if isinstance(answer, TrustDecision) else None
        match choice:
            case "stored":
                TrustStore(self._home).trust(configuration)
            case "no":
                TrustStore(self._home).decline(configuration)
        self._choice, self.configuration = choice or "no", configuration
        return choice


def _question(configuration: ProjectConfiguration, state: TrustState) -> Trust:
    match state:
        case Changed(difference=difference):
            return Trust(
                "This project's configuration has changed. Trust it?",
                configuration.root,
                configuration.uses,
                was_trusted=True,
                added=difference.added,
                changed=difference.changed,
                removed=difference.removed,
                diff=difference.diff,
            )
        case _:
            return Trust("Do you trust this project?", configuration.root, configuration.uses)
