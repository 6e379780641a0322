"""Finds the model that is meant where a server has to be asked: one known by its address, or one on this machine."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from kaa.core.errors import ProviderError
from kaa.core.provider import ThinkingLevel
from kaa.llm.http.transport import Transport
from kaa.llm.local.addresses import Address, AddressError, address_in, address_of_provider, names_of
from kaa.llm.models.matching import split_thinking
from kaa.llm.models.registry import ModelChoice, ModelRegistry, NoModelError
from kaa.llm.models.resolved import ResolvedModel, UnlistedServer

if TYPE_CHECKING:
    from kaa.llm.local.servers import LocalServer

Notify = Callable[[str], None]

# Part of the window must stay for the question.
_OUTPUT_PART_OF_WINDOW: Final = 4
SMALL_WINDOW: Final = 16_384
"""Tokens. One file and its tests take most of a smaller window; kaa's own texts should then be the least of it."""
_NAMES_TOLD: Final = 8


def _nobody(_: str) -> None:
    """Tells nobody."""


async def find_model(
    registry: ModelRegistry,
    choice: ModelChoice,
    transport: Transport,
    *,
    notify: Notify = _nobody,
    look: bool = True,
) -> ResolvedModel:
    """The model that `choice` means, asking servers for it if need be.

    Args:
        registry: what there is; learns of servers on this machine.
        notify: told, in a sentence, of a window that is too small for work, and of a model that nobody lists.
        look: ask at the usual ports of this machine before saying that there is no model.

    Raises:
        NoModelError: nothing fits, the key is missing, or the server does not say what it has.
        CredentialError: a key cannot be read.
    """
    if local := await find_local_model(registry, choice, transport, notify=notify):
        return local
    try:
        # Not in a thread: a conversation that opens has nothing else to do, and a thread costs more than most keys.
        resolved = registry.resolve(choice)
    except NoModelError as error:
        if not look:
            raise
        return await _found_around(registry, choice, transport, error, notify)
    if not isinstance(resolved, ResolvedModel):
        return await ask_server(registry, resolved, transport)
    if choice.query and choice.provider is None and registry.is_guess(choice.query, resolved.model):
        notify(f"{resolved.model.provider} is asked for {resolved.model.id!r}, which is in no list of models")
    return resolved


async def find_local_model(
    registry: ModelRegistry, choice: ModelChoice, transport: Transport, *, notify: Notify = _nobody
) -> ResolvedModel | None:
    """The model at the address, or of the local server, that `choice` names; None if it names none.

    Raises:
        NoModelError: nobody answers there, or without the model, or not without another key.
        CredentialError: the key that was given cannot be read.
    """
    query, level = split_thinking(choice.query or "")
    try:
        address = _address(registry, choice, query)
    except AddressError as error:
        raise registry.no_model(str(error)) from None
    if address is None:
        return None
    from kaa.llm.local.servers import KeyWantedError, ask_server_at, with_key
    from kaa.llm.local.window import with_loaded  # lazy, as below: most models are not on this machine
    from kaa.llm.models.local_providers import described

    key = _key_of(choice) or registry.given_key(*names_of(address.root, registry.environ))
    transport = with_key(transport, key)
    try:
        server = await ask_server_at(address.root, transport, registry.environ)
        if server is None and address.former:
            server = await ask_server_at(address.former, transport, registry.environ)
    except KeyWantedError:
        raise registry.no_model(_key_wanted(address, choice, query, is_given=key is not None)) from None
    host = _host_of(address.root if server is None else server.root)
    if server is None:
        raise registry.no_model(f"no model server answers at {host}: start it, or check the port")
    if not server.models:
        raise registry.no_model(f"the server at {host} has no model: load one there")
    if server.name in registry.set_up:  # the user calls something else so
        server = msgspec.structs.replace(server, name=f"local:{host.rpartition(':')[2]}")
    model_id = _model_of(registry, server, address.model)
    server = await with_loaded(server, model_id, transport, notify)
    registry.add_found(server.name, described(server))
    return _resolve_found(registry, choice, server, model_id, level, notify)


def _key_of(choice: ModelChoice) -> str | None:
    # A session or a setting may name a server too; a key goes only to one that was named together with it.
    return choice.api_key if choice.query or choice.provider else None


def _key_wanted(address: Address, choice: ModelChoice, query: str, *, is_given: bool) -> str:
    host = _host_of(address.root)
    if is_given:
        return f"the server at {host} refused the API key: check it"
    named = query if query and choice.provider is None else choice.provider or choice.default_provider or query
    return (
        f"the server at {host} wants an API key: start kaa with --model {named} --api-key KEY, "
        "or describe the server with its apiKey in models.json"
    )


