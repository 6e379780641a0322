"""How a conversation reaches its model: over the network, over the network with a tape running, or from a tape."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from kaa.core.provider import Model, Provider
from kaa.ext.choices import ScopedModel
from kaa.llm.former_names import current_query
from kaa.llm.http.transport import Transport
from kaa.llm.local.addresses import is_address
from kaa.llm.models.adapters import create_provider
from kaa.llm.models.discovery import find_model
from kaa.llm.models.matching import best_matches, split_level, split_thinking
from kaa.llm.models.registry import ModelChoice, ModelRegistry, NoModelError
from kaa.llm.models.resolved import ResolvedModel
from kaa.session.context import SessionContext
from kaa.shell.options import ConversationOptions, Live, Record, Replay, ToolsOnly, Wire
from kaa.shell.settings import Settings

Notify = Callable[[str], None]

_RECORDED = "the model cannot be switched while a recording is made: it can be replayed with one model only"
_REPLAYED = "the model cannot be switched in a replay: the replies are those of the recorded model"


class ModelLink:
    """A model and the way to it.

    Args:
        transport: carries the requests; closed with the link, unless it is borrowed.
        fixed: why no other model can be had over this transport, in a sentence; None if it can.
    """

    def __init__(
        self,
        resolved: ResolvedModel,
        transport: Transport,
        *,
        fixed: str | None = None,
        farewell: Callable[[], None] | None = None,
    ) -> None:
        self.resolved = resolved
        self.provider: Provider = create_provider(resolved, transport)
        self.transport = transport
        self.fixed = fixed
        self._farewell = farewell

    def switch(self, resolved: ResolvedModel) -> Provider:
        """Reach another model over the same transport. What is under way goes on as it began."""
        self.provider = create_provider(resolved, self.transport)
        self.resolved = resolved
        return self.provider

    async def close(self) -> None:
        """Let go of the transport."""
        await self.transport.close()
        if self._farewell is not None:
            self._farewell()


async def link_session_model(
    options: ConversationOptions,
    settings: Settings,
    context: SessionContext,
    models: ModelRegistry,
    live: Transport,
    placeholders: Mapping[str, str],
    notify: Notify,
) -> ModelLink:
    """Connect to the model asked for, or that of the session, or the default.

    Args:
        placeholders: values of this run that a cassette stores by name.
        notify: receives warnings about models that cannot be used, and about unused replies of a cassette.

    Raises:
        NoModelError: there is no model to talk to.
        CredentialError: a key cannot be read.
        CassetteError: the cassette cannot be written or read.
    """
    for problem in models.problems:
        notify(problem)
    for pattern in options.models or ():
        if not scoped_models([pattern], models.available()):
            notify(f"no model that can be used fits {pattern!r}")

    before = context.thinking_level if context.messages else None

    async def link(default_provider: str | None, default_model: str | None) -> ModelLink:
        choice = ModelChoice(
            query=options.model,
            provider=options.provider,
            api_key=options.api_key,
            # Whoever names a model may mean the level that it has in the settings.
            thinking=options.thinking or (before if options.model is None else None),
            default_provider=default_provider,
            default_model=default_model,
            default_thinking=before or settings.default_thinking_level,
        )
        return await _link(
            options.wire,
            choice,
            models,
            live=live,
            placeholders=placeholders,
            notify=notify,
        )

    if context.model is None:
        first = _first_of_scope(options, settings, models)
        return await link(*(first or (settings.default_provider, settings.default_model)))
    try:
        linked = await link(context.model.provider, context.model.id)
        _tell_of_port(linked.resolved.model, options, settings, notify)
        return linked
    except NoModelError as error:
        gone = f"the session's model {context.model.provider}/{context.model.id} cannot be used: {error.reason}"
        try:
            linked = await link(settings.default_provider, settings.default_model)
        except NoModelError:
            notify(gone)
            raise
        notify(f"{gone.rstrip('.')}. kaa uses {linked.resolved.model.qualified_id}; /model selects another")
        return linked


def _tell_of_port(model: Model, options: ConversationOptions, settings: Settings, notify: Notify) -> None:
    """Say so where only the session names a port of this machine: it may be a stranger's, and anything may listen."""
    named = options.model or options.provider or settings.default_provider == model.provider
    if is_address(model.provider) and not named and isinstance(options.wire, Live):
        notify(f"the session continues with {model.qualified_id}: messages go to that port of this machine")


