"""The providers there are: the built-in ones, and what the user's models.json and environment make of them."""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from kaa.core.provider import Model
from kaa.llm.catalogue import KnownModel, known_models
from kaa.llm.http.transport import host_of
from kaa.llm.models.models_file import DEFAULT_API, ProviderConfig, load_models_file, models_of
from kaa.llm.models.provider_table import BUILTINS, Builtin, Family, KeyKind
from kaa.llm.thinking_levels import LEVELS, ThinkingLevels
from kaa.llm.wire import WIRE_FORMATS, Ambient, AuthStyle

if TYPE_CHECKING:
    from kaa.llm.models.provided import ProvidedProvider


class ConfiguredProvider:
    """A provider as it is set up. What the catalogue knows of it is read when it is first asked for.

    Args:
        base_url: None if every model has its own.
        official: at its vendor's own address, where nothing works without a key.
        provided: who added it; None for kaa's own and the user's.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None,
        config: ProviderConfig,
        *,
        official: bool,
        provided: "ProvidedProvider | None" = None,
    ) -> None:
        self.name = name
        self.base_url = base_url
        self.official = official
        self.config = config
        self.provided = provided
        self._builtin = BUILTINS.get(name)

    @cached_property
    def models(self) -> tuple[KnownModel, ...]:
        """All that are known, in order of preference."""
        known = known_models(self.name)
        if self.config.api == DEFAULT_API or (self.config.api is None and not self.official):
            known = tuple(map(behind_gateway, known))
        elif not self.official:  # all are where the user says, and their keys go nowhere else
            known = tuple(msgspec.structs.replace(model, base_url=None) for model in known)
        return models_of(self.name, self.config, known)

    @property
    def default(self) -> KnownModel | None:
        """The model to take when none is named; None if the server must be asked which it has."""
        # Whoever serves at another address may have none of the vendor's models, but surely those the user wrote down.
        own = {entry["id"] for entry in self.config.models}
        return next((known for known in self.models if self.official or known.model.id in own), None)

    @property
    def api(self) -> str:
        """The wire format of models that say nothing else."""
        if self.config.api is not None:
            return self.config.api
        if self._builtin is None:
            return self.models[0].model.api if self.models else DEFAULT_API
        # The catalogue may know better than the table, but it is not read for this: there are many providers.
        if not self.official and self._builtin.api == "openai-responses":
            return DEFAULT_API
        return self._builtin.api

    def speaks(self, api: str) -> bool:
        """Whether models of this wire format can be asked."""
        return api in WIRE_FORMATS or (self.provided is not None and self.provided.stream is not None)

    @property
    def knows_its_models(self) -> bool:
        """Whether `models` are the ones that are there, and not just those of the vendor whose format is spoken."""
        return self.official or bool(self.config.models)

    @property
    def needs_key(self) -> bool:
        """Whether requests without a key are useless. Local servers want none."""
        return self.official or self.config.api_key is not None or self.config.oauth is not None

    @property
    def key_variables(self) -> tuple[tuple[str, KeyKind], ...]:
        """Variables with keys; none for the user's own providers."""
        return self._builtin.key_variables if self._builtin else ()

    @property
    def ambient(self) -> Ambient | None:
        """Where credentials come from without a key, also behind a private address of the user's network."""
        return self._builtin.ambient if self._builtin else None

    @property
    def auth(self) -> AuthStyle | None:
        """How requests carry the key; servers at other addresses are taken to follow the custom of the wire format."""
        return self._builtin.auth if self._builtin and self.official else None

    def url_for(self, known: KnownModel | None, *, keyed: bool) -> str:
        """The address of a model, with its placeholders.

        Args:
            known: the model; None for the server as such.
            keyed: there is a key, and not only what is found on the machine.
        """
        if known and known.base_url:
            return known.base_url
        if keyed and self.official and self._builtin and self._builtin.keyed_url:
            return self._builtin.keyed_url
        return self.base_url or ""

    def find(self, model_id: str) -> KnownModel | None:
        """The model with this id, if it is known."""
        return self._by_id.get(model_id)

    def unknown_model(self, model_id: str) -> KnownModel:
        """A model that only the user knows, taken at its word. Its price is unknown."""
        family = self._family(model_id)
        api = family.api if family else self.api
        base_url = family.base_url if family else None
        like = self.default
        if base_url is None and like is not None and like.model.api == api:
            base_url = like.base_url
        from kaa.llm.models.unknown_models import likely_model  # lazy: most models are known

        if self.official and (likely := likely_model(self.name, model_id, api)):
            return msgspec.structs.replace(likely, base_url=base_url)
        kinds: tuple[Literal["text", "image"], ...] = ("text", "image") if self.official else ("text",)
        return KnownModel(Model(model_id, self.name, api, model_id, input=kinds), base_url=base_url)

    def _family(self, model_id: str) -> Family | None:
        if self._builtin is None or not self.official or self.config.api is not None:
            return None
        return next((family for family in self._builtin.families if family.mark in model_id), None)

    @cached_property
    def _by_id(self) -> dict[str, KnownModel]:
        return {known.model.id: known for known in self.models}