def _host_of(root: str) -> str:
    return root.partition("://")[2]


async def look_for_servers(registry: ModelRegistry, transport: Transport) -> tuple[str, ...]:
    """Ask at the usual ports of this machine, a second at most. Returns the models found, as `provider/id`."""
    from kaa.llm.local.servers import look_around
    from kaa.llm.models.local_providers import described

    servers = await look_around(transport, registry.environ, registry.set_up)
    for server in servers:
        registry.add_found(server.name, described(server))
    return tuple(f"{server.name}/{model.id}" for server in servers for model in server.models)


async def _found_around(
    registry: ModelRegistry, choice: ModelChoice, transport: Transport, error: NoModelError, notify: Notify
) -> ResolvedModel:
    """The model asked for, if a server on this machine has it. None is taken that the user did not ask for."""
    error.found = await look_for_servers(registry, transport)
    query, _ = split_thinking(choice.query or "")
    named = [name for name in error.found if query and name.partition("/")[2] in (query, f"{query}:latest")]
    if choice.provider is None and len(named) == 1:
        asked = msgspec.structs.replace(choice, query=named[0] + (choice.query or "").removeprefix(query))
        if local := await find_local_model(registry, asked, transport, notify=notify):
            return local
    raise error


def address_named(registry: ModelRegistry, query: str) -> Address | None:
    """The server at an address that a name of a model begins with; None for the name of a provider that is set up.

    Raises:
        AddressError: the address has a mistake.
    """
    return None if query.partition("/")[0] in registry.set_up else address_in(query, registry.environ)


def _address(registry: ModelRegistry, choice: ModelChoice, query: str) -> Address | None:
    """The server that is named, unless the name is that of one that is set up."""
    provider = choice.provider
    if provider is None and query:
        return address_named(registry, query)
    model = query
    if not query and provider in (None, choice.default_provider):
        provider, model = choice.default_provider, split_thinking(choice.default_model or "")[0]
    if provider is None or provider in registry.set_up:
        return None
    return address_of_provider(provider, model.removeprefix(f"{provider}/"), registry.environ)


def _model_of(registry: ModelRegistry, server: "LocalServer", wanted: str) -> str:
    """The id of the model that is meant.

    Raises:
        NoModelError: the server does not have it.
    """
    ids = [model.id for model in server.models]
    if not wanted:
        return ids[0]
    for fitting in (
        [name for name in ids if name in (wanted, f"{wanted}:latest")],
        [name for name in ids if wanted.lower() in name.lower()],
    ):
        if len(fitting) == 1:
            return fitting[0]
    names = [f"{server.name}/{name}" for name in ids]
    raise registry.no_model(
        f"{server.name} has no model {wanted!r}: it has {', '.join(ids[:_NAMES_TOLD])}", tuple(names[:_NAMES_TOLD])
    )


def _resolve_found(
    registry: ModelRegistry,
    choice: ModelChoice,
    server: "LocalServer",
    model_id: str,
    level: ThinkingLevel | None,
    notify: Notify,
) -> ResolvedModel:
    asked = ModelChoice(
        query=model_id,
        provider=server.name,
        api_key=_key_of(choice),
        thinking=choice.thinking or level,
        default_thinking=choice.default_thinking,
    )
    resolved = registry.resolve(asked)
    assert isinstance(resolved, ResolvedModel)  # a model was named
    if advice := server.advice(model_id, SMALL_WINDOW):
        notify(advice)
    return resolved


async def ask_server(registry: ModelRegistry, server: UnlistedServer, transport: Transport) -> ResolvedModel:
    """The model to use of a server of which only the address is known: one that kaa knows, or its first.

    Raises:
        NoModelError: the server does not say what it has.
    """
    from kaa.llm.models.model_list import served_models  # lazy: most servers are known with their models

    try:
        listed = await served_models(server.endpoint, server.model.model.api, transport)
    except ProviderError as error:
        if server.known:
            return server.known[0]
        raise registry.no_model(
            f"{server.endpoint.host or 'the server'} was asked which models it has, but: {error} "
            "Or name one with --model."
        ) from error
    by_id = {model.id: model for model in listed}
    for known in server.known:
        if known.model.id in by_id:
            return known
    first = listed[0]
    model = server.model.model
    if first.window:
        output = min(model.max_tokens, first.window // _OUTPUT_PART_OF_WINDOW)
        model = msgspec.structs.replace(model, context_window=first.window, max_tokens=output)
    return msgspec.structs.replace(server.model, model=msgspec.structs.replace(model, id=first.id, name=first.id))
