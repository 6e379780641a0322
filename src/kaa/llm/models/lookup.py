"""From what a person asks for to a provider and its model: `provider/id`, an id, or a part of one, with `:level`."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kaa.core.provider import Model, ThinkingLevel
from kaa.llm.catalogue import KnownModel
from kaa.llm.former_names import current_name, current_query
from kaa.llm.models.matching import (
    best_matches,
    close_names,
    is_certain,
    misspelled_level,
    split_level,
    suggestions,
)
from kaa.llm.models.providers import ConfiguredProvider
from kaa.llm.thinking_levels import LEVELS

FoundModel = tuple[ConfiguredProvider, KnownModel | None]

# As many names as a message can have and still be read.
_NAMES_TOLD = 8
_NAMES_MEANT = 3
# Their models are served by nobody else under these names, but for gateways: a local server's model is no slip of one.
_CLOSED = ("anthropic", "openai", "google", "xai")
# On other servers `phi3:mini` is a model, and no slip of `phi3:minimal`.
_LEVEL_SLIP = 0.75
_PROVIDER_SLIP = 0.75  # `Qwen/Qwen3-8B` and `unsloth/gemma` are models of a server


class UnclearError(Exception):
    """No model is meant, or several are. `suggestions`: which may be, as `provider/id`."""

    def __init__(self, reason: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.suggestions = tuple(suggestions)


class Lookup:
    """Finds models.

    Args:
        providers: all of them by name, in order of preference.
        is_usable: whether a provider can be used: the key is there or not needed.
    """

    def __init__(
        self, providers: Mapping[str, ConfiguredProvider], is_usable: Callable[[ConfiguredProvider], bool]
    ) -> None:
        self._providers = providers
        self._is_usable = is_usable

    def usable(self) -> list[ConfiguredProvider]:
        """The providers that can be used, in order of preference."""
        return [provider for provider in self._providers.values() if self._is_usable(provider)]

    def split_level(self, query: str) -> tuple[str, ThinkingLevel | None]:
        """The query without its `:level`, and the level."""
        providers = (provider for provider in self._providers.values() if self._is_usable(provider))
        return split_level(query, (known.model for provider in providers for known in provider.models))

    def find(self, query: str, name: str | None = None, *, keyed: bool = False) -> FoundModel:
        """What a query means, of the provider `name` or of any; no model if the server is to be asked.

        Args:
            query: without its `:level`; empty for the provider's default.
            keyed: a key comes along, so that the provider that the query names can be used.

        Raises:
            UnclearError: there is nothing of that name, or several are.
        """
        query = current_query(query)
        if name is not None:
            name = current_name(name)
            provider = self._named(name)
            return provider, _within(provider, query.removeprefix(f"{name}/"), query) if query else provider.default
        if before := self._before_slash(query):
            provider, rest = before
            elsewhere = None if keyed or self._is_usable(provider) else self._called(query)
            return elsewhere or (provider, _within(provider, rest, query))
        return self._anywhere(query)

    def refuse_guess(self, query: str, model: Model) -> None:
        """Make sure that a model that was found is listed, or that the query names its provider.

        Any name may be right where the user wrote down no models of a server.

        Raises:
            UnclearError: it is a guess.
        """
        if self.is_guess(query, model):
            provider = self._providers[model.provider]
            raise _unknown(query, [known.model for known in provider.models], provider.name)

    def is_guess(self, query: str, model: Model) -> bool:
        """Whether a model that was found is not listed, and the query does not name its provider."""
        provider = self._providers.get(model.provider)
        if provider is None or provider.find(model.id) or not provider.knows_its_models:
            return False
        return not query.lower().startswith(f"{provider.name.lower()}/")

    def _anywhere(self, query: str) -> FoundModel:
        from kaa.llm.models.product_names import providers_of  # lazy: few models are named without their provider

        usable = self.usable()
        if fitting := self._fitting(query, usable):
            if len(fitting) > 1:
                raise _several(query, fitting)
            return self._of(fitting[0])
        _refuse_misspelled_level(query, [known.model for provider in usable for known in provider.models])
        # A model kaa does not know, where there is only one server it can be on.
        servers = [provider for provider in usable if not provider.official]
        if len(servers) == 1:
            self._refuse_slip(query, servers[0])
            return servers[0], servers[0].unknown_model(query)
        from kaa.llm.models.unknown_models import family_of  # lazy, as below: most models are known

        sole = usable[0] if len(usable) == 1 else None
        if sole is not None and sole.name in providers_of(family_of(query)) and _may_have(sole, query):
            return sole, sole.unknown_model(query)
        # Not usable, but then the message names the key that is missing.
        if fitting := self._fitting(query, self._providers.values()):
            return self._of(fitting[0])
        if sole is not None and _may_have(sole, query):
            return sole, sole.unknown_model(query)
        every = [known.model for provider in self._providers.values() for known in provider.models]
        raise _unknown(query, every, sole.name if sole else "openai")

    def _refuse_slip(self, query: str, server: ConfiguredProvider) -> None:
        """Make sure that a name for the only server is not a misspelled one of a vendor's models or of its own.

        Where the user wrote down no models, only those of vendors with a key are in question: any other name may be
        the server's.

        Raises:
            UnclearError: it is.
        """
        prefix, slash, _ = query.partition("/")
        if slash and (close := close_names(prefix.lower(), self._providers, cutoff=_PROVIDER_SLIP)):
            raise UnclearError(
                f"there is no provider {prefix!r}: did you mean {' or '.join(close)}? If not, write"
                f" {server.name}/{query}"
            )
        listed = server.knows_its_models
        vendors = [self._providers[name] for name in _CLOSED if name in self._providers]
        vendors = [vendor for vendor in vendors if vendor.official and (listed or self._is_usable(vendor))]
        pool = [known.model for provider in (*vendors, *([server] if listed else ())) for known in provider.models]
        _refuse_misspelled_level(query, pool, cutoff=_LEVEL_SLIP)
        from kaa.llm.models.unknown_models import is_slip

        if is_slip(query, [model.id for model in pool]):
            raise _unknown(query, pool, server.name)

    def _before_slash(self, query: str) -> tuple[ConfiguredProvider, str] | None:
        """The provider that a query begins with, the one with the longest name, and what is behind it."""
        written = query.lower()
        names = [name for name in self._providers if written.startswith(f"{name.lower()}/") and query[len(name) + 1 :]]
        name = max(names, key=len, default=None)
        return (self._providers[name], query[len(name) + 1 :]) if name is not None else None

    def _called(self, model_id: str) -> FoundModel | None:
        """The model with just this id: gateways call other vendors' models `vendor/id`.

        Raises:
            UnclearError: several of the providers that can be used have it.
        """
        called = [known for provider in self.usable() if (known := provider.find(model_id))]
        if len(called) > 1:
            raise _several(model_id, [known.model for known in called])
        return self._of(called[0].model) if called else None

    def _fitting(self, query: str, providers: Iterable[ConfiguredProvider]) -> Sequence[Model]:
        return best_matches(
            query,
            [
                known.model
                for provider in providers
                for known in provider.models
                # At another address than the vendor's, a part of a name may well mean a model kaa does not know.
                if provider.knows_its_models or is_certain(query, known.model)
            ],
        )

    def _of(self, model: Model) -> FoundModel:
        provider = self._providers[model.provider]
        return provider, provider.find(model.id)

    def _named(self, name: str) -> ConfiguredProvider:
        if name not in self._providers:
            close = close_names(name, self._providers)
            meant = f"did you mean {' or '.join(close)}? If not, " if close else ""
            raise UnclearError(
                f"there is no provider {name!r}: {meant}`kaa models --all` lists those there are, "
                "and models.json can add others"
            )
        return self._providers[name]


def _may_have(provider: ConfiguredProvider, name: str) -> bool:
    from kaa.llm.models.unknown_models import may_be_new

    return may_be_new(provider.name, name, [known.model.id for known in provider.models])


def _unknown(query: str, models: Iterable[Model], provider: str) -> UnclearError:
    close = suggestions(query, models)
    meant = f"did you mean {' or '.join(close[:_NAMES_MEANT])}? A" if close else "a"
    return UnclearError(
        f"no model is called {query!r}: {meant} model that kaa does not know needs its provider: {provider}/{query}",
        close,
    )


def _refuse_misspelled_level(query: str, models: Sequence[Model], cutoff: float = 0.6) -> None:
    """Make sure that a query does not end in a thinking level that does not exist.

    Raises:
        UnclearError: it does, behind the name of one of `models`.
    """
    slip = misspelled_level(query, cutoff=cutoff)
    if slip is not None and best_matches(slip[0], models):
        name, level = slip
        meant = f"{name}:{level}"
        raise UnclearError(
            f"{query!r} does not end in a thinking level: did you mean {meant}? The levels are {', '.join(LEVELS)}",
            [meant],
        )


def _several(query: str, models: Sequence[Model]) -> UnclearError:
    names = [model.qualified_id for model in models]
    told = ", ".join(names[:_NAMES_TOLD]) + (", …" if len(names) > _NAMES_TOLD else "")
    return UnclearError(f"{query!r} fits several models, write one of them: {told}", names[:_NAMES_TOLD])


def _within(provider: ConfiguredProvider, query: str, whole: str) -> KnownModel:
    """The model of `provider` that `query` means; one that is not known is taken at its word.

    Args:
        whole: with it, for that may be the id.
    """
    if named := provider.find(query) or provider.find(whole):
        return named
    found = best_matches(query, [known.model for known in provider.models])
    nickname = not any(character.isdigit() for character in query)
    if provider.official:
        _refuse_misspelled_level(query, [known.model for known in provider.models])
    elif provider.knows_its_models:
        _refuse_misspelled_level(query, [known.model for known in provider.models], cutoff=_LEVEL_SLIP)
    if found and (nickname or (len(found) == 1 and is_certain(query, found[0]))):
        return provider.find(found[0].id) or provider.unknown_model(query)
    return provider.unknown_model(query)
