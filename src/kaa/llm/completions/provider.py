"""The provider for OpenAI's Chat Completions and everything that imitates it."""

import re
from collections.abc import AsyncGenerator
from typing import Final

from msgspec.structs import replace

from kaa.core.messages import Json
from kaa.core.provider import Request, StreamEvent
from kaa.llm.completions.reply import CompletionParser
from kaa.llm.completions.request import completion_request, renderer
from kaa.llm.concessions import conceding
from kaa.llm.http.streaming import call_id_prefix, stream_reply
from kaa.llm.http.transport import Transport
from kaa.llm.wire import Endpoint, peer_of

# What servers say that want something else than kaa knows of them, as patterns, and what they want.
_WISHES: Final[tuple[tuple[str, dict[str, Json]], ...]] = (
    # "thinking is enabled but reasoning_content is missing in assistant tool call message": Kimi, wherever.
    # "The reasoning_content in the thinking mode must be passed back to the API": DeepSeek, MiMo.
    (
        r"reasoning_content.? (?:is missing|in the thinking mode)",
        {"requires_reasoning_content_on_assistant_messages": True, "reasoning_content_placeholder": " "},
    ),
    # "'messages.1' : property 'reasoning_content' is unsupported": Groq, Cerebras.
    (r"property '[\w.]*reasoning\w*' is unsupported", {"requires_thinking_as_text": True}),
    # "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    (r"use .?max_completion_tokens", {"max_tokens_field": "max_completion_tokens"}),
    # "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.": Mistral's models, wherever.
    (r"tool call id .* length of 9", {"requires_mistral_tool_ids": True}),
    (r"stream_options", {"supports_usage_in_streaming": False}),
)


class OpenAICompletions:
    """Speaks `openai-completions` with one endpoint; see `kaa.core.provider.Provider`."""

    def __init__(self, endpoint: Endpoint, transport: Transport) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._renderer = renderer(endpoint.compat)

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Stream a reply.

        A request that is refused for one of the well-known differences between servers is sent once more as this one
        wants it, and so are those that follow.
        """
        return conceding(lambda: self._ask(request), self._concede)

    def _concede(self, refusal: str) -> bool:
        known = self._endpoint.compat
        for pattern, wish in _WISHES:
            if re.search(pattern, refusal, re.IGNORECASE):
                compat = replace(known, **wish)
                self._endpoint = replace(self._endpoint, compat=compat)
                self._renderer = renderer(compat)
                return compat != known
        return False

    def _ask(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        peer = peer_of(self._endpoint, request.model.provider, request.model.id)
        ends_with_reason = self._endpoint.compat.supports_finish_reason
        parser = CompletionParser(peer, call_id_prefix=call_id_prefix(request), ends_with_reason=ends_with_reason)
        asked = completion_request(request, self._endpoint, self._renderer)
        return stream_reply(self._transport, asked, parser, peer)
