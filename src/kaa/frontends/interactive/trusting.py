"""Whether the project may configure kaa: what the flags, an earlier decision or the user says."""

import argparse
from collections.abc import Awaitable, Callable

from kaa.shell.home import Home
from kaa.shell.options import TrustChoice
from kaa.shell.trust.configuration import ProjectConfiguration, survey
from kaa.shell.trust.store import Changed, TrustState, TrustStore, Undecided
from kaa.workspace.local import LocalWorkspace

Ask = Callable[[ProjectConfiguration, TrustState], Awaitable[TrustChoice | None]]
"""Asks the user; the answers are those of `kaa.frontends.interactive.audience.Respondent.ask_trust`."""


class TrustDecisions:
    """Of one process.

    Args:
        arguments: as `kaa.cli` parses them.
        home: remembers decisions.
        ask: asks the user, once.

    Attributes:
        configuration: what the decision was about, if it was looked at.
    """

    def __init__(self, arguments: argparse.Namespace, home: Home, ask: Ask) -> None:
        self._arguments = arguments
        self._home = home
        self._ask = ask
        self._choice: TrustChoice | None = None
        self.configuration: ProjectConfiguration | None = None

    async def decided(self, workspace: LocalWorkspace) -> TrustChoice:
        """What holds for the next session."""
        if self._choice is None:
            self._choice = await self._decide(workspace)
        return self._choice

    async def survey(self, workspace: LocalWorkspace) -> tuple[ProjectConfiguration, TrustState]:
        """What the project would configure, and what the user decided about it."""
        configuration = await survey(workspace, self._home)
        return configuration, TrustStore(self._home).state(configuration)

    def decide(self, configuration: ProjectConfiguration, choice: TrustChoice | None) -> None:
        """Keep what the user decided; it holds from the next session on."""
        store = TrustStore(self._home)
        match choice:
            case "stored":
                store.trust(configuration)
            case "no":
                store.decline(configuration)
        self._choice, self.configuration = choice or "no", configuration

    async def _decide(self, workspace: LocalWorkspace) -> TrustChoice:
        if self._arguments.trust or self._arguments.no_trust:
            return "yes" if self._arguments.trust else "no"
        configuration, state = await self.survey(workspace)
        if not isinstance(state, Undecided | Changed):
            self.configuration = configuration
            return "stored"
        choice = await self._ask(configuration, state)
        self.decide(configuration, choice)
        return choice or "no"