def _first_of_scope(options: ConversationOptions, settings: Settings, models: ModelRegistry) -> tuple[str, str] | None:
    """Provider and model to begin with, where the user chose which to cycle through and the default is none of them."""
    patterns = options.models if options.models is not None else settings.enabled_models
    if not patterns or options.model or options.provider:
        return None
    scoped = scoped_models(patterns, models.available())
    default = (settings.default_provider, split_thinking(settings.default_model or "")[0])
    if not scoped or default in {(one.model.provider, one.model.id) for one in scoped}:
        return None
    first = scoped[0]
    return first.model.provider, first.model.id + (f":{first.level}" if first.level else "")


async def _link(
    wire: Wire,
    choice: ModelChoice,
    models: ModelRegistry,
    *,
    live: Transport,
    placeholders: Mapping[str, str],
    notify: Notify,
) -> ModelLink:
    """Resolve the model and connect to it."""
    match wire:
        case Live():
            return ModelLink(await find_model(models, choice, live, notify=notify), live)
        case Record(cassette=cassette):
            resolved = await find_model(models, choice, live, notify=notify)
            return ModelLink(resolved, _recording(live, resolved, cassette, placeholders), fixed=_RECORDED)
        case Replay():
            return await _replaying(wire, choice, models, placeholders, notify)
        case ToolsOnly(reason=reason):
            from kaa.shell.models.unlinked import NO_MODEL, NoTransport  # lazy: conversations have a model

            return ModelLink(NO_MODEL, NoTransport(reason), fixed=reason)


def _recording(live: Transport, resolved: ResolvedModel, cassette: Path, placeholders: Mapping[str, str]) -> Transport:
    """The network with a tape running."""
    from kaa.llm.cassette import RecordedModel, RecordingTransport  # lazy: few runs are recorded

    endpoint = resolved.endpoint
    answered_by = RecordedModel(
        resolved.model,
        endpoint.base_url,
        endpoint.compat,
        resolved.thinking,
        endpoint.thinking_levels,
        endpoint.tuning,
        endpoint.sampling,
    )
    secrets = [endpoint.api_key] if endpoint.api_key else []
    return RecordingTransport(live, cassette, placeholders, secrets, answered_by)


async def _replaying(
    wire: Replay, choice: ModelChoice, models: ModelRegistry, placeholders: Mapping[str, str], notify: Notify
) -> ModelLink:
    """A tape. Unless the user names a model, it is the recorded one, so that no key is needed."""
    from kaa.llm.cassette import ReplayTransport  # lazy: few runs are replayed
    from kaa.llm.wire import Endpoint

    def farewell() -> None:
        if tape.unused:
            notify(f"replay: {tape.unused} recorded replies were not used")

    tape = ReplayTransport(wire.cassette, placeholders, wire.delay)
    recorded = None if choice.query or choice.provider else tape.answered_by
    if recorded is None:
        resolved = await find_model(models, choice, tape, look=False)  # servers of this machine are not on it
    else:
        endpoint = Endpoint(
            recorded.base_url,
            compat=recorded.compat,
            thinking_levels=recorded.thinking_levels,
            tuning=recorded.tuning,
            sampling=recorded.sampling,
        )
        resolved = ResolvedModel(recorded.model, endpoint, recorded.thinking)
    return ModelLink(resolved, tape, fixed=_REPLAYED, farewell=farewell)


_GLOB_CHARACTERS = frozenset("*?[")


def scoped_models(patterns: Iterable[str], models: Sequence[Model]) -> tuple[ScopedModel, ...]:
    """The models that patterns name, in the order of the patterns, each once.

    Args:
        patterns: globs on `provider/id` or `id` in any case (`anthropic/*`, `*haiku*`), or what `--model` takes; each
            with `:level` for the thinking level.
    """
    found: dict[tuple[str, str], ScopedModel] = {}
    for pattern in patterns:
        query, level = split_level(current_query(pattern.strip()), models)
        for model in _matching(query, models):
            found.setdefault((model.provider, model.id), ScopedModel(model, level))
    return tuple(found.values())


def _matching(query: str, models: Sequence[Model]) -> Sequence[Model]:
    if _GLOB_CHARACTERS & set(query):
        wanted = query.lower()
        return [
            model
            for model in models
            if fnmatchcase(model.qualified_id.lower(), wanted) or fnmatchcase(model.id.lower(), wanted)
        ]
    named = [model for model in models if model.qualified_id == query]
    return named or best_matches(query, models)[:1]
