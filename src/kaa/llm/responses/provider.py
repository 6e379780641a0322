"""The provider for OpenAI's Responses, at OpenAI, at Azure and at servers that follow Open Responses."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from kaa.core.errors import BadRequestError
from kaa.core.provider import Request, StreamEvent
from kaa.llm.http.streaming import stream_reply
from kaa.llm.http.transport import Transport
from kaa.llm.responses.reply import ResponseParser
from kaa.llm.responses.request import kept_reasoning, renderer, responses_request
from kaa.llm.wire import Endpoint, peer_of


class OpenAIResponses:
    """Speaks `openai-responses` and `azure-openai-responses` with one endpoint; see `kaa.core.provider.Provider`."""

    def __init__(self, endpoint: Endpoint, transport: Transport) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._unreadable: frozenset[str] = frozenset()  # reasoning that the server could not decrypt
        self._renderer = renderer()

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """See `Provider.stream`.

        Reasoning that was encrypted for another account, as after a change of the key, is refused by OpenAI for ever.
        The request is then sent once more without it.
        """
        begun = False
        try:
            async with aclosing(self._ask(request)) as events:
                async for event in events:
                    begun = True
                    yield event
            return
        except BadRequestError as error:
            unreadable = kept_reasoning(request) - self._unreadable
            if begun or not unreadable or not _is_about_reasoning(error):
                raise
        self._unreadable |= unreadable
        self._renderer = renderer(self._unreadable)
        async with aclosing(self._ask(request)) as events:
            async for event in events:
                yield event

    def _ask(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        peer = peer_of(self._endpoint, request.model.provider, request.model.id)
        # Ids of a server that gives none are counted within the reply; the length of the history tells replies apart.
        parser = ResponseParser(peer, call_id_prefix=f"call_{len(request.messages)}")
        return stream_reply(self._transport, responses_request(request, self._endpoint, self._renderer), parser, peer)


def _is_about_reasoning(error: BadRequestError) -> bool:
    """OpenAI says "The encrypted content for item rs_1 could not be verified", and its code has the same words."""
    said = str(error).lower().replace("_", " ")
    return "encrypted content" in said
