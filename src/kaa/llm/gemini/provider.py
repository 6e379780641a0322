"""The provider for Google's Gemini, at Google AI and at Vertex AI."""

from collections.abc import AsyncGenerator

from kaa.core.provider import Request, StreamEvent
from kaa.llm.gemini.reply import GeminiParser
from kaa.llm.gemini.request import generate_request, renderer
from kaa.llm.http.streaming import call_id_prefix, stream_reply
from kaa.llm.http.transport import Transport
from kaa.llm.wire import Endpoint, peer_of


class GoogleGemini:
    """Speaks `google-generative-ai` or `google-vertex` with one endpoint; see `kaa.core.provider.Provider`."""

    def __init__(self, endpoint: Endpoint, transport: Transport) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._renderer = renderer()

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        peer = peer_of(self._endpoint, request.model.provider, request.model.id)
        parser = GeminiParser(peer, call_id_prefix=call_id_prefix(request))
        return stream_reply(self._transport, generate_request(request, self._endpoint, self._renderer), parser, peer)
