"""A provider that sends no image, whatever its model takes: the user's setting `images.blockImages`."""

from collections.abc import AsyncGenerator

import msgspec

from kaa.core.provider import Provider, Request, StreamEvent


class WithoutImages:
    """Wraps a provider; see `kaa.core.provider.Provider`. Adapters write a note in place of each image."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """See `Provider.stream`."""
        blind = msgspec.structs.replace(request.model, input=("text",))
        return self._provider.stream(msgspec.structs.replace(request, model=blind))
