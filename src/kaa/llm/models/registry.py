"""Which models there are and how each is reached.

Only the user's own home and environment are read here. A project never sets an address, a header or a key.
"""

from collections.abc import Iterator, Mapping
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from kaa.core.provider import Model, ThinkingLevel
from kaa.llm.auth.credentials import Credential, CredentialStore
from kaa.llm.auth.errors import CredentialError
from kaa.llm.catalogue import KnownModel
from kaa.llm.compat import compat_for, laid_over
from kaa.llm.former_names import current_name, current_query
from kaa.llm.http.authorized import Authorizer
from kaa.llm.models.keys import ProviderKeys
from kaa.llm.models.lookup import FoundModel, Lookup, UnclearError
from kaa.llm.models.models_file import ProviderConfig
from kaa.llm.models.providers import ConfiguredProvider, load_providers
from kaa.llm.models.resolved import ResolvedModel, UnlistedServer
from kaa.llm.thinking_levels import DEFAULT_THINKING, nearest_level, offered_levels
from kaa.llm.tuning import Tuning, in_environment
from kaa.llm.wire import WIRE_FORMATS, Endpoint

if TYPE_CHECKING:
    from kaa.llm.models.provided import ProvidedProvider

_UNTUNED = Tuning()
_Stamp: TypeAlias = tuple[int, int, int] | None


class NoModelError(Exception):
    """No model can be used. Carries what a screen needs that helps a newcomer.

    Attributes:
        reason: what is missing, in one sentence.
        suggestions: models that may be meant, as `provider/id`.
        problems: what is wrong with models.json and auth.json, one line each.
        found: models of servers on this machine, as `provider/id`.
    """

    found: tuple[str, ...] = ()

    def __init__(
        self,
        reason: str,
        *,
        suggestions: tuple[str, ...] = (),
        auth_file: Path,
        models_file: Path,
        problems: tuple[str, ...] = (),
    ) -> None:
        super().__init__("\n".join([reason, *problems]))
        self.reason = reason
        self.suggestions = suggestions
        self.auth_file = auth_file
        self.models_file = models_file
        self.problems = problems


class UnknownModelError(NoModelError):
    """The name that the user wrote fits no model, or several: a slip, and nothing that a newcomer needs help with."""


class ModelChoice(msgspec.Struct, frozen=True):
    """What the user asked for. What was asked for this run counts before the defaults of the settings.

    Attributes:
        query: `provider/id`, `id` or a part of it, each with `:level` for the thinking level.
        api_key: used instead of any stored one.
    """

    query: str | None = None
    provider: str | None = None
    api_key: str | None = None
    thinking: ThinkingLevel | None = None
    default_provider: str | None = None
    default_model: str | None = None
    default_thinking: ThinkingLevel | None = None

    def __repr__(self) -> str:
        """Without the key."""
        return f"ModelChoice({self.query!r}, provider={self.provider!r})"


class ListedModel(msgspec.Struct, frozen=True):
    """A model as lists show it.

    Attributes:
        levels: the thinking levels it has, the lowest first.
        key: whether there is one for its provider; commands are not run but trusted. `local`: of a server that was
            found on this machine.
        is_usable: kaa speaks its wire format, and the key is there or not needed.
    """

    model: Model
    levels: tuple[ThinkingLevel, ...]
    key: Literal["there", "missing", "not needed", "local"]
    is_usable: bool


