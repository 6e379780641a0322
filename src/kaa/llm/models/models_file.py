"""models.json: the user's own providers and models, and changes to the built-in ones. The format is pi's.

A mistake costs the provider or the model it is in, never the others, and is told with its place.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

import msgspec

from kaa.core.messages import Json
from kaa.core.provider import Model, ModelRates, ThinkingLevel
from kaa.host.paths import leads_elsewhere
from kaa.host.regular_files import read_regular
from kaa.llm import jsonc
from kaa.llm.auth.oauth.config import OAuthConfig
from kaa.llm.catalogue import KnownModel
from kaa.llm.compat import Compat, laid_over
from kaa.llm.former_names import by_current_name
from kaa.llm.models.provider_table import BUILTINS
from kaa.llm.sampling import OWN_FIELDS, Sampling
from kaa.llm.thinking_levels import LEVELS, ThinkingLevels
from kaa.llm.tuning import PromptCache
from kaa.llm.wire import WIRE_FORMATS

# What most servers speak.
DEFAULT_API = "openai-completions"

KeyT = TypeVar("KeyT", str, int)

_Tokens: TypeAlias = Annotated[int, msgspec.Meta(gt=0)]


class ProviderConfig(msgspec.Struct, rename="camel", frozen=True):
    """One entry of `providers`.

    Attributes:
        auth_header: the key goes into `Authorization: Bearer` whatever the wire format's custom is.
        oauth: how one logs in there, instead of using a key.
        compat: overrides for all models of the provider, see `kaa.llm.compat.Compat`.
        models: as written; `models_of` reads them.
        model_overrides: the same, by model id.
    """

    name: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    api: str | None = None
    headers: dict[str, str] = {}
    auth_header: bool = False
    oauth: OAuthConfig | None = None
    compat: dict[str, Json] = {}
    models: list[Json] = []
    model_overrides: dict[str, Json] = {}


class ModelsFile(msgspec.Struct, frozen=True):
    """What could be read of a models.json.

    Attributes:
        problems: what could not, one line each: file, JSON path, what is expected.
    """

    providers: dict[str, ProviderConfig]
    problems: tuple[str, ...]


def load_models_file(path: Path) -> ModelsFile:
    """Read `path`; a file that does not exist is an empty one."""
    try:
        content = read_regular(path)
    except FileNotFoundError:
        return ModelsFile({}, ())
    except OSError as error:
        return ModelsFile({}, (f"{path} cannot be read ({error.strerror})",))
    if leads_elsewhere(str(path)):
        from kaa.host.linked_settings import unseen  # lazy: most files lead nowhere else

        changed = unseen(str(path), content)
        if changed is not None:
            return ModelsFile({}, (changed.refusal,))
    try:
        file = jsonc.decode(content, dict[str, Json])
        entries = msgspec.convert(file, _File).providers
    except jsonc.JsoncError as error:
        return ModelsFile({}, (f"{path}, {error}",))
    except msgspec.ValidationError as error:
        return ModelsFile({}, (_problem(path, "", error),))
    providers: dict[str, ProviderConfig] = {}
    problems = [_unsupported(path, fields)] if (fields := [*_unknown_fields(file, _File)]) else []
    for name, entry in by_current_name(entries).items():
        config, wrong = read_provider(path, name, entry)
        problems += wrong
        if config is not None:
            providers[name] = config
    return ModelsFile(providers, tuple(problems))


def read_provider(where: Path | str, name: str, entry: Json) -> tuple[ProviderConfig | None, list[str]]:
    """One entry of `providers`, None if it is none, and what is wrong with it, one line each.

    Args:
        where: the file, or who gave it, for messages.
    """
    place = f"providers.{name}"
    try:
        config = msgspec.convert(entry, ProviderConfig)
        msgspec.convert(entry, _Parts)
    except msgspec.ValidationError as error:
        return None, [_problem(where, place, error)]
    listed = ((index, f"{place}.models[{index}]", one) for index, one in enumerate(config.models))
    models, wrong = _sound(where, listed, _ModelEntry)
    named = ((name, f"{place}.modelOverrides.{name}", one) for name, one in config.model_overrides.items())
    overrides, wrong_overrides = _sound(where, named, _ModelOverride)
    config = msgspec.structs.replace(config, models=[*models.values()], model_overrides=overrides)
    return config, [*wrong, *wrong_overrides, *_ignored(where, name, config, entry)]


def models_of(provider: str, config: ProviderConfig, builtin: tuple[KnownModel, ...]) -> tuple[KnownModel, ...]:
    """The models of `provider`: the built-in ones and then the user's own, with the overrides.

    A model of the user's with the id of a built-in one replaces it. What is said of a model counts before what is said
    of its provider, and all that the user says before what is built in.
    """
    models = {known.model.id: _with_provider(known, config) for known in builtin}
    default_api = builtin[0].model.api if builtin else DEFAULT_API
    for entry in config.models:
        known = _own_model(provider, msgspec.convert(entry, _ModelEntry), config.api or default_api)
        models[known.model.id] = msgspec.structs.replace(known, compat=laid_over(config.compat, known.compat))
    for model_id, override in config.model_overrides.items():
        if model_id in models:
            models[model_id] = _overridden(models[model_id], msgspec.convert(override, _ModelOverride))
    return tuple(models.values())


def _with_provider(known: KnownModel, config: ProviderConfig) -> KnownModel:
    """A built-in model with what the user says of its whole provider."""
    if config.api is not None:
        known = msgspec.structs.replace(known, model=msgspec.structs.replace(known.model, api=config.api))
    return msgspec.structs.replace(known, compat=laid_over(known.compat, config.compat)) if config.compat else known


class _File(msgspec.Struct, frozen=True):
    providers: dict[str, Json] = {}


class _ModelOverride(msgspec.Struct, rename="camel", frozen=True):
    """Changes to a model; what is not there stays."""

    name: str | None = None
    reasoning: bool | None = None
    thinking_level_map: dict[str, str | None] = {}
    input: tuple[Literal["text", "image"], ...] | None = None
    cost: dict[str, Json] = {}
    context_window: _Tokens | None = None
    max_tokens: _Tokens | None = None
    headers: dict[str, str] = {}
    compat: dict[str, Json] = {}
    sampling_params: dict[str, Json] = {}
    sampling_params_by_thinking_level: dict[ThinkingLevel, dict[str, Json]] = {}
    prompt_cache: PromptCache | None = None


class _ModelEntry(msgspec.Struct, rename="camel", frozen=True):
    """A model of the user's. Defaults are pi's."""

    id: str
    name: str | None = None
    api: str | None = None
    base_url: str | None = None
    reasoning: bool = False
    thinking_level_map: dict[str, str | None] = {}
    input: tuple[Literal["text", "image"], ...] = ("text",)
    cost: ModelRates | None = None
    context_window: _Tokens = 128_000
    max_tokens: _Tokens = 16_384
    headers: dict[str, str] = {}
    compat: dict[str, Json] = {}
    sampling_params: dict[str, Json] = {}
    sampling_params_by_thinking_level: dict[ThinkingLevel, dict[str, Json]] = {}
    prompt_cache: PromptCache = PromptCache()


def _sound(
    path: Path | str, entries: Iterable[tuple[KeyT, str, Json]], shape: type[msgspec.Struct]
) -> tuple[dict[KeyT, Json], list[str]]:
    """The entries that have a shape, by their keys, and what is wrong with the others.

    Args:
        entries: each with its key and its place in the file.
    """
    sound: dict[KeyT, Json] = {}
    problems: list[str] = []
    for key, place, entry in entries:
        try:
            msgspec.convert(entry, shape)
            msgspec.convert(entry, _Parts)
        except msgspec.ValidationError as error:
            problems.append(_problem(path, place, error))
        else:
            sound[key] = entry
    return sound, problems


class _Parts(msgspec.Struct, frozen=True):
    """The parts of an entry that are kept as written, because they are laid over others later."""

    compat: Compat = Compat()
    cost: ModelRates | None = None


def _own_model(provider: str, entry: _ModelEntry, default_api: str) -> KnownModel:
    model = Model(
        id=entry.id,
        provider=provider,
        api=entry.api or default_api,
        name=entry.name or entry.id,
        reasoning=entry.reasoning,
        input=entry.input,
        context_window=entry.context_window,
        max_tokens=entry.max_tokens,
        cost=entry.cost,
    )
    levels, sampling = _levels(entry.thinking_level_map), _sampling(entry)
    return KnownModel(model, levels, entry.compat, entry.base_url, entry.headers, sampling, entry.prompt_cache)


def _sampling(entry: _ModelEntry | _ModelOverride) -> Sampling:
    return Sampling(entry.sampling_params, entry.sampling_params_by_thinking_level)


def _levels(names: dict[str, str | None]) -> ThinkingLevels:
    """The levels that kaa has; a file may be shared with a program that has more."""
    return {level: names[level] for level in LEVELS if level in names}


def _overridden(known: KnownModel, override: _ModelOverride) -> KnownModel:
    changes = {
        field: value
        for field in ("name", "reasoning", "input", "context_window", "max_tokens")
        if (value := getattr(override, field)) is not None
    }
    if override.cost:
        before = msgspec.to_builtins(known.model.cost) if known.model.cost is not None else {}
        changes["cost"] = msgspec.convert(before | override.cost, ModelRates)
    return KnownModel(
        msgspec.structs.replace(known.model, **changes),
        known.thinking_levels | _levels(override.thinking_level_map),
        laid_over(known.compat, override.compat),
        known.base_url,
        known.headers | override.headers,
        known.sampling.laid_under(_sampling(override)),
        override.prompt_cache or known.prompt_cache,
    )


def _ignored(path: Path | str, name: str, config: ProviderConfig, entry: Mapping[str, Json]) -> Iterator[str]:
    """What says which fields of a provider have no effect, in one line; nothing if all have one."""
    builtin = BUILTINS.get(name)
    api = config.api or (builtin.api if builtin is not None else None)
    fields = [*_ignored_fields(entry, ProviderConfig, api)]
    for model in config.models:
        found = _ignored_fields(model, _ModelEntry, model.get("api") or api)
        fields += [f"models.{model['id']}.{field}" for field in found]
    for model_id, override in config.model_overrides.items():
        found = _ignored_fields(override, _ModelOverride, api)
        fields += [f"modelOverrides.{model_id}.{field}" for field in found]
    if fields:
        yield _unsupported(f"{path}: providers.{name}", fields)


def _unsupported(place: Path | str, fields: Iterable[str]) -> str:
    return f"{place}: kaa does not support and ignores {', '.join(fields)}"


def _problem(path: Path | str, place: str, error: msgspec.ValidationError) -> str:
    """The validator's message with the place from the top of the file."""
    reason, _, inner = str(error).partition(" - at `$")
    where = (place + inner.removesuffix("`")).lstrip(".")
    return f"{path}: {where}: {reason}" if where else f"{path}: {reason}"


