"""Claude at Vertex AI, judged by Anthropic's own SDK: it sends the same to the same address."""

import json

import httpx2

from kaa.core.messages import UserMessage
from kaa.core.provider import Model, Request
from kaa.llm.anthropic.request import messages_request
from kaa.llm.models.keys import filled
from kaa.llm.models.provider_table import BUILTINS
from kaa.llm.wire import Endpoint
from tests.support.tables import each

_STREAM = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


def _as_the_sdk_asks(location: str, model: str) -> httpx2.Request:
    from anthropic import AnthropicVertex  # it takes seconds to import: only tests that use it do

    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, content=_STREAM, headers={"content-type": "text/event-stream"})

    with (
        httpx2.Client(transport=httpx2.MockTransport(answer)) as http,
        AnthropicVertex(region=location, project_id="my-project", access_token="token", http_client=http) as client,
    ):
        list(
            client.messages.create(
                model=model, max_tokens=1000, stream=True, messages=[{"role": "user", "content": "hi"}]
            )
        )
    return seen[0]


@each("location", ["global", "us", "eu", "us-east5"])
@each("model", ["claude-opus-4-5@20251101", "claude-sonnet-4-6"])
def test_address_and_body_are_those_of_the_sdk(location: str, model: str) -> None:
    (family,) = BUILTINS["google-vertex"].families
    base_url = filled(family.base_url, {"GOOGLE_CLOUD_PROJECT": "my-project", "GOOGLE_CLOUD_LOCATION": location})
    endpoint = Endpoint(base_url, api_key="token")
    request = Request(Model(model, "google-vertex", family.api, max_tokens=1000), "", [UserMessage("hi")], once=True)

    sent = messages_request(request, endpoint)
    judged = _as_the_sdk_asks(location, model)

    assert sent.url.replace("%40", "@") == str(judged.url).replace("%40", "@")
    assert ("authorization", judged.headers["authorization"]) in sent.headers
    ours, theirs = json.loads(sent.body), json.loads(judged.content)
    assert ours.keys() == theirs.keys()
    # The SDK may send a later version than the one kaa's body is written for.
    assert {name: ours[name] for name in ("max_tokens", "stream")} == {
        name: theirs[name] for name in ("max_tokens", "stream")
    }