def load_providers(
    models_file: Path, environ: Mapping[str, str]
) -> tuple[dict[str, ConfiguredProvider], tuple[str, ...]]:
    """All providers by name, in order of preference, and what is wrong with the file, one line each."""
    file = load_models_file(models_file)
    problems = list(file.problems)
    providers: dict[str, ConfiguredProvider] = {}
    for name in {**BUILTINS, **file.providers}:
        provider = _configured(name, file.providers.get(name, ProviderConfig()), environ)
        if provider.base_url is None and not _everywhere(provider):
            problems.append(
                f"{models_file}: providers.{name}.baseUrl: Expected the address of the server, "
                "such as http://localhost:8080/v1"
            )
        else:
            providers[name] = provider
    return providers, tuple(problems)


def _everywhere(provider: ConfiguredProvider) -> bool:
    """Whether each model says where it is."""
    return bool(provider.models) and all(known.base_url for known in provider.models)


def _configured(name: str, config: ProviderConfig, environ: Mapping[str, str]) -> ConfiguredProvider:
    builtin = BUILTINS.get(name)
    if builtin is None:
        return ConfiguredProvider(name, config.base_url, config, official=False)
    moved = environ.get(builtin.base_url_variable) if builtin.base_url_variable else None
    base_url = config.base_url or moved or builtin.base_url
    return ConfiguredProvider(name, base_url, config, official=_is_official(base_url, builtin))


def _is_official(base_url: str, builtin: Builtin) -> bool:
    host = host_of(base_url)
    return host == host_of(builtin.base_url) or any(host.endswith(f".{end}") for end in builtin.own_hosts)


def behind_gateway(known: KnownModel) -> KnownModel:
    """The model where a gateway or an own server passes the vendor's off as its own.

    It is all at one address there, and of OpenAI's formats, Chat Completions is the one that such servers speak;
    `api` in models.json says otherwise.
    """
    if known.model.api != "openai-responses":
        return msgspec.structs.replace(known, base_url=None)
    model = msgspec.structs.replace(known.model, api="openai-completions")
    return msgspec.structs.replace(known, model=model, thinking_levels=_levels_with_tools(known), base_url=None)


def _levels_with_tools(known: KnownModel) -> ThinkingLevels:
    """What is left over Chat Completions, where OpenAI's models from GPT-5.4 on take tools only if they do not think.

    Source: developers.openai.com, the models' pages (2026-11-20).
    """
    version = re.match(r"gpt-(\d+)(?:\.(\d+))?", known.model.id)
    new = version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 4)
    if not new or known.thinking_levels.get("off") is None:
        return known.thinking_levels
    return {**dict.fromkeys(LEVELS), "off": known.thinking_levels["off"]}
