"""Other models, which go on where the chosen one was given up, until the user says something again.

A model that failed for a while (overload, network) is tried again with the next message, unless its server said that it
takes longer. One that has no credit left, whose key is refused or that the server does not have, is not: nothing
changes there by itself.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from kaa.core.agent import Agent
from kaa.core.errors import AuthError, ModelNotFoundError, ProviderError, QuotaError
from kaa.core.events import AgentStart, Event, ModelFallback
from kaa.ext.errors import CommandError
from kaa.llm.auth.errors import CredentialError
from kaa.llm.models.registry import NoModelError
from kaa.llm.models.resolved import ResolvedModel
from kaa.shell.models.switching import Models

_UNUSABLE = (NoModelError, CredentialError, CommandError)


class FallbackModels:
    """A `Fallback` for the agent of one conversation.

    Args:
        chain: the models, as `--model` takes them, in the order in which they are to be tried.
        notify: told, in a sentence, of models of the chain that cannot be used.
    """

    def __init__(
        self,
        agent: Agent,
        models: Models,
        chain: Sequence[str],
        notify: Callable[[str], None],
    ) -> None:
        self._agent = agent
        self._models = models
        self._chain = tuple(chain)
        self._notify = notify
        self._chosen: ResolvedModel | None = None  # by the user, while another one stands in for it
        self._rest: dict[str, float] = {}  # models that were given up, and until when
        self._given_up: set[str] = set()  # in this run
        self._told: set[str] = set()  # models of the chain that cannot be used, in this run
        self._choices = models.choices
        agent.set_fallback(self)
        agent.subscribe(self._observe)

    async def take_over(self, error: ProviderError) -> bool:
        self._heed_choices()
        failed = self._models.in_force
        name = failed.model.qualified_id
        self._give_up(name, error)
        for query in self._chain:
            found = await self._usable(query)
            if found is not None:
                self._models.hand_to(found)
                self._chosen = self._chosen or failed
                self._agent.emit(ModelFallback(name, found.model.qualified_id, str(error), error.kind))
                return True
        return False

    async def reload(self, chain: Sequence[str]) -> None:
        """Settings, models and keys were read again: try everything anew."""
        self._chain = tuple(chain)
        self._rest.clear()
        if self._chosen is not None:
            with suppress(*_UNUSABLE):  # then the key it had is tried
                self._chosen = await self._models.another(self._chosen.model.qualified_id)

    async def _usable(self, query: str) -> ResolvedModel | None:
        """The model of the chain that `query` means, if it makes sense to ask it."""
        try:
            found = await self._models.another(query)
        except _UNUSABLE as problem:
            if query not in self._told:
                self._told.add(query)
                self._notify(f"the fallback model {query!r} cannot be used: {problem}")
            return None
        name = found.model.qualified_id
        return None if name in self._given_up or self._is_resting(name) else found

    def _give_up(self, name: str, error: ProviderError) -> None:
        self._given_up.add(name)
        if isinstance(error, AuthError | QuotaError | ModelNotFoundError):
            self._rest[name] = float("inf")
        elif error.retry_after is not None:
            self._rest[name] = time.monotonic() + error.retry_after

    def _is_resting(self, name: str) -> bool:
        return time.monotonic() < self._rest.get(name, 0.0)

    def _heed_choices(self) -> None:
        """If the user has chosen since, that one is to answer, whatever was before."""
        if self._choices != self._models.choices:
            self._choices = self._models.choices
            self._chosen = None
            self._rest.pop(self._models.in_force.model.qualified_id, None)

    def _observe(self, event: Event) -> None:
        if not isinstance(event, AgentStart):
            return
        self._heed_choices()
        self._given_up.clear()
        self._told.clear()
        if self._chosen is not None and not self._is_resting(self._chosen.model.qualified_id):
            chosen, self._chosen = self._chosen, None
            self._models.hand_to(chosen)