class _Known:
    """What all who share a registry know: the user's files, servers that were found, and how models are asked."""

    def __init__(self, models_file: Path, auth_file: Path, environ: Mapping[str, str], tuning: Tuning) -> None:
        self._models_file = models_file
        self._auth_file = auth_file
        self._environ = environ
        self._found: dict[str, ProviderConfig] = {}
        self._provided: dict[str, ProvidedProvider] = {}
        self.tune(tuning)
        self.read()

    def read(self) -> None:
        """Read the files, again."""
        self.stamps = (_stamp(self._models_file), _stamp(self._auth_file))
        providers, self._mistakes = load_providers(self._models_file, self._environ)
        self._providers = providers
        self.store = CredentialStore(self._auth_file, self._environ)
        self._combine()

    def provide(self, provided: "Mapping[str, ProvidedProvider]") -> None:
        self._provided = dict(provided)
        self._combine()

    def _combine(self) -> None:
        provided = {
            name: ConfiguredProvider(name, one.config.base_url, one.config, official=False, provided=one)
            for name, one in self._provided.items()
            if name not in self._providers
        }
        self.set_up = frozenset((*self._providers, *provided))
        found = {name: _found_provider(name, self._found[name]) for name in self._found.keys() - self.set_up}
        self.providers = {**self._providers, **provided, **found}  # at once: others may look from another thread

    def tune(self, tuning: Tuning) -> None:
        """Have models asked in another way."""
        self.tuning, self._untunable = in_environment(tuning, self._environ)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with models.json, the environment and providers that others added."""
        taken = (
            f"{one.owner}: the provider {name!r} is not used: kaa or models.json has one of this name"
            for name, one in self._provided.items()
            if name in self._providers
        )
        return (*self._mistakes, *self._untunable, *taken)

    def add_found(self, name: str, config: ProviderConfig) -> None:
        self._found[name] = config
        if name not in self.set_up:
            self.providers[name] = _found_provider(name, config)

    def was_found(self, name: str) -> bool:
        """Whether a provider is a server that was found, and nothing that the user set up."""
        return name in self._found and name not in self.set_up


class ModelRegistry:
    """All providers and models.

    Args:
        home: the user's folder, such as `~/.kaa/agent`, with models.json and auth.json.
        proxy: URL of the HTTP proxy through which logins are renewed, as `LiveTransport` takes it.
    """

    def __init__(
        self, home: Path, environ: Mapping[str, str], tuning: Tuning = _UNTUNED, *, proxy: str | None = None
    ) -> None:
        self.environ = environ
        self._proxy = proxy
        self._models_file = home / "models.json"
        self._auth_file = home / "auth.json"
        self._known = _Known(self._models_file, self._auth_file, environ, tuning)
        self._stamps = self._known.stamps
        self._given_keys: dict[str, str] = {}

    def borrowed(self) -> "ModelRegistry":
        """The same registry for one conversation: only the keys that are given for it are its own."""
        view = copy(self)
        view._given_keys = {}
        return view

    def reload(self) -> bool:
        """Read models.json and auth.json again, for all who share this. Keys that were given for this run stay.

        Returns whether one of the files is not what it was when this conversation asked last.
        """
        self._known.read()
        before, self._stamps = self._stamps, self._known.stamps
        return before != self._stamps

    def tune(self, tuning: Tuning) -> None:
        """Have models asked in another way from now on; those that were resolved already stay as they are."""
        self._known.tune(tuning)

    @property
    def tuning(self) -> Tuning:
        """How models are asked: what the environment says counts before what the user's settings say."""
        return self._known.tuning

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with models.json and the environment, one line each; the rest of it is in use."""
        return self._known.problems

    @property
    def set_up(self) -> frozenset[str]:
        """Names of the providers that kaa or the user knows, without those that were found."""
        return self._known.set_up

    def add_found(self, name: str, config: ProviderConfig) -> None:
        """Know a server that was found on this machine, until the end. One that is set up keeps its name."""
        self._known.add_found(name, config)

    def provide(self, provided: "Mapping[str, ProvidedProvider]") -> None:
        """Know these providers besides those of kaa and the user, and none that were provided before."""
        self._known.provide(provided)

    def models(self) -> list[Model]:
        """All models that are known, in order of preference."""
        return [known.model for provider in self._known.providers.values() for known in provider.models]

    def available(self) -> list[Model]:
        """The models that could be used now: kaa speaks their format, and the key is there or not needed.

        Keys are not evaluated: a command that would fail is not noticed here.
        """
        return [
            known.model
            for provider in self._lookup.usable()
            for known in provider.models
            if provider.speaks(known.model.api)
        ]

    def listed(self, *, usable: bool) -> list[ListedModel]:
        """The models in order of preference, with what lists say of them: those of `available`, or all."""
        return [
            one
            for provider in (self._lookup.usable() if usable else self._known.providers.values())
            for one in self._listed(provider)
            if one.is_usable or not usable
        ]

    def split_level(self, query: str) -> tuple[str, ThinkingLevel | None]:
        """What names the model in a query, and the thinking level behind it."""
        return self._lookup.split_level(query)

    def find(self, provider: str, model_id: str) -> Model | None:
        """A model by its names, None if it is not known."""
        named = self._known.providers.get(current_name(provider))
        known = named.find(model_id) if named is not None else None
        return known.model if known is not None else None

    def is_free(self, provider: str, model_id: str) -> bool:
        """Whether a model is known to cost nothing, instead of having an unknown price."""
        model = self.find(provider, model_id)
        return model is not None and model.cost is not None and model.cost.is_free

    def use_key(self, provider: str, key: str) -> None:
        """Use a key that was given for this run, for this provider and no other, instead of any stored one."""
        self._given_keys[current_name(provider)] = key

    def given_key(self, *providers: str) -> str | None:
        """Return the key that was given for this run for the first of these providers that has one."""
        return next((self._given_keys[name] for name in providers if name in self._given_keys), None)

    def resolve(self, choice: ModelChoice) -> ResolvedModel | UnlistedServer:
        """The model that `choice` means; `kaa.llm.models.discovery` also asks unlisted servers.

        A key that is a command is run here, which may take 10 seconds: where an event loop must go on, call
        it in a thread.

        Raises:
            NoModelError: nothing fits, or the key is missing.
            CredentialError: a key cannot be read.
        """
        try:
            (provider, known), level = self._meant(choice)
        except UnclearError as error:
            raise self.no_model(error.reason, error.suggestions, UnknownModelError) from None
        levels = {current_query(name): level for name, level in self.tuning.thinking_levels.items()}
        of_model = levels.get(known.model.qualified_id) if known else None
        thinking = choice.thinking or level or of_model or choice.default_thinking or DEFAULT_THINKING
        credential = self._credential(provider, known, choice.api_key)
        if known is not None:
            return self._resolved(provider, known, credential, thinking)
        unknown = self._resolved(provider, provider.unknown_model("unknown"), credential, thinking)
        # Behind a key there is probably a gateway to the vendor's models, otherwise a local server with its own.
        likely = provider.models if credential else ()
        return UnlistedServer(
            unknown.endpoint,
            unknown,
            tuple(self._resolved(provider, model, credential, thinking) for model in likely),
        )

    def is_guess(self, query: str, model: Model) -> bool:
        """Whether a model that was found is not listed, and the query does not name its provider."""
        return self._lookup.is_guess(self.split_level(query)[0], model)

    def refuse_guess(self, query: str, model: Model) -> None:
        """Make sure that a model that was found is listed, or that the query names its provider.

        Raises:
            UnknownModelError: it is a guess.
        """
        try:
            self._lookup.refuse_guess(self.split_level(query)[0], model)
        except UnclearError as error:
            raise self.no_model(error.reason, error.suggestions, UnknownModelError) from None

    def refuse_unknown(self, query: str) -> None:
        """Make sure that a query means a model, whether or not there is a key for it. No command is run.

        Raises:
            UnknownModelError: there is none of that name, or several are.
        """
        try:
            self._meant(ModelChoice(query))
        except UnclearError as error:
            raise self.no_model(error.reason, error.suggestions, UnknownModelError) from None

    def no_model(
        self, reason: str, suggested: tuple[str, ...] = (), kind: type[NoModelError] = NoModelError
    ) -> NoModelError:
        """An error with all that helps to get going."""
        return kind(
            reason,
            suggestions=suggested,
            auth_file=self._auth_file,
            models_file=self._models_file,
            problems=(*self.problems, *self.obstacles()),
        )

    def obstacles(self) -> tuple[str, ...]:
        """Why providers the user has set up cannot be used, one line each. Evaluates no command."""
        reasons: dict[str, None] = {}  # what is wrong with auth.json is wrong for every provider
        for provider in self._known.providers.values():
            if not provider.speaks(provider.api):
                if provider.config.api is None:
                    continue  # of the table, and nothing the user has done
                reasons[f"{self._models_file}: {self._unspoken(provider, provider.api)}"] = None
            elif not self._keys.has(provider):
                try:
                    self._keys.get(provider, None, run=False)
                except CredentialError as error:
                    reasons[str(error)] = None
        return tuple(reasons)

    @staticmethod
    def _unspoken(provider: ConfiguredProvider, api: str) -> str:
        return f"{provider.name} speaks the wire format {api!r}; this kaa speaks {', '.join(WIRE_FORMATS)}"

    @property
    def _keys(self) -> ProviderKeys:
        return ProviderKeys(self._known.store, self.environ, self._models_file, self._given_keys)

    @property
    def _lookup(self) -> Lookup:
        return Lookup(self._known.providers, self._is_usable)

    def _is_usable(self, provider: ConfiguredProvider) -> bool:
        return not provider.needs_key or self._keys.has(provider)

    def _listed(self, provider: ConfiguredProvider) -> Iterator[ListedModel]:
        has_key = self._keys.has(provider)
        key: Literal["there", "missing", "not needed", "local"]
        key = "there" if has_key else "missing" if provider.needs_key else "not needed"
        if key == "not needed" and self._known.was_found(provider.name):
            key = "local"
        for known in provider.models:
            is_usable = key != "missing" and provider.speaks(known.model.api)
            levels = offered_levels(known.model, known.thinking_levels)
            yield ListedModel(known.model, levels, key, is_usable)

    def _meant(self, choice: ModelChoice) -> tuple[FoundModel, ThinkingLevel | None]:
        """What is wished for, or else what the settings say, with the thinking level behind it.

        Raises:
            NoModelError: there is nothing that could be used.
            UnclearError: there is nothing of that name, or several are.
        """
        query, level = self._lookup.split_level(choice.query or "")
        if query or choice.provider not in (None, choice.default_provider):
            return self._lookup.find(query, choice.provider, keyed=choice.api_key is not None), level
        default, default_level = self._lookup.split_level(choice.default_model or "")
        level = level or (None if choice.thinking else default_level)
        if default or choice.default_provider:
            return self._lookup.find(default, choice.default_provider), level
        return self._first(), level

    def _first(self) -> FoundModel:
        """What there is when nobody says anything: the first provider's, of those that can be used."""
        for provider in self._lookup.usable():
            if provider.speaks(provider.default.model.api if provider.default else provider.api):
                return provider, provider.default
        raise self.no_model("there is no model to talk to: there is no API key, and no local server is set up")

    def _credential(
        self, provider: ConfiguredProvider, known: KnownModel | None, api_key: str | None
    ) -> Credential | None:
        api = known.model.api if known else provider.api
        if not provider.speaks(api):
            raise self.no_model(self._unspoken(provider, api))
        credential = self._keys.get(provider, api_key)
        if credential is None and provider.needs_key and provider.ambient is None:
            variables = " or ".join(variable for variable, _ in provider.key_variables)
            ways = f"set {variables}, or " if variables else ""
            whose = f"{known.model.id} is a model of {provider.name}, but " if known else ""
            raise self.no_model(f"{whose}there is no API key for {provider.name}: {ways}run  kaa login {provider.name}")
        return credential

    def _resolved(
        self, provider: ConfiguredProvider, known: KnownModel, credential: Credential | None, thinking: ThinkingLevel
    ) -> ResolvedModel:
        base_url = self._keys.address(provider, known, keyed=credential is not None)
        bearer = provider.config.auth_header or (credential is not None and credential.kind in {"bearer", "oauth"})
        endpoint = Endpoint(
            base_url=base_url,
            api_key=credential.secret if credential else None,
            headers=self._keys.headers(provider, known),
            auth="bearer" if bearer else provider.auth,
            authorizer=self._authorizer(provider, credential, base_url),
            compat=compat_for(
                base_url,
                known.model.id,
                # Vendors know the notations of their own models.
                dict.fromkeys(("writtenToolCalls", "inlineThinking"), not provider.official)
                | laid_over(provider.config.compat, known.compat),
            ),
            thinking_levels=known.thinking_levels,
            sampling=known.sampling,
            prompt_cache=known.prompt_cache,
            tuning=self.tuning,
            network_variables=self._keys.network_variables(provider),
        )
        if known.model.api == "azure-openai-responses":
            from kaa.llm.responses.azure import at_azure  # lazy: most users have no models there

            endpoint = at_azure(endpoint, known.model.id, self._keys.variables(provider))
        level = nearest_level(thinking, known.model, known.thinking_levels)
        wire_format = WIRE_FORMATS.get(known.model.api)
        defers = endpoint.compat.supports_tool_search and wire_format is not None and wire_format.searches_tools
        patches = endpoint.compat.supports_apply_patch
        model = msgspec.structs.replace(known.model, defers_tools=defers, edits_by_patch=patches)
        return ResolvedModel(model, endpoint, level, provider.provided)

    def _authorizer(
        self, provider: ConfiguredProvider, credential: Credential | None, base_url: str
    ) -> Authorizer | None:
        if credential is None:
            return self._keys.ambient_authorizer(provider, base_url)
        if credential.kind != "oauth":
            return None
        # Lazy: most users have keys.
        from kaa.llm.auth.auth_file import AuthFile
        from kaa.llm.auth.oauth.renewal import ConfiguredRenewer, KeptLogin, OAuthAuthorizer
        from kaa.llm.http.live import LiveTransport

        config, new_transport = provider.config.oauth, partial(LiveTransport, proxy=self._proxy)
        renewer = None if config is None else ConfiguredRenewer(config, new_transport)
        return OAuthAuthorizer(KeptLogin(AuthFile(self._auth_file), provider.name), renewer)


def _found_provider(name: str, config: ProviderConfig) -> ConfiguredProvider:
    return ConfiguredProvider(name, config.base_url, config, official=False)


def _stamp(file: Path) -> _Stamp:
    """What changes with a file's content; None if it is not there."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
