"""The provider for Anthropic's Messages."""

import re
from collections.abc import AsyncGenerator
from typing import Final

from msgspec.structs import replace

from kaa.core.provider import Request, StreamEvent
from kaa.llm.anthropic.reply import MessageParser
from kaa.llm.anthropic.request import AnthropicConcessions, messages_request, renderer
from kaa.llm.concessions import conceding
from kaa.llm.handoff import kept_reasoning
from kaa.llm.http.streaming import call_id_prefix, stream_reply
from kaa.llm.http.transport import Transport
from kaa.llm.wire import Endpoint, peer_of

# "Invalid `signature` in `thinking` block. The block is bound to a different conversation.", and "`thinking` or
# `redacted_thinking` blocks in the latest assistant message cannot be modified".
_UNREADABLE: Final = (
    r"bound to a different|invalid .?signature.? in .?(?:redacted_)?thinking|blocks .* cannot be modified"
)
# '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive"', and the same of `enabled`.
_ADAPTIVE_ONLY: Final = r"thinking\.type\.(?:disabled|enabled)\W+is not supported"


class AnthropicMessages:
    """Speaks `anthropic-messages` with one endpoint; see `kaa.core.provider.Provider`."""

    def __init__(self, endpoint: Endpoint, transport: Transport) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._made = AnthropicConcessions()
        self._renderer = renderer(endpoint.compat)

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Stream a reply; send a request whose reasoning is refused once more without it, and those that follow.

        Claude 5.1 and later models refuse reasoning if anything has changed that came before it: a condensed
        history, other tools.
        https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
        """
        return conceding(lambda: self._ask(request), lambda refusal: self._concede(refusal, request))

    def _concede(self, refusal: str, request: Request) -> bool:
        made = self._made
        if re.search(_UNREADABLE, refusal, re.IGNORECASE):
            made = replace(made, unreadable=made.unreadable | kept_reasoning(request))
            self._renderer = renderer(self._endpoint.compat, made.unreadable)
        elif re.search(_ADAPTIVE_ONLY, refusal, re.IGNORECASE):
            made = replace(made, adaptive_only=True)
        news, self._made = made != self._made, made
        return news

    def _ask(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        peer = peer_of(self._endpoint, request.model.provider, request.model.id)
        parser = MessageParser(peer, call_id_prefix=call_id_prefix(request))
        asked = messages_request(request, self._endpoint, self._renderer, self._made)
        return stream_reply(self._transport, asked, parser, peer)