# pi's fields are those of its schema (`schemas/models.schema.json` of `@earendil-works/pi-coding-agent` 1.5.2).

# Of pi's fields those that permit a request what kaa's requests never have: without them, nothing is missing.
_PERMISSIONS: Final = frozenset(
    [
        "$schema",
        "supportsOpenAIGrammarTools",
        "supportsMidConvoSystemMessages",
        "supportsMidConvoToolAdditions",
        "supportsMidConvoToolChanges",
        "supportsMidConvoEffort",
        "supportsAdditionalTools",
        "supportsToolSearch",
        "supportsStrictTools",
        "supportsMessageThreads",
    ]
)
_ROUTING: Final = ("openRouterRouting", "vercelGatewayRouting")
_SAMPLING: Final = ("samplingParams", "samplingParamsByThinkingLevel")


def _ignored_fields(entry: Mapping[str, Json], shape: type[msgspec.Struct], api: str | None) -> Iterator[str]:
    """The fields of a provider, a model or an override that have no effect, with their places within it.

    Args:
        entry: as it is written, and valid.
        api: the wire format, as far as it is known.
    """
    yield from _unknown_fields(entry, shape)
    compat = entry.get("compat") or {}
    yield from _unknown_fields(compat, Compat, "compat.")
    if (known := WIRE_FORMATS.get(api or "")) is not None and not known.is_routed:
        yield from (f"compat.{name}" for name in _ROUTING if compat.get(name))
    for name in _SAMPLING:
        given = entry.get(name) or {}
        levels = {f"{name}.": given} if name == _SAMPLING[0] else {f"{name}.{at}.": given[at] for at in given}
        for place, params in levels.items():
            yield from (f"{place}{field}" for field in params if field in OWN_FIELDS)


def _unknown_fields(entry: Iterable[str], shape: type[msgspec.Struct], place: str = "") -> Iterator[str]:
    """The fields that kaa does not know, each after `place`."""
    known = (*shape.__struct_encode_fields__, *_PERMISSIONS)
    return (f"{place}{name}" for name in entry if name not in known)
