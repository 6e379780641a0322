"""Asks servers which they are, and what they know of their models: the window, and what a model can do.

One harmless question comes first, because on these ports anything may listen; what goes further is asked of a server
that has answered like one. Formats: docs.ollama.com/api, lmstudio.ai/docs/developer/rest/endpoints,
llama.cpp's tools/server/README.md (also run), vLLM's OpenAI-compatible `/v1/models`.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import msgspec

from kaa.core.errors import ProviderError
from kaa.core.messages import Json
from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport
from kaa.llm.local.addresses import USUAL_PORTS, name_by_port, name_for, roots_of

# On this machine an answer takes milliseconds; whoever hangs is not waited for.
_PROBE_SECONDS: Final = 1.0
# A server that somebody named may be busy loading a model.
_NAMED_SECONDS: Final = 10.0
# More models than anybody chooses from; each is asked for on its own.
_MOST_SHOWN: Final = 64
# What Ollama gives a model at least when nobody says otherwise: docs.ollama.com/context-length. That is for less than
# 24 GiB of VRAM; from there on it is 32,768, from 48 GiB on 262,144. The one in force is known once a model is loaded.
OLLAMA_DEFAULT_WINDOW: Final = 4096


_NO_KEY: Final = 401  # llama-server and vLLM with --api-key; whoever answers 403 may be no model server at all


class KeyWantedError(Exception):
    """A server names its models only to those with an API key."""


class LocalModel(msgspec.Struct, frozen=True):
    """What a server knows of a model; None where it does not say.

    Attributes:
        window: tokens that it gives the model.
        longest: tokens that the model could have.
        guessed: the server says what `window` is once the model is loaded.
    """

    id: str
    window: int | None = None
    longest: int | None = None
    tools: bool | None = None
    vision: bool = False
    thinks: bool = False
    loaded: bool = False
    guessed: bool = False


class LocalServer(msgspec.Struct, frozen=True):
    """A server that answered. `kind`: as in `USUAL_PORTS`, or `local`. Models come in order of preference."""

    name: str
    kind: str
    root: str
    models: tuple[LocalModel, ...]

    def advice(self, model_id: str, smallest: int) -> str | None:
        """What the user should know of a model with a smaller window, or without tools; None if nothing."""
        model = next((one for one in self.models if one.id == model_id), None)
        if model is None:
            return None
        if model.tools is False:
            return f"{self.name} says that {model.id} cannot call tools: kaa needs a model that can"
        if model.window is None or model.window >= smallest:
            return None
        could = f", though it could have {model.longest:,}" if (model.longest or 0) > model.window else ""
        return f"{self.name} gives {model.id} a window of {model.window:,} tokens{could}. {window_advice(self.kind)}"


def window_advice(kind: str) -> str:
    """How to get a larger window from a server."""
    match kind:
        case "ollama":
            return "Start Ollama with OLLAMA_CONTEXT_LENGTH=32768, or set num_ctx in the model's Modelfile."
        case "llamacpp":
            return "Start llama-server with --ctx-size 32768."
        case "lmstudio":
            return "Load the model in LM Studio with a larger context length."
        case "vllm":
            return "Start vLLM with a larger --max-model-len."
        case _:
            return "Start the server with a larger context, or choose another model with --model."


async def ask_server_at(
    root: str, transport: Transport, environ: Mapping[str, str], seconds: float = _NAMED_SECONDS
) -> LocalServer | None:
    """The server at `root`; None if nobody answers like one in `seconds`.

    Raises:
        KeyWantedError: it wants an API key, or another one.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _identified(root, transport, environ)
    except TimeoutError:
        return None


class _TransportWithKey:
    """Sends every request with an API key; closing it leaves `transport` open."""

    def __init__(self, transport: Transport, api_key: str) -> None:
        self._transport = transport
        self._headers = (("authorization", f"Bearer {api_key}"),)

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        keyed = msgspec.structs.replace(request, headers=request.headers + self._headers)
        async with self._transport.send(keyed) as response:
            yield response

    async def close(self) -> None:
        """Do nothing: whoever opened the transport closes it."""


def with_key(transport: Transport, api_key: str | None) -> Transport:
    """`transport` as it is, or with an API key in each request."""
    return _TransportWithKey(transport, api_key) if api_key else transport


