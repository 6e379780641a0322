"""What an extension process registers: the parameters of `register/…`, parsed and checked."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from kaa.core.messages import Json
from kaa.ext.errors import RegistrationError
from kaa.ext.process import wire
from kaa.ext.process.wire import RpcError

# Every request to a model carries it, or a part of it.
_MAX_DESCRIPTION = 8_000
_MAX_SECTION = 64_000
_MAX_SCHEMA_BYTES = 64_000
_MAX_OFFERS = 500

_Name = Annotated[str, Meta(min_length=1, max_length=200)]


class _Offer(msgspec.Struct, frozen=True, rename="camel"):
    """Base of all."""


class ToolOffer(_Offer, frozen=True):
    """`register/tool`."""

    name: _Name
    description: Annotated[str, Meta(max_length=_MAX_DESCRIPTION)] = ""
    parameters: dict[str, Json] = {}
    title: str = ""  # kaa's addition
    prompt_hint: Annotated[str, Meta(max_length=_MAX_DESCRIPTION)] = ""
    deferred: bool = False
    interrupt_behavior: Literal["", "cancel", "block"] = "cancel"

    def __post_init__(self) -> None:
        _check_schema(self.parameters)


class CommandOffer(_Offer, frozen=True):
    """`register/command`."""

    name: _Name
    description: Annotated[str, Meta(max_length=_MAX_DESCRIPTION)] = ""
    immediate: bool = False


class SectionOffer(_Offer, frozen=True):
    """`register/promptSection`."""

    title: _Name
    content: Annotated[str, Meta(max_length=_MAX_SECTION)]
    order: int = 0


class InterceptorOffer(_Offer, frozen=True):
    """`register/interceptor`."""

    name: _Name
    priority: int = 0


class EventHandlerOffer(_Offer, frozen=True):
    """`register/eventHandler`. Without `events`: all."""

    name: _Name
    priority: int = 0
    events: tuple[str, ...] = ()


class MessageHookOffer(_Offer, frozen=True):
    """`register/messageHook`."""

    name: _Name
    priority: int = 0


class InputTransformerOffer(_Offer, frozen=True):
    """`register/inputTransformer`."""

    name: _Name
    priority: int = 0


class CompactorOffer(_Offer, frozen=True):
    """`register/compactor`. Its threshold has no effect: kaa's settings say when to compact."""

    name: _Name


class OfferedModel(msgspec.Struct, frozen=True, rename="camel"):
    """A model of a process; the fields are those of models.json that say nothing about an address or a key."""

    id: _Name
    name: str = ""
    reasoning: bool = False
    input: tuple[Literal["text", "image"], ...] = ("text",)
    context_window: Annotated[int, Meta(ge=1)] = 128_000
    max_tokens: Annotated[int, Meta(ge=1)] = 16_384
    cost: dict[str, float] | None = None


class ProviderOffer(_Offer, frozen=True):
    """`register/provider`, with the models that Piglet has from its settings."""

    api: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
    models: tuple[OfferedModel, ...] = ()

    def __post_init__(self) -> None:
        if not self.models:
            raise ValueError("`models` is empty: kaa needs the models of a provider with its registration")

    @property
    def entry(self) -> dict[str, Json]:
        """As in models.json."""
        return {"models": [{k: v for k, v in one.items() if v is not None} for one in msgspec.to_builtins(self.models)]}


class ShortcutOffer(_Offer, frozen=True):
    """`register/shortcut`."""

    key: _Name
    description: str = ""


Offer: TypeAlias = (
    ToolOffer
    | CommandOffer
    | SectionOffer
    | InterceptorOffer
    | EventHandlerOffer
    | MessageHookOffer
    | InputTransformerOffer
    | CompactorOffer
    | ProviderOffer
    | ShortcutOffer
)

_KINDS: dict[str, type[Offer]] = {
    "register/tool": ToolOffer,
    "register/command": CommandOffer,
    "register/promptSection": SectionOffer,
    "register/interceptor": InterceptorOffer,
    "register/eventHandler": EventHandlerOffer,
    "register/messageHook": MessageHookOffer,
    "register/inputTransformer": InputTransformerOffer,
    "register/compactor": CompactorOffer,
    "register/provider": ProviderOffer,
    "register/shortcut": ShortcutOffer,
}


