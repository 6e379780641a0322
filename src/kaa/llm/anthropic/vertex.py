"""Claude on Google's Vertex AI (`anthropic-vertex`): another address, which names the model, and two other fields.

Format: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude.
"""

from typing import Final
from urllib.parse import quote

from kaa.llm.rendering import JsonObject
from kaa.llm.wire import Endpoint

_VERSION: Final = "vertex-2023-10-16"


def vertex_body(body: JsonObject) -> JsonObject:
    """`body` as Vertex AI takes it: the version in it, the model not."""
    return {"anthropic_version": _VERSION, **{name: value for name, value in body.items() if name != "model"}}


def vertex_url(endpoint: Endpoint, model_id: str) -> str:
    """The address that streams a reply; the base URL ends with `/publishers/anthropic`."""
    return endpoint.url(f"/models/{quote(model_id, safe='@')}:streamRawPredict")
