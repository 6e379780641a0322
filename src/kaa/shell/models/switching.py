"""Which model answers, and how hard it thinks: what there is to choose from, and switching in mid-conversation.

A switch acts on the next request, also within a run and when a failed request is repeated: adapters hand over what
another model said (`kaa.llm.handoff`) with each request. All models share one transport, so nothing has to be closed.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Literal, get_args

import msgspec

from kaa.core.agent import Agent
from kaa.core.events import Event, MessageEnd, ModelChanged, ThinkingLevelChanged
from kaa.core.messages import AssistantMessage, Json
from kaa.core.provider import Model, ThinkingLevel
from kaa.ext.choices import ModelState, ScopedModel
from kaa.ext.errors import CommandError
from kaa.host.log import LOG
from kaa.llm.auth.errors import CredentialError
from kaa.llm.models.discovery import ask_server, find_local_model, look_for_servers
from kaa.llm.models.registry import ModelChoice, ModelRegistry, NoModelError
from kaa.llm.models.resolved import ResolvedModel, UnlistedServer
from kaa.llm.thinking_levels import DEFAULT_THINKING, nearest_level, offered_levels
from kaa.llm.tuning import Tuning
from kaa.session.recorder import SessionRecorder
from kaa.shell.models.link import ModelLink, scoped_models
from kaa.shell.settings import SettingsError
from kaa.shell.settings_file import SettingsFile


class Models:
    """The models of one conversation. All calls must come from its event loop.

    Args:
        scope: patterns of the models to cycle through, as `scoped_models` takes them; none for all.
        settings: where choices are kept that the user wants kept.
        wished: how hard the user wants models to think, if the one to begin with cannot.

    Attributes:
        choices: how often the user has chosen a model, be it the one in force.
    """

    def __init__(
        self,
        agent: Agent,
        recorder: SessionRecorder,
        link: ModelLink,
        registry: ModelRegistry,
        scope: Sequence[str],
        settings: SettingsFile,
        wished: ThinkingLevel | None = None,
    ) -> None:
        self._agent = agent
        self._recorder = recorder
        self._link = link
        self._registry = registry
        self._scope = tuple(scope)
        self._settings = settings
        # What the user wants; what is in force is the nearest level that the model has.
        can_think = len(offered_levels(agent.model, link.resolved.endpoint.thinking_levels)) > 1
        self._wanted_level = link.resolved.thinking if can_think else wished or DEFAULT_THINKING
        self._switching = asyncio.Lock()
        self._unproven: Model | None = None  # to become the default after its first reply
        self._keeping: asyncio.Future[None] | None = None
        self.choices = 0
        agent.subscribe(self._prove)

    @property
    def current(self) -> ModelState:
        model = self._agent.model
        levels = offered_levels(model, self._link.resolved.endpoint.thinking_levels)
        is_listed = self._registry.find(model.provider, model.id) is not None
        return ModelState(model, self._agent.thinking, levels, is_listed)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why models that the user set up cannot be used, one line each."""
        return (*self._registry.problems, *self._registry.obstacles())

    def available(self) -> tuple[Model, ...]:
        """The models that could be used, in order of preference; the current one is always among them."""
        models = self._registry.available()
        current = self._agent.model
        known = any((model.provider, model.id) == (current.provider, current.id) for model in models)
        return tuple(models) if known else (current, *models)

    def scoped(self) -> tuple[ScopedModel, ...]:
        return scoped_models(self._scope, self.available())

    def is_free(self, provider: str, model_id: str) -> bool:
        """Whether a model is known to cost nothing, instead of having an unknown price."""
        current = self._agent.model  # may be one that only a server or a recording knows
        if (current.provider, current.id) == (provider, model_id):
            return current.cost is not None and current.cost.is_free
        return self._registry.is_free(provider, model_id)

    def set_scope(self, patterns: Sequence[str]) -> None:
        """Cycle through other models from now on, as a changed setting says."""
        self._scope = tuple(patterns)

    @property
    def kept_seconds(self) -> int | None:
        """How long the current model's server keeps prompts at least; None where it is asked not to."""
        return self._link.resolved.endpoint.kept_seconds

    def tune(self, tuning: Tuning) -> None:
        """Have models asked in another way from the next request on, as changed settings say.

        Of a recording only what is private changes: whether images are sent.
        """
        self._registry.tune(tuning)
        resolved = self._link.resolved
        before, new = resolved.endpoint.tuning, self._registry.tuning
        if self._link.fixed is not None:
            new = msgspec.structs.replace(before, block_images=new.block_images)
        if new == before:
            return
        endpoint = msgspec.structs.replace(resolved.endpoint, tuning=new)
        self._agent.use(resolved.model, self._link.switch(msgspec.structs.replace(resolved, endpoint=endpoint)))

    async def reload(self) -> str | None:
        """Read models.json and auth.json again.

        What they say of the model in force now holds from the next request on, also within a run. Returns why it does
        not, in a sentence, if it does not.
        """
        changed = await asyncio.to_thread(self._registry.reload)
        if not changed or self._link.fixed is not None:
            return None
        async with self._switching:
            current = self._agent.model
            choice = ModelChoice(current.id, current.provider, thinking=self._wanted_level)
            try:
                # A key may be a command that takes seconds.
                found = await asyncio.to_thread(self._registry.resolve, choice)
            except (CredentialError, NoModelError) as error:
                reason = error.reason if isinstance(error, NoModelError) else str(error)
                return f"{current.qualified_id} is asked as before: {reason}"
            if isinstance(found, ResolvedModel):
                # What a server said of its model is not in any file.
                known = self._registry.find(current.provider, current.id) is not None
                self._switch(found if known else msgspec.structs.replace(found, model=current))
        return None

    async def offered(self) -> tuple[Model, ...]:
        await self.reload()
        if self._link.fixed is None:
            await look_for_servers(self._registry, self._link.transport)
        return self.available()

    async def set_scoped(self, patterns: Sequence[str], *, keep: bool = False) -> tuple[ScopedModel, ...]:
        available = self.available()
        if unfit := [pattern for pattern in patterns if not scoped_models([pattern], available)]:
            raise CommandError(f"no available model fits {unfit[0]!r}: `kaa models` lists them")
        self.set_scope(patterns)
        if keep:
            try:
                await asyncio.to_thread(self._settings.set, {"enabledModels": list(self._scope)})
            except SettingsError as error:
                raise CommandError(str(error)) from error
        return self.scoped()

    async def choose(self, query: str, level: ThinkingLevel | None = None) -> ModelState:
        """Switch to a model.

        Args:
            query: `provider/id`, `id` or a part of it, with `:level` for the thinking level.
            level: the thinking level; None leaves it to the query, or as it is.

        Raises:
            NoModelError: nothing fits, several do, or the key is missing.
            CredentialError: a key cannot be read.
            CommandError: the conversation is recorded or replayed.
        """
        async with self._switching:
            return self._choose(*await self._meant(query, level))

    async def switch(self, query: str, *, keep: bool = True) -> ModelState:
        await self.reload()
        try:
            async with self._switching:
                resolved, level = await self._meant(query)
                self._registry.refuse_guess(query, resolved.model)
                state = self._choose(resolved, level)
            if keep and state.is_listed:
                await self.keep()
            elif keep:
                self._unproven = state.model
        except NoModelError as error:
            raise CommandError(error.reason) from error
        except (CredentialError, SettingsError) as error:
            raise CommandError(str(error)) from error
        return state

    async def find(self, query: str) -> Model:
        try:
            model = (await self.another(query)).model
            self._registry.refuse_guess(query, model)
        except NoModelError as error:
            raise CommandError(error.reason) from error
        except CredentialError as error:
            raise CommandError(str(error)) from error
        return model

    async def cycle(self, step: Literal[1, -1] = 1) -> ModelState:
        """Switch to the next model, or the one before, of those to cycle through, or else of all available.

        Models that turn out not to be usable are passed over, or one would never get past them.

        Raises:
            CommandError: there is no other, or the conversation is recorded or replayed.
            CredentialError: no key of the others can be read.
            NoModelError: no other can be used.
        """
        ring = self.scoped() or tuple(map(ScopedModel, self.available()))
        current = self._agent.model
        names = [(one.model.provider, one.model.id) for one in ring]
        here = (current.provider, current.id)
        # From a model outside the ring, one comes to its first or last.
        position = names.index(here) if here in names else (-1 if step == 1 else len(ring))
        turns = (ring[(position + step * distance) % len(ring)] for distance in range(1, len(ring) + 1))
        others = [one for one in turns if (one.model.provider, one.model.id) != here]
        if not others:
            raise CommandError("there is no other model to switch to")
        for one in others[:-1]:
            with contextlib.suppress(CredentialError, NoModelError):
                return await self.choose(one.model.qualified_id, one.level)
        return await self.choose(others[-1].model.qualified_id, others[-1].level)

    def set_thinking(self, level: ThinkingLevel) -> ThinkingLevel:
        """Have the model think this hard, or as nearly as it can. Returns the level in force."""
        self._wanted_level = level
        resolved = self._link.resolved
        self._think(nearest_level(level, resolved.model, resolved.endpoint.thinking_levels))
        return self._agent.thinking

    def think(self, level: str) -> ThinkingLevel:
        levels: tuple[ThinkingLevel, ...] = get_args(ThinkingLevel)
        known = next((one for one in levels if one == level), None)
        if known is None:
            raise CommandError(f"invalid thinking level {level!r}: use {', '.join(levels)}")
        return self.set_thinking(known)

    def cycle_thinking(self) -> ThinkingLevel:
        """Switch to the next level that the model has. Returns it."""
        levels = self.current.levels
        here = levels.index(self._agent.thinking) if self._agent.thinking in levels else -1
        return self.set_thinking(levels[(here + 1) % len(levels)])

    async def keep(self) -> None:
        """Make the model and the level in force the default of new conversations.

        Raises:
            SettingsError: the settings cannot be written.
        """
        await asyncio.to_thread(self._settings.set, self._defaults())

    async def another(self, query: str) -> ResolvedModel:
        """A model to be asked beside or in place of the chosen one, over the same transport.

        It is to think as hard as the chosen one, unless the query says how hard.

        Raises:
            NoModelError: nothing fits, several do, or the key is missing.
            CredentialError: a key cannot be read.
            CommandError: the conversation is recorded or replayed.
        """
        if self._link.fixed is not None:
            raise CommandError(self._link.fixed)
        return await self._find(ModelChoice(query=query, default_thinking=self._wanted_level))

    @property
    def in_force(self) -> ResolvedModel:
        """The model in force, with the way to it."""
        return self._link.resolved

    def hand_to(self, resolved: ResolvedModel) -> None:
        """Have this model answer from the next request on, without taking it for what the user wants."""
        self._switch(resolved)

    @contextlib.asynccontextmanager
    async def in_run(self, queries: Sequence[str], level: ThinkingLevel | None) -> AsyncIterator[None]:
        """Have another model answer, or think otherwise, until the block ends. The user's own choice in it stays.

        Args:
            queries: as `another` takes them; the first that there is.
            level: None leaves it as the model or the user has it.
        """
        before, choices = self.in_force, self.choices
        for query in queries:
            with contextlib.suppress(NoModelError, CredentialError, CommandError):
                self.hand_to(await self.another(query))
                break
        if level is not None:
            self._think(nearest_level(level, self.in_force.model, self.in_force.endpoint.thinking_levels))
        try:
            yield
        finally:
            if self.choices == choices:
                self.hand_to(before)
                self._think(nearest_level(self._wanted_level, before.model, before.endpoint.thinking_levels))
                self.choices += 1  # models that took over in the run stood in for another one

    def _defaults(self) -> dict[str, Json]:
        model = self._agent.model
        return {
            "defaultProvider": model.provider,
            "defaultModel": model.id,
            "defaultThinkingLevel": self._wanted_level,
        }

    def _prove(self, event: Event) -> None:
        """Make a model that was taken at the user's word the default after its first reply."""
        match event:
            case MessageEnd(message=AssistantMessage(stop_reason=reason) as reply) if (
                self._unproven is not None
                and reason not in ("error", "aborted")
                and (reply.provider, reply.model) == (self._unproven.provider, self._unproven.id)
            ):
                self._unproven = None
                loop = asyncio.get_running_loop()
                self._keeping = loop.run_in_executor(None, self._settings.set, self._defaults())
                self._keeping.add_done_callback(_log_failure)
            case _:
                pass

    async def _meant(
        self, query: str, level: ThinkingLevel | None = None
    ) -> tuple[ResolvedModel, ThinkingLevel | None]:
        """The model that a query means, and the thinking level that the user wants with it."""
        if self._link.fixed is not None:
            raise CommandError(self._link.fixed)
        wanted = level or (await asyncio.to_thread(self._registry.split_level, query))[1]
        choice = ModelChoice(query=query, thinking=wanted, default_thinking=self._wanted_level)
        return await self._find(choice), wanted

    def _choose(self, resolved: ResolvedModel, level: ThinkingLevel | None) -> ModelState:
        self._switch(resolved)
        self._wanted_level = level or self._wanted_level
        self.choices += 1
        self._unproven = None
        return self.current

    async def _find(self, choice: ModelChoice) -> ResolvedModel:
        if local := await find_local_model(self._registry, choice, self._link.transport):
            return local
        # A key may be a command that takes seconds.
        found = await asyncio.to_thread(self._registry.resolve, choice)
        if isinstance(found, UnlistedServer):
            return await ask_server(self._registry, found, self._link.transport)
        return found

    def _switch(self, resolved: ResolvedModel) -> None:
        before = self._agent.model
        self._agent.use(resolved.model, self._link.switch(resolved))
        if (before.provider, before.id) != (resolved.model.provider, resolved.model.id):
            self._recorder.model_change(resolved.model.provider, resolved.model.id)
            self._agent.emit(ModelChanged(resolved.model.provider, resolved.model.id))
        self._think(resolved.thinking)

    def _think(self, level: ThinkingLevel) -> None:
        if level != self._agent.thinking:
            self._agent.thinking = level
            self._recorder.thinking_level_change(level)
            self._agent.emit(ThinkingLevelChanged(level))


def _log_failure(keeping: asyncio.Future[None]) -> None:
    if not keeping.cancelled() and (error := keeping.exception()) is not None:
        LOG.warning("the default model was not kept: %s", error)