class Offers:
    """What one process has registered so far. Without an argument: nothing."""

    def __init__(self) -> None:
        self._offers: dict[tuple[type[Offer], str], Offer] = {}

    @property
    def tools(self) -> list[ToolOffer]:
        """In the order of registration."""
        return [one for one in self._offers.values() if isinstance(one, ToolOffer)]

    @property
    def commands(self) -> list[CommandOffer]:
        """In the order of registration."""
        return [one for one in self._offers.values() if isinstance(one, CommandOffer)]

    @property
    def providers(self) -> list[ProviderOffer]:
        """In the order of registration."""
        return [one for one in self._offers.values() if isinstance(one, ProviderOffer)]

    @property
    def shortcuts(self) -> list[ShortcutOffer]:
        """In the order of registration."""
        return [one for one in self._offers.values() if isinstance(one, ShortcutOffer)]

    @property
    def sections(self) -> list[SectionOffer]:
        """Those with the lowest `order` first."""
        return sorted(
            (one for one in self._offers.values() if isinstance(one, SectionOffer)), key=lambda one: one.order
        )

    @property
    def interceptors(self) -> list[InterceptorOffer]:
        """Those with the highest priority first."""
        found = (one for one in self._offers.values() if isinstance(one, InterceptorOffer))
        return sorted(found, key=lambda one: -one.priority)

    def has(self, kind: type[Offer]) -> bool:
        """Whether there is one of a kind. Processes sort and call their hooks of a kind themselves."""
        return any(isinstance(one, kind) for one in self._offers.values())

    def wants(self, event: str) -> bool:
        """Whether an event handler is interested in an event."""
        handlers = (one for one in self._offers.values() if isinstance(one, EventHandlerOffer))
        return any(not one.events or event in one.events for one in handlers)

    def add(self, method: str, params: Mapping[str, Json]) -> Offer:
        """Add what a process registers.

        Raises:
            RegistrationError: it is invalid, a duplicate, or kaa does not support it.
        """
        if (kind := _KINDS.get(method)) is None:
            raise RegistrationError(f"{method}: kaa does not know this kind of registration")
        try:
            offer = wire.parse(params, kind)
        except RpcError as error:
            raise RegistrationError(f"{method} is invalid: {error.message}") from error
        name = _name(offer)
        if (kind, name) in self._offers:
            raise RegistrationError(f"{method}: {name!r} is already registered by this extension")
        if len(self._offers) >= _MAX_OFFERS:
            raise RegistrationError(f"{method}: {name!r} is beyond the limit of {_MAX_OFFERS} registrations")
        self._offers[kind, name] = offer
        return offer

    def drop(self, offer: Offer) -> None:
        """Take back what kaa could not accept."""
        self._offers.pop((type(offer), _name(offer)), None)


def _name(offer: Offer) -> str:
    match offer:
        case SectionOffer(title=name) | ShortcutOffer(key=name) | ProviderOffer(api=name):
            return name
        case _:
            return offer.name


def _check_schema(schema: dict[str, Json]) -> None:
    """Check what every server checks of a tool's schema: one that it refuses would end all requests.

    Raises:
        ValueError: it is no JSON Schema of an object.
    """
    if len(msgspec.json.encode(schema)) > _MAX_SCHEMA_BYTES:
        raise ValueError(f"`parameters` has more than {_MAX_SCHEMA_BYTES} bytes")
    if schema.get("type", "object") != "object":
        raise ValueError(f'`parameters.type` is {wire.shown(schema["type"])}: it must be "object"')
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(one, dict | bool) for one in properties.values()):
        raise ValueError("`parameters.properties` must be an object of schemas")
    required = schema.get("required") or []
    if not isinstance(required, list) or not all(isinstance(one, str) and one in properties for one in required):
        raise ValueError("`parameters.required` must be a list of names in `parameters.properties`")
