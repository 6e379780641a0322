"""What the person can choose for a conversation: the model, how hard it thinks, approvals, trust in the project."""

from collections.abc import Mapping
from typing import Protocol

from kaa.core.provider import Model, ThinkingLevel


class ModelInForce(Protocol):
    """The model that gets the next request."""

    @property
    def name(self) -> str:
        """`provider/id`."""
        ...

    @property
    def thinking(self) -> ThinkingLevel:
        """How hard it thinks."""
        ...

    @property
    def levels(self) -> tuple[ThinkingLevel, ...]:
        """The thinking levels it has, the lowest first."""
        ...


class SessionModels(Protocol):
    """Which model answers, and how hard it thinks."""

    @property
    def current(self) -> ModelInForce:
        """The model that gets the next request."""
        ...

    def available(self) -> tuple[Model, ...]:
        """The models that could be used, in order of preference."""
        ...

    async def switch(self, query: str) -> ModelInForce:
        """Switch to a model, from the next request on, and keep it as the default of new sessions.

        Args:
            query: `provider/id`, `id` or a part of it, with `:level` for the thinking level.

        Raises:
            CommandError: no model fits, several do, or the model cannot be used.
        """
        ...

    def think(self, level: str) -> ThinkingLevel:
        """Have the model think this hard, or as nearly as it can. Returns the level in force.

        Raises:
            CommandError: there is no such level.
        """
        ...


class SessionApprovals(Protocol):
    """Which tool calls need the person's approval."""

    @property
    def policy(self) -> str:
        """The mode in force."""
        ...

    @property
    def policies(self) -> Mapping[str, str]:
        """All modes, each with what it means."""
        ...

    def choose(self, policy: str) -> str:
        """Set the mode, from the next call on, until the session is left. Returns it.

        Raises:
            CommandError: there is no such mode.
        """
        ...


class ProjectTrust(Protocol):
    """Whether the project may configure kaa."""

    async def review(self) -> str:
        """Ask the person. The answer holds from the next session on. Returns what was decided, for people.

        Raises:
            CommandError: nobody can be asked, or decisions cannot be read or kept.
        """
        ...
