"""Where Gemini answers: at Google AI, and at Vertex AI, which serves the models of several publishers."""

import re
from typing import Final
from urllib.parse import quote

from kaa.core.provider import Model
from kaa.llm.wire import Endpoint

VERTEX_API: Final = "google-vertex"
"""The wire format's name where Vertex AI serves it; everywhere else it is `google-generative-ai`."""

_VERSION: Final = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?=[/?#]|$)")


def stream_url(endpoint: Endpoint, model: Model) -> str:
    """The address that streams a reply of `model`.

    A base URL may leave out the version of the API, and Vertex AI's the publisher: the usual ones are then taken.
    """
    on_vertex = model.api == VERTEX_API
    version = "" if _VERSION.search(endpoint.base_url) else "/v1" if on_vertex else "/v1beta"
    name = quote(model.id, safe="/@")
    if not name.startswith(("models/", "tunedModels/", "publishers/")):
        name = f"models/{name}"
    if on_vertex and "/publishers/" not in f"{endpoint.base_url}/{name}":
        name = f"publishers/google/{name}"
    url = endpoint.url(f"{version}/{name}:streamGenerateContent")
    return f"{url}{'&' if '?' in url else '?'}alt=sse"
