"""The provider for OpenAI's Responses, at OpenAI, at Azure and at servers that follow Open Responses."""

import re
from collections.abc import AsyncGenerator
from typing import Final

from msgspec.structs import replace

from kaa.core.provider import Request, StreamEvent
from kaa.llm.concessions import conceding
from kaa.llm.handoff import kept_reasoning
from kaa.llm.http.streaming import call_id_prefix, stream_reply
from kaa.llm.http.transport import Transport
from kaa.llm.responses.reply import ResponseParser
from kaa.llm.responses.request import ResponsesConcessions, renderer, responses_request
from kaa.llm.wire import Endpoint, peer_of

# What OpenAI says, patterns of it:
# "The encrypted content for item rs_1 could not be verified", and its code has the same words.
_UNREADABLE: Final = r"encrypted[ _]content"
# "Your organization must be verified to generate reasoning summaries"; others name the parameter.
_NO_SUMMARY: Final = r"reasoning[. ]summar"
# "Your organization must be verified to stream this model".
_NO_STREAM: Final = r"must be verified to stream"

# "prompt_cache_retention is not supported on this model".
_NOT_KEPT: Final = r"prompt_cache_retention"


class OpenAIResponses:
    """Speaks `openai-responses` and `azure-openai-responses` with one endpoint; see `kaa.core.provider.Provider`."""

    def __init__(self, endpoint: Endpoint, transport: Transport) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._made = ResponsesConcessions()
        self._renderer = renderer()

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Stream a reply.

        OpenAI refuses reasoning that was encrypted for another account, as after a change of the key, gives
        summaries and streams of some models to verified organizations only, and keeps not every model's prompts for
        long. The request is then sent once more without that, and so are those that follow.
        """
        return conceding(lambda: self._ask(request), lambda refusal: self._concede(refusal, request))

    def _concede(self, refusal: str, request: Request) -> bool:
        made = self._made
        if re.search(_UNREADABLE, refusal, re.IGNORECASE):
            made = replace(made, unreadable=made.unreadable | kept_reasoning(request))
            self._renderer = renderer(made.unreadable)
        elif re.search(_NO_SUMMARY, refusal, re.IGNORECASE):
            made = replace(made, summary=False)
        elif re.search(_NO_STREAM, refusal, re.IGNORECASE):
            made = replace(made, stream=False)
        elif re.search(_NOT_KEPT, refusal, re.IGNORECASE):
            made = replace(made, kept_long=False)
        news, self._made = made != self._made, made
        return news

    def _ask(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        peer = peer_of(self._endpoint, request.model.provider, request.model.id)
        parser = ResponseParser(peer, call_id_prefix=call_id_prefix(request))
        asked = responses_request(request, self._endpoint, self._renderer, self._made)
        return stream_reply(self._transport, asked, parser, peer)
