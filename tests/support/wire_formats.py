"""Each wire format with a vendor's model that speaks it: its requests, and what in them repeats."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from kaa.core.messages import Json
from kaa.core.provider import Model, Request
from kaa.llm.anthropic.request import messages_request
from kaa.llm.compat import compat_for
from kaa.llm.completions.request import completion_request
from kaa.llm.gemini.request import generate_request
from kaa.llm.http.transport import HttpRequest
from kaa.llm.responses.request import responses_request
from kaa.llm.wire import Endpoint
from tests.support.model_wire import Wire


class WireFormat(NamedTuple):
    """A wire format as one vendor serves it.

    Attributes:
        build: makes the HTTP request.
        said: where the body has the conversation.
    """

    wire: Wire
    model: Model
    endpoint: Endpoint
    build: Callable[[Request, Endpoint], HttpRequest]
    said: str

    def body(self, request: Request) -> dict[str, Json]:
        """The body as the vendor reads it."""
        return msgspec.json.decode(self.build(request, self.endpoint).body, type=dict[str, Json])

    def pieces(self, body: dict[str, Json]) -> list[bytes]:
        """What a vendor's cache compares, in its order: model, tools, system prompt, then one message after the other.

        Cache marks say what to keep and are no part of it.
        """
        before = {key: body.get(key) for key in ("model", "tools", "system", "systemInstruction")}
        thinking = {key: value for key, value in body.items() if key in ("thinking", "output_config")}
        return [msgspec.json.encode(without_marks(piece)) for piece in (before, thinking, *body[self.said])]


def without_marks(value: Json) -> Json:
    """`value` without cache marks, wherever they are."""
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


def _format(
    wire: Wire,
    provider: str,
    model_id: str,
    base_url: str,
    build: Callable[[Request, Endpoint], HttpRequest],
    said: str = "messages",
) -> WireFormat:
    model = Model(
        model_id,
        provider,
        wire,
        reasoning=True,
        input=("text", "image"),
        context_window=1_000_000,
        max_tokens=64_000,
    )
    return WireFormat(wire, model, Endpoint(base_url, "key", compat=compat_for(base_url, model_id)), build, said)


FORMATS: dict[Wire, WireFormat] = {
    one.wire: one
    for one in (
        _format("openai-completions", "openai-chat", "gpt-5.2", "https://api.openai.com/v1", completion_request),
        _format("anthropic-messages", "anthropic", "claude-opus-4-8", "https://api.anthropic.com", messages_request),
        _format("openai-responses", "openai", "gpt-5.2", "https://api.openai.com/v1", responses_request, "input"),
        _format(
            "google-generative-ai",
            "google",
            "gemini-3-pro-preview",
            "https://generativelanguage.googleapis.com/v1beta",
            generate_request,
            "contents",
        ),
    )
}
