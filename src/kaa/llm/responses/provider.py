"""The provider for OpenAI's Responses, at OpenAI, at Azure and at servers that follow Open Responses."""

from collections.abc import AsyncGenerator

from kaa.core.provider import Request, StreamEvent
from kaa.llm.http.streaming import stream_reply
from kaa.llm.http.transport import Transport
from kaa.llm.responses.reply import ResponseParser
from kaa.llm.responses.request import renderer, responses_request
from kaa.llm.wire import Endpoint, peer_of


class OpenAIResponses:
    """Speaks `openai-responses` and `azure-openai-responses` with one endpoint; see `kaa.core.provider.Provider`."""

    def __init__(self, endpoint: Endpoint, transport: Transport) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._renderer = renderer()

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """See `Provider.stream`."""
        peer = peer_of(self._endpoint, request.model.provider, request.model.id)
        # Ids of a server that gives none are counted within the reply; the length of the history tells replies apart.
        parser = ResponseParser(peer, call_id_prefix=f"call_{len(request.messages)}")
        return stream_reply(self._transport, responses_request(request, self._endpoint, self._renderer), parser, peer)