async def look_around(
    transport: Transport, environ: Mapping[str, str], skip: Iterable[str] = ()
) -> tuple[LocalServer, ...]:
    """The servers at their usual places, all asked at once; takes a second at most.

    Args:
        environ: the environment variables; `KAA_LOCAL_SERVERS` names the servers to look for, or `none`.
        skip: names that mean something else to the user.
    """
    wanted = environ.get("KAA_LOCAL_SERVERS", ",".join(USUAL_PORTS)).split(",")
    names = [name for name in USUAL_PORTS if name in wanted and name not in skip]
    roots = dict.fromkeys(root for name in names for root in roots_of(name, environ))
    found = await asyncio.gather(*(_probed(root, transport, environ) for root in roots))
    servers: dict[str, LocalServer] = {}
    for server in found:
        if server is not None and server.models and server.name not in skip:
            name = name_by_port(server.root) if server.name in servers else server.name
            servers[name] = msgspec.structs.replace(server, name=name)
    return tuple(servers.values())


async def _probed(root: str, transport: Transport, environ: Mapping[str, str]) -> LocalServer | None:
    try:
        return await ask_server_at(root, transport, environ, _PROBE_SECONDS)
    except KeyWantedError:
        return None  # nobody has named it, so no key is meant for it


async def _identified(root: str, transport: Transport, environ: Mapping[str, str]) -> LocalServer | None:
    listed = await _list(root, transport)
    if listed is None:
        return None
    entries = listed.data or ()
    owners = {entry.owned_by for entry in entries}
    if "llamacpp" in owners or any(entry.meta for entry in entries):
        kind, models = "llamacpp", await _of_llamacpp(root, entries, transport)
    elif "vllm" in owners:
        kind, models = "vllm", tuple(LocalModel(entry.id, entry.max_model_len, loaded=True) for entry in entries)
    else:
        kind, models = await _of_others(root, entries, transport)
    preferred = sorted(models, key=lambda model: (model.tools is False, not model.loaded))
    return LocalServer(name_for(root, kind, environ), kind, root, tuple(preferred))


class _Meta(msgspec.Struct, frozen=True):
    n_ctx: int | None = None
    n_ctx_train: int | None = None


class _Architecture(msgspec.Struct, frozen=True):
    input_modalities: tuple[str, ...] = ()


class _Entry(msgspec.Struct, frozen=True):
    id: str
    owned_by: str = ""
    max_model_len: int | None = None
    context_length: int | None = None
    meta: _Meta | None = None
    architecture: _Architecture | None = None


class _Listed(msgspec.Struct, frozen=True):
    data: tuple[_Entry, ...] | None  # Ollama without models: null


async def _list(root: str, transport: Transport) -> _Listed | None:
    """The models of a server; None as in `ask`.

    Raises:
        KeyWantedError: it wants an API key, or another one.
    """
    request = HttpRequest("GET", f"{root}/v1/models", JSON_HEADERS)
    try:
        async with transport.send(request) as response:
            if response.status == _NO_KEY:
                raise KeyWantedError
            return await _decoded(response, _Listed)
    except ProviderError:
        return None


class _Settings(msgspec.Struct, frozen=True):
    n_ctx: int | None = None


class _Props(msgspec.Struct, frozen=True):
    default_generation_settings: _Settings = _Settings()
    modalities: dict[str, bool] = {}


async def _of_llamacpp(root: str, entries: Iterable[_Entry], transport: Transport) -> tuple[LocalModel, ...]:
    props = await get(f"{root}/props", _Props, transport) or _Props()
    return tuple(
        LocalModel(
            entry.id,
            # A router of several models says 0 for those that are not loaded.
            (entry.meta.n_ctx if entry.meta else None) or props.default_generation_settings.n_ctx or None,
            entry.meta.n_ctx_train if entry.meta else None,
            vision=props.modalities.get("vision", False)
            or (entry.architecture is not None and "image" in entry.architecture.input_modalities),
            loaded=entry.meta is not None,
        )
        for entry in entries
    )


async def _of_others(root: str, entries: Iterable[_Entry], transport: Transport) -> tuple[str, tuple[LocalModel, ...]]:
    """Servers whose list does not say which they are."""
    version, native = await asyncio.gather(
        get(f"{root}/api/version", _Version, transport), get(f"{root}/api/v0/models", _LmList, transport)
    )
    if native is not None:
        return "lmstudio", tuple(map(_of_lmstudio, (one for one in native.data if one.type != "embeddings")))
    if version is not None:
        return "ollama", await _of_ollama(root, [entry.id for entry in entries], transport)
    return "local", tuple(LocalModel(entry.id, entry.max_model_len or entry.context_length) for entry in entries)


