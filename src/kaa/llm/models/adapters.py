"""From a model's wire format to the adapter that speaks it. An adapter is imported when its first model is used."""

from collections.abc import AsyncGenerator, Callable
from importlib import import_module

import msgspec

from kaa.core.provider import Provider, Request, StreamEvent
from kaa.llm.http.transport import Transport
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.wire import WIRE_FORMATS, Endpoint

# What is in every request may be too much for a window below this.
_TIGHT_WINDOW = 65_536


def create_provider(resolved: ResolvedModel, transport: Transport) -> Provider:
    """The way to a model: the adapter for its wire format, and what its server needs besides. No more is imported.

    Raises:
        ValueError: there is no adapter for it; `ModelRegistry.resolve` never returns such a model.
    """
    provider = _adapter(resolved, transport)
    if resolved.endpoint.tuning.block_images:
        provider = WithoutImages(provider)
    if resolved.endpoint.compat.inline_thinking:
        from kaa.llm.inline_thinking import InlineThinking

        provider = InlineThinking(provider)
    if resolved.endpoint.compat.written_tool_calls:
        from kaa.llm.written_calls.provider import WrittenCalls

        provider = WrittenCalls(provider)
    truncates = resolved.endpoint.compat.truncates_silently
    if truncates or resolved.model.context_window < _TIGHT_WINDOW:
        from kaa.llm.local.window import WithinWindow

        provider = WithinWindow(provider, truncates=truncates)
    return provider


def _adapter(resolved: ResolvedModel, transport: Transport) -> Provider:
    if resolved.provided is not None and resolved.provided.stream is not None:
        from kaa.llm.models.provided import FunctionProvider

        return FunctionProvider(resolved.provided.owner, resolved.provided.stream, resolved.endpoint)
    transport = resolved.endpoint.carried_by(transport)
    known = WIRE_FORMATS.get(resolved.model.api)
    if known is None:
        raise ValueError(f"no adapter for the wire format {resolved.model.api!r}")
    module, _, name = known.adapter.partition(":")
    adapter: Callable[[Endpoint, Transport], Provider] = getattr(import_module(module), name)
    return adapter(resolved.endpoint, transport)


class WithoutImages:
    """Wraps a provider and sends no images, for the setting `images.blockImages`."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        blind = msgspec.structs.replace(request.model, input=("text",))
        return self._provider.stream(msgspec.structs.replace(request, model=blind))