class _LmModel(msgspec.Struct, frozen=True):
    id: str
    type: str = "llm"
    state: str = ""
    max_context_length: int | None = None
    loaded_context_length: int | None = None
    capabilities: tuple[str, ...] = ()


class _LmList(msgspec.Struct, frozen=True):
    data: tuple[_LmModel, ...]


def _of_lmstudio(model: _LmModel) -> LocalModel:
    return LocalModel(
        model.id,
        model.loaded_context_length or model.max_context_length,
        model.max_context_length,
        vision=model.type == "vlm",
        loaded=model.state == "loaded",
    )


class _Version(msgspec.Struct, frozen=True):
    version: str


class _Running(msgspec.Struct, frozen=True):
    name: str
    context_length: int | None = None


class RunningList(msgspec.Struct, frozen=True):
    """What Ollama has loaded."""

    models: tuple[_Running, ...] = ()


class _Shown(msgspec.Struct, frozen=True):
    parameters: str = ""
    capabilities: tuple[str, ...] | None = None
    model_info: dict[str, Json] = {}


async def _of_ollama(root: str, names: list[str], transport: Transport) -> tuple[LocalModel, ...]:
    """Ollama's models. Those that only embed are left out."""

    async def show(name: str) -> _Shown | None:
        return await ask(
            HttpRequest("POST", f"{root}/api/show", JSON_HEADERS, msgspec.json.encode({"model": name})),
            _Shown,
            transport,
        )

    running, *shown = await asyncio.gather(
        get(f"{root}/api/ps", RunningList, transport), *map(show, names[:_MOST_SHOWN])
    )
    loaded = {one.name: one.context_length for one in running.models} if isinstance(running, RunningList) else {}
    models = []
    for name, about in zip(names, shown, strict=False):
        known = about if isinstance(about, _Shown) else _Shown()
        abilities = known.capabilities
        if abilities is None or "completion" in abilities:
            models.append(_ollama_model(name, known, is_loaded=name in loaded, window=loaded.get(name)))
    return tuple(models)


def _ollama_model(name: str, shown: _Shown, *, is_loaded: bool, window: int | None) -> LocalModel:
    longest = next(
        (
            value
            for key, value in shown.model_info.items()
            if key.endswith(".context_length") and isinstance(value, int)
        ),
        None,
    )
    told = window or _num_ctx(shown.parameters)
    abilities = shown.capabilities
    return LocalModel(
        name,
        told or min(OLLAMA_DEFAULT_WINDOW, longest or OLLAMA_DEFAULT_WINDOW),
        longest,
        tools=None if abilities is None else "tools" in abilities,
        vision="vision" in (abilities or ()),
        thinks="thinking" in (abilities or ()),
        loaded=is_loaded,
        guessed=told is None,
    )


def _num_ctx(parameters: str) -> int | None:
    """The window that a Modelfile asks for; `parameters` has one of its settings a line."""
    for line in parameters.splitlines():
        match line.split():
            case ["num_ctx", value] if value.isdecimal() and value.isascii():
                return int(value[:9])
    return None


_LONGEST_ANSWER_BYTES: Final = 4 << 20

_T = TypeVar("_T")

JSON_HEADERS: Final = (("accept", "application/json"), ("content-type", "application/json"))


async def get(url: str, shape: type[_T], transport: Transport) -> _T | None:
    """What the server has at `url`; None as in `ask`."""
    return await ask(HttpRequest("GET", url, JSON_HEADERS), shape, transport)


async def ask(request: HttpRequest, shape: type[_T], transport: Transport) -> _T | None:
    """The answer to a question; None if nobody answers, or with something else."""
    try:
        async with transport.send(request) as response:
            return await _decoded(response, shape)
    except ProviderError:
        return None


async def _decoded(response: HttpResponse, shape: type[_T]) -> _T | None:
    """The content of an answer; None if it is something else. Raises as `HttpResponse.chunks`."""
    if response.status != 200:
        return None
    body = await response.beginning(_LONGEST_ANSWER_BYTES)
    if len(body) > _LONGEST_ANSWER_BYTES:
        return None
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
